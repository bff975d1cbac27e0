"""A gist memory as blocks of long text, for the memory pane."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from gistread.book.model import Book
from gistread.memory.model import GistMemory, GistSource, MemoryEntry, Page
from gistread.memory.tree import chapter_of
from gistread.readers.events import OpenedBy
from gistread.tui.book_blocks import inline_spans, turnover
from gistread.tui.text import Block, Span

if TYPE_CHECKING:
    from gistread.memory.tree import Node

PageKey = tuple[str, int]
"""("page", number) for blocks of a page, ("rest", number) for pages not read yet; zoomed out,
("part", number of its first page) for a stretch of pages."""


class Zoom(StrEnum):
    """Zoom levels of the memory, from the farthest."""

    BOOK = "book"
    VOLUME = "volume"
    """Only in a series."""
    CHAPTER = "chapter"
    PAGE = "page"
    TEXT = "text"

    @property
    def coarse(self) -> bool:
        """Whether one block represents many pages."""
        return self in (Zoom.BOOK, Zoom.VOLUME, Zoom.CHAPTER)

    def said(self, book: Book) -> str:
        return "series" if self is Zoom.BOOK and book.volumes else self.value

    def step(self, by: int, book: Book) -> "Zoom":
        """The level so many steps nearer, or the last one."""
        levels = levels_of(book)
        return levels[max(0, min(len(levels) - 1, levels.index(self) + by))]


def levels_of(book: Book) -> list[Zoom]:
    """The zoom levels of this book's memory, from the farthest."""
    return [zoom for zoom in Zoom if book.volumes or zoom is not Zoom.VOLUME]


@dataclass(frozen=True, slots=True)
class Opening:
    """Who opened a page, and why."""

    by: OpenedBy
    reason: str = ""


@dataclass(slots=True)
class View:
    """The state of the view: what person and agent opened, pinned and refused."""

    opened: dict[int, Opening] = field(default_factory=dict)
    pinned: set[int] = field(default_factory=set)
    refused: set[int] = field(default_factory=set)
    here: int | None = None
    """The page the person is reading."""
    unread_at: int | None = None
    """Offset the person is reading at, if the model has not read that far."""
    begun: Page | None = None
    """The page whose gist is being made."""
    reading: bool = False
    """Whether the model is reading the book."""
    zoom: Zoom = Zoom.PAGE


def entry_blocks(memory: GistMemory, entry: MemoryEntry, view: View) -> list[Block]:
    """The blocks of one page: its chapter's title where one begins, then its gist, or its text when open.

    Zoomed in, its text, which has the title in it.
    """
    number = entry.page.number
    blocks: list[Block] = []
    in_text = view.zoom is Zoom.TEXT
    if memory.book.is_volume_heading(entry.page.start) and number not in view.opened and not in_text:
        return [_title_block(memory, entry, view)]
    if not in_text and (title := _chapter_that_begins(memory, number)):
        blocks.append(Block(title, key=None, style="heading", level=3, indent=_gutter(memory)))
    opening = view.opened.get(number)
    if opening is None and not in_text:
        blocks.append(
            Block(
                " ".join(entry.gist.text.split()),
                key=("page", number),
                style="gist",
                indent=_gutter(memory),
                hanging=_number(memory, number),
                tail=_tail(entry, view),
                blank_before=1,
            )
        )
        return blocks
    blocks.append(
        Block(
            _opened_by(opening) if opening else f"{entry.page.words:,} words",
            key=("page", number),
            style="step",
            indent=_gutter(memory),
            hanging=_number(memory, number, "▾"),
            tail=_tail(entry, view),
            blank_before=1,
        )
    )
    book, page = memory.book, entry.page
    for paragraph in book.paragraphs_between(page.start, page.end):
        start, end = max(paragraph.start, page.start), min(paragraph.end, page.end)
        text = book.text[start:end]
        lead = len(text) - len(text.lstrip())
        blocks.append(
            Block(
                text.strip(),
                key=("page", number),
                start=start + lead,
                spans=inline_spans(book, start + lead, start + len(text.rstrip())),
                style=paragraph.kind.value,
                level=paragraph.level,
                turnover=turnover(paragraph.kind, text.strip()),
                rail=_rail(memory),
                blank_before=1 if len(blocks) > 1 else 0,
            )
        )
    if opening is None:
        return blocks
    blocks.append(
        Block(
            f"end of page {number} · {page.words:,} words",
            key=("page", number),
            style="muted",
            rail=_rail(memory),
            blank_before=0,
        )
    )
    return blocks


def _title_block(memory: GistMemory, entry: MemoryEntry, view: View) -> Block:
    number = entry.page.number
    here = "← you" if number == view.here else ""
    return Block(
        entry.gist.text,
        key=("page", number),
        style="heading",
        level=2,
        indent=_gutter(memory),
        hanging=_number(memory, number),
        tail=here,
    )


