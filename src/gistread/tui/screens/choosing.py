"""Lists of the app: how questions are answered, typography, the themes, and the reading figures."""

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

from textual import on

from gistread.config import Config, Value
from gistread.engine.protocol import EngineInfo
from gistread.library.entries import list_entries
from gistread.library.figures import (
    describe_book_figures,
    describe_figures,
    reading_figures,
)
from gistread.memory.model import GistMemory
from gistread.memory.sizes import RemainingWork
from gistread.readers.cost import WHOLE_BOOK
from gistread.readers.registry import DEFAULT_READER, METHODS, Method
from gistread.readers.steering import Steps
from gistread.session.estimate import artifacts_left, seconds_to_answer
from gistread.session.session import Session
from gistread.store.catalogue import Catalogue
from gistread.tui.commands import own_keys
from gistread.tui.screens.listing import ListScreen, Row, T
from gistread.tui.services import AppServices
from gistread.tui.text import Clicked, Span
from gistread.tui.themes import Palette
from gistread.tui.widgets.row_list import RowList
from gistread.units import format_duration


def need_words(name: str, left: RemainingWork | None, info: EngineInfo | None) -> str:
    """What a method still needs: `needs facts: about 12 min`, `facts are ready`.

    `left`: the work that remains for the artifact `name`; None if unknown. Empty if the artifact is
    not needed.
    """
    if left is None:
        return f"needs {name}"
    if left.needless:
        return ""
    is_unmeasured = left.total == 0 and left.done == 0
    if is_unmeasured:  # This would count as complete.
        return f"needs {name}"
    if left.complete:
        return f"{name} are ready"
    words = f"needs {name}"
    if left.done:
        words = f"{name}: {left.done} of {left.total} ready"
    seconds = None if info is None else left.seconds(info)
    if seconds is None:
        return words
    time = f"about {format_duration(seconds)}"
    if left.done:
        return f"{words}, {time} more"
    return f"{words}: {time}"


def title_of(reader: str) -> str:
    """The plain name of a reader, or else its own. Empty: the usual reader."""
    reader = reader or DEFAULT_READER
    if reader not in USUAL:
        return reader
    title, _ = USUAL[reader]
    return title


def cost_words(
    reader: str, memory: GistMemory, seconds: float | None, tokens: int = 0
) -> str:
    """`Thorough reads ~120 sections: about 14 min`. `memory`: what a question may use.

    `tokens`: what a server is sent, if that is much.
    """
    title = title_of(reader)
    sections = f"~{memory.estimated_pages} sections"
    if seconds is None:
        return f"{title} reads {sections}. This model's speed is not known yet."
    time = f"about {format_duration(seconds)}"
    words = f"{title} takes {time}."
    if reader in WHOLE_BOOK:
        words = f"{title} reads {sections}: {time}."
    if tokens:
        words += f" It sends about {tokens:,} tokens to the server."
    return words


def cost_panel(
    reader: str, cost: str, quick: str, seconds: float | None
) -> ListScreen[str]:
    """Confirms a costly question; dismissed with the name of a reader.

    `cost`: what the answer takes, in words. `quick`: a quicker reader. `seconds`: how long that
    takes; None if unknown.
    """
    about = f"Quick: about {format_duration(seconds)}" if seconds else "Quick"
    return ListScreen(cost, rows=[Row(reader, "Ask all the same"), Row(quick, about)])


_MORE = "\0more"  # Key of the row that lists every method
# The three readers that have plain names: (name, what it does)
USUAL = {
    "gistread": (
        "Quick",
        "Reads a short text whole, else the passages that fit the question best.",
    ),
    "auto": (
        "Careful",
        "Reads what suits the question: all of it, sections, gists or passages.",
    ),
    "notes": (
        "Thorough",
        "Reads everything up to where answers stop, and takes notes.",
    ),
}
_NAME_CELLS = 12
_MOST_PAGES = 20  # Most sections that the panel offers; the settings take more
_WHO_OPENS = {Steps.ALONE: "sections: automatic", Steps.ASK: "sections: ask me"}
FOR_BOOKS = (
    "For all books without their own choice. To choose for one book, open it first."
)


def sections_words(steps: Steps, most: int | None) -> str:
    """Who opens sections for a question, and how many: `sections: ask me, up to 3`.

    `most`: None for as many as usual.
    """
    if most == 0:
        return "sections: none"
    if most is None:
        return _WHO_OPENS[steps]
    return f"{_WHO_OPENS[steps]}, up to {most}"


