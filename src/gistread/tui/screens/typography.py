"""The typography settings, in a list below the book, which shows each change."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from textual import on

from gistread.config import Config, Value
from gistread.tui.commands import own_keys
from gistread.tui.screens.listing import ListScreen, Row
from gistread.tui.text import Clicked, Span

_NAME_CELLS, _VALUE_CELLS = 16, 18


@dataclass(frozen=True, slots=True)
class Setting:
    key: str
    name: str
    values: tuple[tuple[Value, str], ...]


def _numbers(first: int, last: int, step: int = 1) -> tuple[tuple[Value, str], ...]:
    return tuple((number, str(number)) for number in range(first, last + 1, step))


SETTINGS = (
    Setting("text_width", "Text width", _numbers(20, 200, 2)),
    Setting("side_margin", "Margins", _numbers(0, 20)),
    Setting("columns", "Columns", ((1, "one"), (2, "two"))),
    Setting("paragraphs", "Paragraphs", (("auto", "auto"), ("gap", "with a gap"), ("indent", "with an indent"))),
    Setting("justify", "Right edge", ((False, "ragged"), (True, "even"))),
    Setting("hyphenate", "Hyphens", ((True, "where they help"), (False, "none"))),
    Setting("pictures", "Pictures", ((True, "in the text"), (False, "captions only"))),
    Setting("bidi", "Right to left", (("auto", "auto"), ("on", "gistread orders"), ("off", "terminal orders"))),
)


class TypographyScreen(ListScreen[Setting]):
    """Enter or Escape closes it; each change is made at once."""

    KEYS = (("left,h", "step(-1)", "less"), ("right,l", "step(1)", "more"), ("backspace,delete", "default", "default"))
    BINDINGS = own_keys(*KEYS, ("equals_sign", "leave"))
    LETTERS = True

    def __init__(self, config: Callable[[], Config], change: Callable[[str, Value], None]) -> None:
        super().__init__("Typography")
        self._config = config
        self._change = change

    def rows_for(self, typed: str) -> Sequence[Row[Setting]]:
        return [self._row(setting) for setting in SETTINGS]

    def _row(self, setting: Setting) -> Row[Setting]:
        now = getattr(self._config(), setting.key)
        word = next((word for one, word in setting.values if one == now), str(now))
        text = f"{setting.name:<{_NAME_CELLS}}◂{word:^{_VALUE_CELLS}}▸"
        spans = Span(_NAME_CELLS, _NAME_CELLS + 1, "sign", -1), Span(len(text) - 1, len(text), "sign", 1)
        return Row(setting, text, spans=spans)

    def action_step(self, step: int) -> None:
        """Set the next value; words cycle, numbers stop at the ends."""
        if (setting := self.chosen) is None:
            return
        values, now = [value for value, _ in setting.values], getattr(self._config(), setting.key)
        if isinstance(now, int) and len(values) > 3:
            at = bisect_right(values, now) if step > 0 else bisect_left(values, now) - 1
            self._set(setting, values[max(0, min(at, len(values) - 1))])
        else:
            self._set(setting, values[(values.index(now) + step) % len(values)])

    def action_default(self) -> None:
        if (setting := self.chosen) is not None:
            self._set(setting, getattr(Config(), setting.key))

    def _set(self, setting: Setting, value: Value) -> None:
        self._change(setting.key, value)
        self.show_rows(setting)

    def choose(self, key: Setting) -> None:
        self.dismiss(None)

    @on(Clicked, "#rows")
    def _stepped(self, event: Clicked) -> None:
        event.prevent_default()
        if isinstance(event.link, int):
            self.action_step(event.link)