def part_blocks(memory: GistMemory, part: "Node", view: View) -> list[Block]:
    """Blocks for a stretch of pages: title of its chapter or book, and gist."""
    start = memory.entry(part.first).page.start
    key = ("part", part.first)
    if part.first == part.last and memory.book.is_volume_heading(start):
        return [Block(part.summary.text, key=key, style="heading", level=2)]
    match view.zoom:
        case Zoom.BOOK:
            title = memory.book.title
        case Zoom.VOLUME:
            title = memory.book.volume_title(start)
        case _:
            title = _titles_that_begin(memory, part.first)
    blocks = [Block(title, key=key, style="heading", level=3)] if title else []
    text = " ".join(part.summary.text.split())
    blocks.append(
        Block(text, key=key, style="gist", indent=2, tail=_part_tail(part, view), blank_before=0 if title else 1)
    )
    return blocks


def offer_blocks(offer: str) -> list[Block]:
    """A line above the parts that offers to summarise them."""
    return (
        [Block(offer, key=("offer", 0), style="muted", spans=(Span(0, len(offer), "link", "offer"),))] if offer else []
    )


def _part_tail(part: "Node", view: View) -> str:
    words = [f"p. {part.first}" if part.first == part.last else f"p. {part.first}–{part.last}"]
    if not part.made:
        words.append("from its gists")
    elif part.summary.source is not GistSource.MODEL:
        words.append(part.summary.source.value)
    if view.here is not None and part.first <= view.here <= part.last:
        words.append("← you")
    return " · ".join(words)


def empty_blocks(view: View) -> list[Block]:
    """Blocks of an empty memory."""
    if view.reading:
        return [Block("The model is reading the first page.", key=("rest", 1), style="muted")]
    return [
        Block("No page has been read yet.", key=("rest", 1), style="muted"),
        Block(
            "A model reads the book page by page and keeps here what each page says in a few words. Then you can ask.",
            key=("rest", 1),
            style="muted",
        ),
    ]


def rest_blocks(memory: GistMemory, view: View) -> list[Block]:
    """Blocks after the last page: the page being read, and those to come."""
    if memory.complete:
        return []
    blocks = []
    read = len(memory.entries)
    begun = view.begun
    in_work = view.reading and view.unread_at is not None and view.unread_at < _work_ends(memory, begun)
    ahead = view.unread_at is not None and not in_work
    if view.reading:
        said = f"… being read: {begun.words:,} words, being shortened" if begun else "… being read"
        blocks.append(
            Block(
                said,
                key=("rest", read + 1),
                style="muted",
                indent=_gutter(memory),
                hanging=_number(memory, read + 1),
                tail="← you" if in_work else "",
            )
        )
        read += 1
    last = memory.estimated_pages
    if last > read:
        span = f"{read + 1} to about {last}" if last > read + 1 else f"{read + 1}"
        blocks.append(
            Block(
                f"{span} … not read yet", key=("rest", read + 1), style="muted", indent=1, tail="← you" if ahead else ""
            )
        )
    return blocks


def _work_ends(memory: GistMemory, begun: Page | None) -> int:
    """Estimated offset at which the page being read ends."""
    return begun.end if begun else memory.read_until + len(memory.book.text) // memory.estimated_pages


def _tail(entry: MemoryEntry, view: View) -> str:
    number = entry.page.number
    words = []
    if view.zoom is Zoom.TEXT and number not in view.opened:
        pass  # No gist is shown.
    elif entry.gist.source is GistSource.EXTRACTIVE:
        words.append("extractive")
    elif entry.gist.source is GistSource.VERBATIM:
        words.append("verbatim")
    if number in view.pinned:
        words.append("◆ pinned")
    if number in view.refused:
        words.append("refused")
    if number == view.here:
        words.append("← you")
    return " · ".join(words)


def _opened_by(opening: Opening) -> str:
    who = "opened by the agent" if opening.by is OpenedBy.AGENT else "opened by you"
    return f"{who}: {opening.reason}" if opening.reason else who


def _chapter_that_begins(memory: GistMemory, number: int) -> str:
    """Title of the chapter that begins on this page (page 1: contains it), or empty."""
    book = memory.book
    if len(book.chapters) < 2:
        return ""
    chapter = book.chapter_index(memory.entry(number).page.start)
    if number > 1 and book.chapter_index(memory.entry(number - 1).page.start) == chapter:
        return ""
    return book.chapters[chapter].title


def _titles_that_begin(memory: GistMemory, number: int) -> str:
    """Title of the chapter that begins on this page, after those of parts that begin with it."""
    book = memory.book
    page = memory.entry(number).page
    chapter = chapter_of(book, page)
    if len(book.chapters) < 2 or (number > 1 and chapter_of(book, memory.entry(number - 1).page) == chapter):
        return ""
    return " · ".join(one.title for one in book.chapters[book.chapter_index(page.start) : chapter + 1])


def _gutter(memory: GistMemory) -> int:
    return len(str(memory.estimated_pages)) + 3


def _number(memory: GistMemory, number: int, sign: str = " ") -> str:
    return f"{number:>{_gutter(memory) - 3}} {sign}".rstrip()


def _rail(memory: GistMemory) -> str:
    return "╎ ".rjust(_gutter(memory))