class ReaderScreen(ListScreen[str]):
    """Chooses how questions are answered.

    Choosing a method closes the panel; the settings change at once. The methods of the papers are
    listed on request.
    """

    KEYS = (("left,h", "step(-1)", "less"), ("right,l", "step(1)", "more"))
    BINDINGS = own_keys(*KEYS)

    def __init__(
        self,
        config: Callable[[], Config],
        change: Callable[[str, Value], None],
        session: Session | None,
        whose: str,
        upto: int | None = None,
    ) -> None:
        """`config` returns the settings, and `change` changes one of them.

        `session`: estimates how long methods take; None without a book. `whose`: for which books,
        in words. `upto`: where answers stop.
        """
        self._config = config
        self._change = change
        self._current = config().reader or DEFAULT_READER
        self._session = session
        self._upto = upto
        self._left: dict[str, RemainingWork] = {}
        # Rough estimates; None before the model's rates are known
        self._times: dict[str, float | None] = {}
        # Whether every method is listed
        self._whole = self._current not in USUAL
        super().__init__("How thoroughly to answer", whose, at=self._current)

    def on_mount(self) -> None:
        super().on_mount()
        if self._session is not None:
            self.run_worker(self._measure(self._session))

    async def _measure(self, session: Session) -> None:
        """Add times to the rows. Measuring takes a moment for a long book."""
        self._left = await artifacts_left(session)
        for name in USUAL:
            self._times[name] = await seconds_to_answer(session, name, self._upto)
        self.show_rows(self.chosen)

    def rows_for(self, typed: str) -> Sequence[Row[str]]:
        rows = [
            self._row(name, title, about, seconds=self._times.get(name))
            for name, (title, about) in USUAL.items()
        ]
        rows += [self._setting(setting) for setting in ASKING_SETTINGS]
        if self._whole:
            others = [METHODS[name] for name in METHODS if name not in USUAL]
            rows += [self._method(method) for method in others]
        else:
            about_papers = "Those of the research papers, by name."
            rows.append(Row(_MORE, "  Methods …", about_papers))
        return rows

    def _setting(self, setting: "Setting") -> Row[str]:
        value = getattr(self._config(), setting.key)
        return setting_row(setting, value, setting.key)

    def _row(
        self, name: str, title: str, about: str, *, seconds: float | None = None
    ) -> Row[str]:
        mark = "● " if name == self._current else "  "
        text = f"{mark}{title}"
        if seconds:
            text = f"{mark}{title:<{_NAME_CELLS}}about {format_duration(seconds)}"
        return Row(name, text, about)

    def _method(self, method: Method) -> Row[str]:
        info = None
        if self._session is not None:
            info = self._session.models.reading.info
        facts = [method.summary]
        if not method.needs_memory:
            facts.append("needs no memory")
        facts += [
            need_words(artifact, self._left.get(artifact), info)
            for artifact in method.artifacts
        ]
        about = " · ".join(filter(None, facts))
        return self._row(method.name, method.name, about)

    def choose(self, key: str) -> None:
        """List every method, use one, or step the setting of the row."""
        if key == _MORE:
            self._whole = True
            others = [name for name in METHODS if name not in USUAL]
            self.show_rows(others[0])
        elif key in METHODS:
            self._change("reader", key)
            self.dismiss(None)
        else:
            self.action_step(1)

    def action_step(self, step: int) -> None:
        """Set the next value of the chosen setting, or the one before."""
        for setting in ASKING_SETTINGS:
            if setting.key == self.chosen:
                value = getattr(self._config(), setting.key)
                self._change(setting.key, next_value(setting, value, step))
                self.show_rows(setting.key)
                return

    @on(Clicked, "#rows")
    def _stepped(self, event: Clicked) -> None:
        """Change a setting by a click on one of its arrows."""
        if isinstance(event.link, int):
            event.prevent_default()
            self.action_step(event.link)


