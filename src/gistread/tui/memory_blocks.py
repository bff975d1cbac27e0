"""A gist memory as blocks of long text, for the memory pane."""

import re
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from gistread.book.model import Book
from gistread.memory.model import GistMemory, GistSource, MemoryEntry, Page
from gistread.memory.tree import chapter_of
from gistread.readers.events import OpenedBy
from gistread.tui.book_blocks import inline_spans, turnover
from gistread.tui.text import Block, Span
from gistread.units import counted

if TYPE_CHECKING:
    from gistread.memory.tree import Node


# Where a gist comes from, in words.
_SOURCES = {
    GistSource.MODEL: "",
    GistSource.EXTRACTIVE: "the page’s own sentences",
    GistSource.VERBATIM: "the whole page",
}


BEGUN = "begun"  # Kind in the key of the page under way; its start follows


class Zoom(StrEnum):
    """Zoom levels of the memory, from the farthest."""

    BOOK = "book"
    VOLUME = "volume"  # only in a series
    CHAPTER = "chapter"
    PAGE = "page"
    TEXT = "text"

    @property
    def coarse(self) -> bool:
        return self in (Zoom.BOOK, Zoom.VOLUME, Zoom.CHAPTER)

    def said(self, book: Book) -> str:
        return "series" if self is Zoom.BOOK and book.volumes else self.value

    def step(self, by: int, book: Book) -> "Zoom":
        """The level `by` steps nearer, or the nearest one."""
        levels = levels_of(book)
        return levels[max(0, min(len(levels) - 1, levels.index(self) + by))]


def levels_of(book: Book) -> list[Zoom]:
    return [zoom for zoom in Zoom if book.volumes or zoom is not Zoom.VOLUME]


AHEAD = "ahead of you"


@dataclass(frozen=True, slots=True)
class Opening:
    by: OpenedBy
    reason: str = ""


@dataclass(slots=True)
class View:
    """State of the memory pane: zoom, pages opened, pinned and refused, and what is blurred."""

    opened: dict[int, Opening] = field(default_factory=dict)
    pinned: set[int] = field(default_factory=set)
    refused: set[int] = field(default_factory=set)
    here: int | None = None  # The page the person is reading
    unread_at: int | None = None  # Offset the person is reading at, if the model has not read that far
    begun: Page | None = None  # The page whose gist is being made
    draft: str = ""  # Its text so far
    guide: tuple[tuple[str, str], ...] = ()  # Text of an empty memory: (text, id of the command that a click runs)
    ahead: tuple[MemoryEntry, ...] = ()  # Pages read ahead of a gap, by place
    reading: bool = False  # Whether the model is reading the book
    zoom: Zoom = Zoom.PAGE
    bound: int | None = None  # Gists of text beyond this offset are blurred; None: none are
    revealed: set[tuple[int, int]] = field(default_factory=set)  # (start, end) of cards shown despite the bound

    def blurs(self, start: int, end: int) -> bool:
        """Whether a card about `[start, end)` of the book is blurred."""
        return self.bound is not None and end > self.bound and (start, end) not in self.revealed

    def blurs_page(self, page: Page) -> bool:
        """Whether the gist of this page is blurred: until half of the page has been seen."""
        return self.blurs(page.start, page.end) and half_of(page) > (self.bound or 0)

    def place_words(self, start: int, end: int, *, here: bool, blurred: bool) -> list[str]:
        """Labels of a card about `[start, end)`: that it lies ahead, and, if `here`, that the person is there."""
        if not blurred or self.bound is None:
            return ["← you"] if here else []
        return [AHEAD] if start >= self.bound else [f"partly {AHEAD}", *(["← you"] if here else [])]


def half_of(page: Page) -> int:
    """The offset in the middle of a page."""
    return (page.start + page.end) // 2


def _line(text: str, *, blurred: bool) -> str:
    """The text on one line; if blurred, with each letter shaded."""
    words = " ".join(text.split())
    return re.sub(r"\S", "░", words) if blurred else words


