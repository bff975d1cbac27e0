"""A synthetic book, and a screen with one long text."""

from textual.app import App, ComposeResult
from textual.pilot import Pilot

from gistread.tui.text import Block, Clicked, LongText, OffsetChanged

WORDS = (
    "It is simply this. That Space, as our mathematicians have it, is spoken of as having three "
    "dimensions. "
)


class Book:
    """Paragraphs of a synthetic book, each with its number in its first word.

    Blocks are made when asked for.
    """

    def __init__(self, paragraphs: int = 200) -> None:
        self.texts = [
            f"P{number} {WORDS * (1 + number % 5)}".strip()
            for number in range(paragraphs)
        ]
        self.starts = [0]
        for text in self.texts:
            self.starts.append(self.starts[-1] + len(text) + 2)
        self.text = "\n\n".join(self.texts)

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, index: int) -> Block:
        return Block(self.texts[index], key=index, start=self.starts[index])


class Screen(App[None]):
    """One long text on an otherwise empty screen."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, long_text: LongText) -> None:
        super().__init__()
        self.long_text = long_text
        self.heard: list[object] = []

    def compose(self) -> ComposeResult:
        yield self.long_text

    def on_long_text_clicked(self, event: Clicked) -> None:
        self.heard.append(event)

    def on_long_text_offset_changed(self, event: OffsetChanged) -> None:
        self.heard.append(event)

    def heard_of(self, kind: type) -> list:  # type: ignore[type-arg]
        return [event for event in self.heard if isinstance(event, kind)]


def row(widget: LongText, y: int) -> str:
    return widget.render_line(y).text.rstrip()


def screen(widget: LongText) -> list[str]:
    return [row(widget, y) for y in range(widget.size.height)]


def first_words(widget: LongText, book: Book, count: int = 12) -> str:
    offset = widget.reading_offset
    assert offset is not None
    return book.text[offset : offset + count]


async def settle(pilot: Pilot[None]) -> None:
    await pilot.pause()
    await pilot.pause()