_SETTING_CELLS, _VALUE_CELLS = 16, 18
_MOST_CYCLED = 3  # Values of a setting that cycle also if they are numbers


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting that a panel changes step by step."""

    key: str  # Its name in `Config`
    name: str
    values: tuple[tuple[Value, str], ...]  # (value, word)


def _numbers(first: int, last: int, step: int = 1) -> tuple[tuple[Value, str], ...]:
    """Values of a setting: the numbers from `first` to `last`."""
    return tuple((number, str(number)) for number in range(first, last + 1, step))


def setting_row(setting: Setting, now: Value, key: T) -> Row[T]:
    """The row of a setting: its name, and its value between two arrows that can be clicked."""
    words = dict(setting.values)
    word = words.get(now, str(now))
    text = f"{setting.name:<{_SETTING_CELLS}}◂{word:^{_VALUE_CELLS}}▸"
    # A click on an arrow makes the step that its link names.
    left_arrow = Span(_SETTING_CELLS, _SETTING_CELLS + 1, "sign", -1)
    right_arrow = Span(len(text) - 1, len(text), "sign", 1)
    return Row(key, text, spans=(left_arrow, right_arrow))


def next_value(setting: Setting, now: Value, step: int) -> Value:
    """The value after `now`, or before it with a `step` of -1.

    Words cycle, numbers stop at the ends.
    """
    values = [value for value, _ in setting.values]
    if not isinstance(now, int) or len(values) <= _MOST_CYCLED:
        index = values.index(now) + step
        return values[index % len(values)]
    # A number from the settings may stand between two of the values.
    if step > 0:
        next_index = bisect_right(values, now)
        return values[min(next_index, len(values) - 1)]
    previous_index = bisect_left(values, now) - 1
    return values[max(0, previous_index)]


ASKING_SETTINGS = (
    Setting(
        "steps",
        "  Sections",
        ((Steps.ALONE.value, "automatic"), (Steps.ASK.value, "ask me")),
    ),
    Setting(
        "max_pages",
        "  How many",
        tuple((number, f"up to {number}") for number in range(1, _MOST_PAGES + 1)),
    ),
)

SETTINGS = (
    Setting("text_width", "Text width", _numbers(20, 200, 2)),
    Setting("text_columns", "Columns", ((1, "one"), (2, "two, if wide"))),
    Setting("side_margin", "Margins", _numbers(0, 20)),
    Setting(
        "paragraphs",
        "Paragraphs",
        (("auto", "auto"), ("gap", "with a gap"), ("indent", "with an indent")),
    ),
    Setting("justify", "Right edge", ((False, "ragged"), (True, "even"))),
    Setting("hyphenate", "Hyphens", ((True, "where they help"), (False, "none"))),
    Setting("overlap", "Repeated lines", ((2, "two"), (1, "one"), (0, "none"))),
    Setting("pictures", "Pictures", ((True, "in the text"), (False, "captions only"))),
    Setting(
        "bidi",
        "Right to left",
        (("auto", "auto"), ("on", "gistread orders"), ("off", "terminal orders")),
    ),
)


class TypographyScreen(ListScreen[Setting]):
    """Changes how the text is laid out, at once. Enter or Escape closes the panel."""

    KEYS = (
        ("left,h", "step(-1)", "less"),
        ("right,l", "step(1)", "more"),
        ("backspace,delete", "default", "default"),
    )
    BINDINGS = own_keys(*KEYS, ("equals_sign", "leave"))
    LETTERS = True

    def __init__(
        self, config: Callable[[], Config], change: Callable[[str, Value], None]
    ) -> None:
        super().__init__("Typography")
        self._config = config
        self._change = change

    def rows_for(self, typed: str) -> Sequence[Row[Setting]]:
        return [self._row(setting) for setting in SETTINGS]

    def _row(self, setting: Setting) -> Row[Setting]:
        value = getattr(self._config(), setting.key)
        return setting_row(setting, value, setting)

    def action_step(self, step: int) -> None:
        """Set the next value of the chosen setting, or the one before."""
        setting = self.chosen
        if setting is not None:
            now = getattr(self._config(), setting.key)
            self._set(setting, next_value(setting, now, step))

    def action_default(self) -> None:
        """Set the default value of the chosen setting."""
        setting = self.chosen
        if setting is not None:
            default = getattr(Config(), setting.key)
            self._set(setting, default)

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


def _ground(palette: Palette) -> str:
    """Whether a theme is dark or light, or of the terminal's own colours."""
    if palette.terminal:
        return "own"
    return "dark" if palette.dark else "light"


class ThemeScreen(ListScreen[str]):
    """Dismissed with the name of a theme, which is empty to follow the terminal.

    The screen behind the panel shows each theme as the cursor moves.
    """

    def __init__(
        self,
        palettes: Sequence[Palette],
        current: str,
        problems: Sequence[str],
        usual: str,
    ) -> None:
        """`current`: the chosen theme; if it is empty, `usual` is shown.

        `problems`: one line for each invalid theme file.
        """
        rows = [Row("", "Follow the terminal", tail="dark or light")]
        rows += [
            Row(palette.name, palette.title, tail=_ground(palette))
            for palette in palettes
        ]
        note = "\n".join((*problems, "Enter keeps it, Esc keeps the one before."))
        super().__init__("Choose a theme", note, rows, current)
        self._usual = usual

    @on(RowList.Moved)
    def _preview(self) -> None:
        if self.chosen is not None:
            self.app.theme = self.chosen or self._usual


async def figures_panel(services: AppServices) -> ListScreen[str]:
    """Reading figures: today, the last seven days, and a row for each book.

    The data is read in a thread.
    """
    user_data = services.user_data
    catalogue = Catalogue(services.paths)
    entries, _ = await asyncio.to_thread(list_entries, user_data, catalogue)
    figures = await asyncio.to_thread(reading_figures, user_data, entries, date.today())
    lines = list(describe_figures(figures))
    if not figures.books:
        lines.append("Time is counted while you read on in a book.")
    note = "\n".join(lines)
    rows = [
        Row(book.sha256, book.title, describe_book_figures(book))
        for book in figures.books
    ]
    return ListScreen("Reading figures", note, rows)