def entry_blocks(memory: GistMemory, entry: MemoryEntry, view: View) -> list[Block]:
    """The blocks of a page: title of a chapter that begins there, then gist or, if open or zoomed in, text."""
    page, number, opening = entry.page, entry.page.number, view.opened.get(entry.page.number)
    in_text = view.zoom is Zoom.TEXT
    if memory.book.is_volume_heading(page.start) and opening is None and not in_text:
        here = "← you" if number == view.here else ""
        return [_page_block(memory, number, entry.gist.text, "heading", tail=here, level=2)]
    blocks: list[Block] = []
    if not in_text and (title := _chapter_that_begins(memory, number)):
        blocks.append(Block(title, style="heading", level=4, indent=1, rule=True))
    if opening is None and not in_text:
        gist = _line(entry.gist.text, blurred=view.blurs_page(page))
        style = "gist" if entry.gist.source is GistSource.MODEL else "own-words"
        return [*blocks, _page_block(memory, number, gist, style, tail=_tail(entry, view))]
    said = _opened_by(opening) if opening else f"{page.words:,} words"
    blocks.append(_page_block(memory, number, said, "step", "▾", _tail(entry, view)))
    rail = "╎ ".rjust(_gutter(memory))
    for paragraph in memory.book.paragraphs_between(page.start, page.end):
        start, end = max(paragraph.start, page.start), min(paragraph.end, page.end)
        text = memory.book.text[start:end]
        lead = len(text) - len(text.lstrip())
        blocks.append(
            Block(
                text.strip(),
                key=("page", number),
                start=start + lead,
                spans=inline_spans(memory.book, start + lead, start + len(text.rstrip())),
                style=paragraph.kind.value,
                level=paragraph.level,
                turnover=turnover(paragraph.kind, text.strip()),
                rail=rail,
                blank_before=1 if len(blocks) > 1 else 0,
            )
        )
    if opening is not None:
        end_line = f"end of page {number} · {page.words:,} words"
        blocks.append(Block(end_line, key=("page", number), style="muted", rail=rail, blank_before=0))
        blocks = [replace(block, ground="opened") if block.key else block for block in blocks]
    return blocks


def _page_block(
    memory: GistMemory, number: int, text: str, style: str, sign: str = "", tail: str = "", level: int = 0
) -> Block:
    label = f"{number:>{_gutter(memory) - 3}} {sign}".rstrip()
    key = ("page", number) if number <= len(memory.entries) else ("rest", number)
    return Block(text, key=key, style=style, level=level, indent=_gutter(memory), hanging=label, tail=tail)


def part_blocks(memory: GistMemory, part: "Node", view: View) -> list[Block]:
    """Blocks of a run of pages: title of the chapter or book, and summary."""
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
    text = _line(part.summary.text, blurred=view.blurs(start, memory.entry(part.last).page.end))
    tail, above = _part_tail(memory, part, view), 0 if title else 1
    blocks.append(Block(text, key=key, style="gist", indent=2, tail=tail, blank_before=above))
    return blocks


def offer_blocks(offer: str) -> list[Block]:
    """A line above the parts that offers to summarise them."""
    spans = (Span(0, len(offer), "link", "offer"),)
    return [Block(offer, key=("offer", 0), style="muted", spans=spans)] if offer else []


def _part_tail(memory: GistMemory, part: "Node", view: View) -> str:
    words = [f"p. {part.first}" if part.first == part.last else f"p. {part.first}–{part.last}"]
    if not part.made:
        words.append("from its gists")
    elif part.summary.source is not GistSource.MODEL:
        words.append(_SOURCES[part.summary.source])
    start, end = memory.entry(part.first).page.start, memory.entry(part.last).page.end
    here = view.here is not None and part.first <= view.here <= part.last
    words += view.place_words(start, end, here=here, blurred=view.blurs(start, end))
    return " · ".join(words)


def guide_blocks(view: View) -> list[Block]:
    """The text of an empty memory."""
    if not view.guide:
        return []
    (about, _), *following = view.guide
    head = [Block("The memory of this book", style="heading", level=4, indent=1, rule=True), Block(about, indent=1)]
    return head + [
        Block(text, style="strong", indent=3, hanging=" ▸", spans=(Span(0, len(text), "strong", command or None),))
        for text, command in following
    ]


def rest_blocks(memory: GistMemory, view: View) -> list[Block]:
    """Blocks after the last page: the page being read, pages read ahead, and those to come."""
    if memory.complete:
        return []
    blocks = [] if memory.entries or view.ahead or view.begun else guide_blocks(view)
    read = len(memory.entries)
    begun = view.begun
    ahead = view.unread_at is not None and not _in_work(memory, view)
    chapter_at = memory.book.chapter_index
    elsewhere = view.unread_at is not None and chapter_at(view.unread_at) > chapter_at(memory.read_until)
    if view.reading and (begun.number if begun else not view.ahead and not elsewhere):
        blocks.append(begun_block(memory, view))
        read += 1
    left = memory.estimated_pages - read - len(view.ahead)
    if view.ahead:
        blocks += _ahead_blocks(memory, view)
        rest = f"about {counted(left, 'other page')}"
    else:
        rest = f"{read + 1} to about {read + left}" if left > 1 else f"{read + 1}"
    if left > 0:
        tail = "← you" if ahead and not view.ahead else ""
        blocks.append(Block(f"{rest} … not read yet", key=("rest", read + 1), style="muted", indent=1, tail=tail))
    return blocks


