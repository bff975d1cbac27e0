"""The book being read: cover, progress, the words at the reading place, and the last question."""

from collections.abc import Callable, Iterator

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from gistread.library.entries import LibraryEntry
from gistread.library.figures import format_percent, relative_time
from gistread.tui.text import clean
from gistread.tui.text.figure import Figure
from gistread.tui.text.wrap import wrap
from gistread.tui.widgets.book_cover import CoverSize, cover_rows
from gistread.tui.widgets.book_rows import fit
from gistread.units import progress_bar

_SIZES = ((36, CoverSize(14, 10)), (24, CoverSize(10, 7)), (18, CoverSize(0, 3)))  # (minimum rows of the screen, size)
_MARGIN, _GAP = 2, 3
_WIDEST = 84  # columns of text
_BAR = 24


class ContinueReading(Widget):
    COMPONENT_CLASSES = {f"continue--{role}" for role in ("title", "text", "muted", "accent", "words")}  # noqa: RUF012
    DEFAULT_CSS = """
    ContinueReading { height: auto; margin: 0 0 1 0; background: $gr-background; color: $gr-text; }
    ContinueReading > .continue--title { color: $gr-text; text-style: bold; }
    ContinueReading > .continue--text { color: $gr-text; }
    ContinueReading > .continue--words { color: $gr-text; text-style: italic; }
    ContinueReading > .continue--muted { color: $gr-muted; }
    ContinueReading > .continue--accent { color: $gr-accent; }
    """

    class Chosen(Message):
        """The user opens the book."""

    def __init__(self, cover_of: Callable[[LibraryEntry], Figure | None], *, id: str | None = None) -> None:
        """`cover_of`: the cover, if it is loaded."""
        super().__init__(id=id)
        self.entry: LibraryEntry | None = None
        self._cover_of = cover_of
        self._words = self._question = ""
        self._now_s = 0.0
        self._cover_size = CoverSize(0, 0)

    def show(self, entry: LibraryEntry | None, left_at: tuple[str, str], now_s: float, rows: int) -> None:
        """`left_at`: the words at the reading place, and the last question; `rows`: of the screen."""
        self.entry, self._now_s = entry, now_s
        self._words, self._question = map(clean, left_at)
        size = next((size for least, size in _SIZES if rows >= least), None)
        self.display = entry is not None and size is not None
        if size is not None and size != self._cover_size:
            self._cover_size = size
            self.styles.height = size.rows
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        self.post_message(self.Chosen())

    def render_line(self, y: int) -> Strip:
        base = self.rich_style
        if self.entry is None or not 0 <= y < self._cover_size.rows:
            return Strip.blank(self.size.width, base)
        segments = [Segment(" " * _MARGIN, base)]
        if self._cover_size.columns:
            segments += cover_rows(self.entry, self._cover_of(self.entry), self._cover_size)[y]
            segments.append(Segment(" " * _GAP, base))
        used = sum(segment.cell_length for segment in segments)
        lines = list(self._lines(self.entry, min(_WIDEST, self.size.width - used - _MARGIN)))
        if y < len(lines):
            segments.append(lines[y])
        return Strip(segments).apply_style(base).adjust_cell_length(self.size.width, base)

    def _lines(self, entry: LibraryEntry, room: int) -> Iterator[Segment]:
        def line(text: str, role: str) -> Segment:
            return Segment(fit(text, room), self._style(role))

        rows = self._cover_size.rows
        author = ", ".join(entry.authors)
        read = format_percent(entry.share) + (f" · {entry.time_left} left" if entry.time_left else "")
        if rows > 4:
            yield line("Continue reading", "accent")
        yield line(entry.title if rows > 4 else f"{entry.title} · {author}".rstrip(" ·"), "title")
        if rows > 4:
            yield line(author or "unknown author", "muted")
        when = relative_time(entry.opened_at, self._now_s)
        yield line(f"{progress_bar(entry.share, min(_BAR, room // 3))}  {read} · {when}", "accent")
        if rows > 7:
            yield line("", "text")
        words_rows = max(1, rows - (6 if rows > 7 else 4 if rows > 4 else 2) - bool(self._question))
        words = [self._words[start:end] for start, end in wrap(self._words, max(1, room))] if self._words else []
        for index, one in enumerate(words[:words_rows]):
            cut = index == words_rows - 1 and len(words) > words_rows
            yield line(f"{fit(one, room - 2).rstrip()} …" if cut else one, "words")
        if self._question:
            yield line(f"You asked: {self._question}", "muted")

    def _style(self, role: str) -> Style:
        return self.get_component_rich_style(f"continue--{role}")
