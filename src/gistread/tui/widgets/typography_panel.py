"""The typography settings, in a few rows below the book, where they are previewed."""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.style import Style
from textual.widget import Widget

from gistread.config import Config, Value
from gistread.tui.commands import own_keys

LEAST_TEXT_WIDTH, MOST_TEXT_WIDTH = 20, 200
_SIDE_BY_SIDE = 74  # minimum width of the panel for two columns
_WITH_WORDS = 56  # minimum width of the panel for the meaning of the arrows
_NAME_CELLS = 16
_VALUE_CELLS = 18
_ROW = "setting"
_STEP = "step"
_ACTION = "action"


@dataclass(frozen=True, slots=True)
class Setting:
    key: str
    name: str
    values: tuple[tuple[Value, str], ...]


def _numbers(first: int, last: int, step: int = 1) -> tuple[tuple[Value, str], ...]:
    return tuple((number, str(number)) for number in range(first, last + 1, step))


SETTINGS = (
    Setting("text_width", "Text width", _numbers(LEAST_TEXT_WIDTH, MOST_TEXT_WIDTH, 2)),
    Setting("side_margin", "Margins", _numbers(0, 20)),
    Setting("line_spacing", "Line spacing", ((0, "single"), (1, "double"))),
    Setting("columns", "Columns", ((1, "one"), (2, "two"))),
    Setting("paragraphs", "Paragraphs", (("gap", "with a gap"), ("indent", "with an indent"))),
    Setting("justify", "Right edge", ((False, "ragged"), (True, "even"))),
    Setting("hyphenate", "Hyphens", ((True, "where they help"), (False, "none"))),
    Setting("pictures", "Pictures", ((True, "in the text"), (False, "captions only"))),
    Setting("bidi", "Right to left", (("auto", "auto"), ("on", "gistread orders"), ("off", "terminal orders"))),
)


class TypographyPanel(Widget, can_focus=True):
    BINDINGS = own_keys(
        ("up,k", "move(-1)"),
        ("down,j", "move(1)"),
        ("tab", "move(1)"),
        ("shift+tab", "move(-1)"),
        ("left,h", "step(-1)"),
        ("right,l,space", "step(1)"),
        ("backspace,delete", "default"),
        ("escape,enter,q,equals_sign", "done"),
    )
    DEFAULT_CSS = """
    TypographyPanel { height: auto; max-height: 60%; padding: 0 2; background: $surface; border-top: solid $gr-rule; }
    """

    current: reactive[int] = reactive(0)

    class Changed(Message):
        def __init__(self, key: str, value: Value) -> None:
            super().__init__()
            self.key = key
            self.value = value

    class Closed(Message):
        """The user asked to close the panel."""

    def __init__(self, config: Config) -> None:
        super().__init__(id="typography")
        self._config = config

    def show_config(self, config: Config) -> None:
        self._config = config
        self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self._rows(width) + 2

    def render(self) -> Content:
        width = self.size.width
        rows = self._rows(width)
        half = width // 2 if rows < len(SETTINGS) else width
        lines = [Content.assemble(("Typography", "bold $gr-accent"))]
        room = max(1, self.size.height - 2)  # of a small terminal, less than all
        first = max(0, min(self.current % rows - room // 2, rows - room))
        for row in range(first, min(first + room, rows)):
            parts = [self._setting(number, half) for number in range(row, len(SETTINGS), rows)]
            lines.append(Content.assemble(*parts))
        moves = "↑ ↓ choose   ← → change" if width >= _WITH_WORDS else "↑↓ ←→"
        default, done = (
            Content.styled(f"   {key} {action}", "$gr-muted").stylize(Style.from_meta({_ACTION: action}))
            for key, action in (("Backspace", "default"), ("Esc", "done"))
        )
        lines.append(Content.assemble((moves, "$gr-muted"), default, done))
        return Content("\n").join(lines)

    def _rows(self, width: int) -> int:
        return (len(SETTINGS) + 1) // 2 if width >= _SIDE_BY_SIDE else len(SETTINGS)

    def _setting(self, number: int, cells: int) -> Content:
        setting = SETTINGS[number]
        value = getattr(self._config, setting.key)
        word = next((word for one, word in setting.values if one == value), str(value))
        here = number == self.current
        style = "bold" if here else ""
        left, right = (
            Content.styled(arrow, "$gr-accent").stylize(Style.from_meta({_ROW: number, _STEP: step}))
            for arrow, step in (("◂", -1), ("▸", 1))
        )
        content = Content.assemble(
            ("▌" if here else " ", "$gr-accent"),
            (setting.name.ljust(_NAME_CELLS), style),
            left,
            (word.center(_VALUE_CELLS), style),
            right,
        )
        content = Content.assemble(content, " " * max(0, cells - cell_len(content.plain)))
        return content.stylize_before(Style.from_meta({_ROW: number}))

    def action_move(self, step: int) -> None:
        self.current = (self.current + step) % len(SETTINGS)

    def action_step(self, step: int) -> None:
        """Set the next value; words cycle, numbers stop at the ends."""
        setting = SETTINGS[self.current]
        values, now = [value for value, _ in setting.values], getattr(self._config, setting.key)
        if isinstance(now, int) and len(values) > 3:
            at = bisect_right(values, now) if step > 0 else bisect_left(values, now) - 1
            self._choose(setting, values[max(0, min(at, len(values) - 1))])
        else:
            self._choose(setting, values[(values.index(now) + step) % len(values)])

    def action_default(self) -> None:
        setting = SETTINGS[self.current]
        self._choose(setting, getattr(Config(), setting.key))

    def action_done(self) -> None:
        self.post_message(self.Closed())

    def on_click(self, event: events.Click) -> None:
        number = event.style.meta.get(_ROW)
        if isinstance(number, int):
            self.current = number
            if step := event.style.meta.get(_STEP):
                self.action_step(step)
        elif action := event.style.meta.get(_ACTION):
            getattr(self, f"action_{action}")()

    def _choose(self, setting: Setting, value: Value) -> None:
        self._config = replace(self._config, **{setting.key: value})  # type: ignore[arg-type]
        self.post_message(self.Changed(setting.key, value))
        self.refresh()