def _ahead_blocks(memory: GistMemory, view: View) -> list[Block]:
    """Pages read ahead of a gap. They get their numbers later."""
    book = memory.book
    blocks: list[Block] = []
    chapter = ""
    for entry in view.ahead:
        if (title := book.chapter_title(entry.page.start)) != chapter:
            chapter = title
            blocks.append(Block(title or book.title, style="heading", level=4, indent=1, rule=True))
        here = view.unread_at is not None and entry.page.start <= view.unread_at < entry.page.end
        blurred = view.blurs_page(entry.page)
        gist = _line(entry.gist.text, blurred=blurred)
        style = "gist" if entry.gist.source is GistSource.MODEL else "own-words"
        place = view.place_words(entry.page.start, entry.page.end, here=here, blurred=blurred)
        key = ("ahead", entry.page.start)
        blocks.append(Block(gist, key=key, style=style, indent=_gutter(memory), hanging="  ·", tail=" · ".join(place)))
    if view.reading and view.begun is not None and not view.begun.number:
        start = view.begun.start
        before = [at for at, one in enumerate(blocks, 1) if isinstance(one.key, tuple) and one.key[1] < start]
        blocks.insert(before[-1] if before else 0, begun_block(memory, view))
    return blocks


def begun_block(memory: GistMemory, view: View) -> Block:
    """The page under way, with its unfinished gist."""
    begun = view.begun
    number = begun.number or "·" if begun else len(memory.entries) + 1
    gutter = _gutter(memory)
    whole_words = view.draft.rpartition(" ")[0]
    if begun:
        whole_words = _line(whole_words, blurred=view.blurs_page(begun))
    text = f"{whole_words} …" if whole_words else f"being read: {begun.words:,} words …" if begun else "being read …"
    return Block(
        text,
        key=(BEGUN, begun.start if begun else 0),
        style="muted",
        indent=gutter,
        hanging=f"{number:>{gutter - 3}}",
        tail="← you" if _in_work(memory, view) else "",
    )


def _in_work(memory: GistMemory, view: View) -> bool:
    """Whether the person reads in the page under way."""
    start = view.begun.start if view.begun else memory.read_until
    end = view.begun.end if view.begun else start + len(memory.book.text) // memory.estimated_pages
    return view.reading and view.unread_at is not None and start <= view.unread_at < end


def _tail(entry: MemoryEntry, view: View) -> str:
    number = entry.page.number
    words = []
    gist_shown = view.zoom is not Zoom.TEXT or number in view.opened
    if gist_shown and entry.gist.source is not GistSource.MODEL:
        words.append(_SOURCES[entry.gist.source])
    if number in view.pinned:
        words.append("◆ pinned")
    if number in view.refused:
        words.append("refused")
    here = number == view.here
    if gist_shown and number not in view.opened:
        words += view.place_words(entry.page.start, entry.page.end, here=here, blurred=view.blurs_page(entry.page))
    elif here:
        words.append("← you")
    return " · ".join(words)


def _opened_by(opening: Opening) -> str:
    who = "opened by the agent" if opening.by is OpenedBy.AGENT else "opened by you"
    if not opening.reason:
        return who
    return f"{who}{',' if opening.reason.startswith('because') else ':'} {opening.reason}"


def _chapter_that_begins(memory: GistMemory, number: int) -> str:
    book = memory.book
    if len(book.chapters) < 2:
        return ""
    chapter = book.chapter_index(memory.entry(number).page.start)
    if number > 1 and book.chapter_index(memory.entry(number - 1).page.start) == chapter:
        return ""
    return book.chapters[chapter].title


def _titles_that_begin(memory: GistMemory, number: int) -> str:
    book = memory.book
    page = memory.entry(number).page
    chapter = chapter_of(book, page)
    if len(book.chapters) < 2 or (number > 1 and chapter_of(book, memory.entry(number - 1).page) == chapter):
        return ""
    return " · ".join(one.title for one in book.chapters[book.chapter_index(page.start) : chapter + 1])


def _gutter(memory: GistMemory) -> int:
    return len(str(memory.estimated_pages)) + 3
