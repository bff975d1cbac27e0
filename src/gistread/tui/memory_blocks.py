"""A gist memory as blocks of long text, for the memory pane."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gistread.book.model import Book, ParagraphKind
from gistread.memory.front_matter import StoryPart
from gistread.memory.model import GistMemory, GistSource, MemoryEntry, Page
from gistread.memory.passages import join, sentence_at
from gistread.people.sections import SectionNames
from gistread.readers.events import OpenedBy
from gistread.readers.trace import with_reason
from gistread.tui.book_blocks import chapter_name, inline_spans, turnover
from gistread.tui.memory_rows import TO_COME, MemoryRow, RowKind
from gistread.tui.text import Block, Span
from gistread.units import ELLIPSIS, in_quotes, short, stripped_range

_ALL = StoryPart()
AHEAD = "ahead of you"
UNREAD = "not read yet"
UNFINISHED = "its gist comes with its last line"
_NOT_NAMED = "…"
# Up to eight words: the title of a section without names
_FIRST_WORDS = re.compile(r"\S+(?:\s+\S+){0,7}")

# Where a gist comes from, in words
_SOURCES = {
    GistSource.MODEL: "",
    GistSource.QUOTED: "",  # Said once, above the memory
    GistSource.EXTRACTIVE: "no gist",
    GistSource.VERBATIM: "its whole text",
    GistSource.UNREAD: UNREAD,
}

Range = tuple[int, int]
_NOTE = 130  # Most characters of a note on a section
_AROUND_NUMBER = 4  # Columns of the gutter beside a section's number
_HERE = "▌"  # Rail of the page that the user is reading
_TITLED = (RowKind.GIST, RowKind.UNFINISHED)  # Rows below the title of their chapter
BEGUN = "begun"  # Kind in the key of the page under way; its number follows
TAIL = "tail"  # Style of the lines below a gist


@dataclass(frozen=True, slots=True)
class Opening:
    """Who opened a section, and why."""

    by: OpenedBy
    reason: str = ""
    whole: bool = False  # Whether the user wants its whole text


@dataclass(frozen=True, slots=True)
class SectionNote:
    """Why the model wants a section, or what a step of its answer is about."""

    number: int
    text: str
    keys: str  # What can be done with it, in words


@dataclass(slots=True)
class View:
    """State of the memory pane: pages opened, pinned and refused, and how far the user has read."""

    opened: dict[int, Opening] = field(default_factory=dict)
    cited: frozenset[Range] = frozenset()  # Places in the book that answers cite
    beside: bool = False  # Whether the book stands beside the memory
    pinned: set[int] = field(default_factory=set)
    refused: set[int] = field(default_factory=set)
    # On a section that is wanted, or in a step of an answer
    note: SectionNote | None = None
    here: int | None = None  # The page the user is reading
    # Offset of the view, if it is after the last page that the model has read
    unread_at: int | None = None
    begun: Page | None = None  # The page whose gist is being made
    draft: str = ""  # Its text so far
    # Text of an empty memory: (text, id of the command that a click runs)
    guide: tuple[tuple[str, str], ...] = ()
    reading: bool = False  # Whether the model is reading the book
    quotes: bool = False  # Whether the model of the memory only quotes
    # The names in each section, by its offset
    names: Mapping[int, SectionNames] = field(default_factory=dict)
    finds_names: bool = False  # Whether sections get names, some of them later
    # Gists of text beyond this offset are not shown; None: all are
    bound: int | None = None

    @property
    def apart(self) -> frozenset[int]:
        """Numbers of the sections that have a note, are pinned or are refused.

        Each has a line of its own.
        """
        numbers = self.pinned | self.refused
        if self.note is not None:
            numbers = numbers | {self.note.number}
        return frozenset(numbers)


def excerpt_of(book: Book, page: Page, view: View) -> list[Range]:
    """The sentences of an opened page that answers cite, each with those around it.

    Empty: its whole text is shown.
    """
    opening = view.opened.get(page.number)
    if not view.beside or opening is None or opening.whole:
        return []
    parts: list[Range] = []
    for start, end in view.cited:
        if page.start <= start < page.end:
            # Two characters outside the citation is the neighbouring sentence.
            first, _ = sentence_at(book, max(page.start, start - 2))
            _, last = sentence_at(book, min(page.end, end + 2) - 1)
            parts.append((max(page.start, first), min(page.end, last)))
    return join(parts, book)


def stays_gist(book: Book, page: Page, view: View) -> bool:
    """Whether an opened page is shown by its gist.

    Beside the book, if the agent opened it and no answer cites it.
    """
    opening = view.opened.get(page.number)
    if not view.beside or opening is None:
        return False
    if opening.by is not OpenedBy.AGENT or opening.whole:
        return False
    return not excerpt_of(book, page, view)


def entry_blocks(
    memory: GistMemory, entry: MemoryEntry, view: View, story: StoryPart = _ALL
) -> list[Block]:
    """The blocks of a page: its gist or, if open, its text.

    A page that is no part of `story` has none.
    """
    page = entry.page
    number = page.number
    opening = view.opened.get(number)
    notes = _note_blocks(memory, number, view)
    if story.leaves_out(page) and opening is None and not notes:
        return []
    if opening is not None and not stays_gist(memory.book, page, view):
        return _opened_blocks(memory, entry, view, opening)
    blocks = _gist_blocks(memory, entry, view)
    if opening is not None and not notes:
        blocks.append(_line_below(memory, number, _opened_by(opening)))
    return _with_notes(blocks, notes, is_here=number == view.here)


def _with_notes(
    blocks: list[Block], notes: list[Block], *, is_here: bool
) -> list[Block]:
    """The blocks of a section with its notes below; these tint the whole section."""
    blocks = [*blocks, *notes]
    if is_here:
        blocks = [_railed(block) for block in blocks]
    if notes:
        blocks = _tinted(blocks)
    return blocks


def _opened_blocks(
    memory: GistMemory, entry: MemoryEntry, view: View, opening: Opening
) -> list[Block]:
    """The blocks of an open page: who opened it and why, then its text."""
    page = entry.page
    notes = _note_blocks(memory, page.number, view)
    if notes:
        # The note tells the reason.
        opening = replace(opening, reason="")
    who = _opened_by(opening)
    head = _page_block(
        memory, page.number, who, style="step", tail=_tail(entry, view), sign="▾"
    )
    about = [head, *notes]
    if page.number == view.here:
        about = [_railed(block) for block in about]
    text = _text_blocks(memory, page, excerpt_of(memory.book, page, view))
    return [replace(block, ground="opened") for block in (*about, *text)]


def _text_blocks(memory: GistMemory, page: Page, excerpt: list[Range]) -> list[Block]:
    """The text of an opened section, or an excerpt from it, and a line at its end."""
    book = memory.book
    rail = "╎ ".rjust(_gutter(memory))
    key = ("page", page.number)
    blocks: list[Block] = []
    for first, last in excerpt or [(page.start, page.end)]:
        for paragraph in book.paragraphs_between(first, last):
            start, end = stripped_range(
                book.text, max(paragraph.start, first), min(paragraph.end, last)
            )
            text = book.text[start:end]
            block = Block(
                text,
                key=key,
                start=start,
                spans=inline_spans(book, start, end),
                style=paragraph.kind.value,
                level=paragraph.level,
                turnover=turnover(paragraph.kind, text),
                rail=rail,
                blank_before=1 if blocks else 0,
            )
            blocks.append(block)
    if excerpt:
        end_line = f"part of section {page.number}, which has {page.words:,} words"
    else:
        end_line = f"end of section {page.number} · {page.words:,} words"
    return [*blocks, Block(end_line, key=key, style="muted", rail=rail, blank_before=0)]


def chapter_of(row: MemoryRow, book: Book, view: View) -> int | None:
    """Index of the chapter whose title belongs above a row.

    None in a book of one chapter, and for a line of sections that are still to come.
    """
    if row.entry is None or row.first < row.last or len(book.chapters) < 2:
        return None
    has_title = row.kind in _TITLED or row.first in view.apart
    if not has_title:
        return None
    return book.chapter_index(row.entry.page.start)


def chapter_heading(book: Book, chapter: int) -> Block:
    """The title of a chapter, above its first section that has a row of its own."""
    title = chapter_name(book.chapters[chapter].title, book.language)
    return Block(title, style="heading", level=4, indent=1, rule=True)


def _note_blocks(
    memory: GistMemory, number: int, view: View, kind: str = "page"
) -> list[Block]:
    """The note on a section, and what can be done with it; empty without one."""
    note = view.note
    if note is None or note.number != number:
        return []
    lines = [short(note.text, _NOTE), note.keys]
    return [_line_below(memory, number, line, kind) for line in lines if line]


def _line_below(
    memory: GistMemory, number: int, text: str, kind: str = "page"
) -> Block:
    """A line below the gist of a section."""
    indent = _gutter(memory) - 1
    return Block(text, key=(kind, number), style=TAIL, indent=indent, blank_before=0)


def shows_names(entry: MemoryEntry, view: View) -> bool:
    """Whether names are shown in place of its gist, which would only repeat the book."""
    is_whole_text = entry.gist.source is GistSource.VERBATIM
    return entry.is_quotation or (view.quotes and is_whole_text)


def _gist_blocks(memory: GistMemory, entry: MemoryEntry, view: View) -> list[Block]:
    """The gist of a section. In place of a quotation: who enters, and who was known before."""
    page = entry.page
    tail = _tail(entry, view)
    if not shows_names(entry, view):
        # A gist whose source is told consists of the book's own words.
        style = "own-words" if _SOURCES[entry.gist.source] else "gist"
        text = " ".join(entry.gist.text.split())
        return [_page_block(memory, page.number, text, style=style, tail=tail)]
    if _awaits_names(entry, view):
        awaited = _page_block(memory, page.number, _NOT_NAMED, style="muted", tail=tail)
        return [awaited]
    names = view.names.get(page.start, SectionNames())
    title = names.title or _first_words(memory.book, page)
    return _named_blocks(memory, entry, title, names, tail=tail)


def _awaits_names(entry: MemoryEntry, view: View) -> bool:
    """Whether its names are still being found. Its first words would only flash up."""
    start = entry.page.start
    is_ahead = view.bound is not None and start >= view.bound
    return view.finds_names and not is_ahead and start not in view.names


def _named_blocks(
    memory: GistMemory,
    entry: MemoryEntry,
    title: str,
    names: SectionNames,
    *,
    tail: str,
) -> list[Block]:
    """The title of a section, and below it the people who were known before."""
    number = entry.page.number
    if not names.known:
        return [_page_block(memory, number, title, style="gist", tail=tail)]
    known = f"with {', '.join(names.known)}"
    if not names.title:
        return [_page_block(memory, number, known, style="muted", tail=tail)]
    title_block = _page_block(memory, number, title, style="gist")
    below = replace(title_block, text=known, style="muted", hanging="")
    return [title_block, replace(below, tail=tail, blank_before=0)]


def _first_words(book: Book, page: Page, bound: int | None = None) -> str:
    """The first words of a section below its headings, in quotation marks.

    Empty if they are behind the bound.
    """
    start = page.start
    for paragraph in book.paragraphs_between(page.start, page.end):
        if paragraph.kind is not ParagraphKind.HEADING:
            start = max(page.start, paragraph.start)
            break
    match = _FIRST_WORDS.search(book.text, start, page.end)
    if match is None:
        return ""
    if bound is not None and match.end() > bound:
        return ""
    words = " ".join(match[0].split())
    rest = book.text[match.end() : page.end]
    if rest.strip():
        words += ELLIPSIS
    return in_quotes(words)


def _page_block(
    memory: GistMemory,
    number: int,
    text: str,
    *,
    style: str,
    tail: str = "",
    sign: str = "",
) -> Block:
    """The first block of a section, with its number and a sign beside it.

    `tail`: muted words at the end of the row.
    """
    indent = _gutter(memory) - 1
    label = _number_label(memory, number)
    if sign:
        indent += 1
        label = f"{label} {sign}"
    key = ("page", number)
    return Block(text, key=key, style=style, indent=indent, hanging=label, tail=tail)


def _railed(block: Block) -> Block:
    """A block of the page that the user is reading, with a rail in place of its first column."""
    return replace(
        block,
        rail=_HERE,
        indent=block.indent - 1,
        hanging=block.hanging[1:],
        ground="opened",
    )


def guide_blocks(view: View) -> list[Block]:
    """The text of an empty memory."""
    if not view.guide:
        return []
    (about, _), *following = view.guide
    heading = Block(
        "The memory of this book",
        style="heading",
        level=4,
        indent=1,
        rule=True,
        blank_before=0,
    )
    blocks = [heading, Block(about, indent=1)]
    for text, command in following:
        spans = (Span(0, len(text), "strong", command or None),)
        blocks.append(Block(text, style="strong", indent=3, hanging=" ▸", spans=spans))
    return blocks


def row_blocks(
    memory: GistMemory, row: MemoryRow, view: View, story: StoryPart = _ALL
) -> list[Block]:
    """The blocks of a row; none for a section that is no part of `story`."""
    match row.kind:
        case RowKind.GIST if row.entry is not None:
            return entry_blocks(memory, row.entry, view, story)
        case RowKind.UNFINISHED if row.entry is not None:
            return _unfinished_blocks(memory, row.entry, view, story)
        case RowKind.BEING_READ:
            block = _begun_block(memory, row, view)
        case RowKind.UNREAD_HERE:
            block = _unread_block(memory, row, view)
        case _:
            block = _to_come_block(memory, row, view)
    if row.first < row.last:
        return [block]  # Sections with a note do not share a row.
    kind, number = key_of(row)
    notes = _note_blocks(memory, number, view, kind)
    if notes:
        return _tinted([block, *notes])
    return [block]


def key_of(row: MemoryRow) -> tuple[str, int]:
    """The key of the blocks of a row: what a click does, and the number of its first section.

    A click on "page" opens the section, one on "rest" or `BEGUN` only leads to its place.
    """
    if row.kind is RowKind.BEING_READ:
        return BEGUN, row.first
    if row.entry is None or row.kind in TO_COME:
        return "rest", row.first
    return "page", row.first


def _unfinished_blocks(
    memory: GistMemory, entry: MemoryEntry, view: View, story: StoryPart
) -> list[Block]:
    """The section that the user is in, whose gist would tell its end."""
    page = entry.page
    if story.leaves_out(page):
        return []
    tail = _tail(entry, view, sourced=False)
    if shows_names(entry, view):
        names = view.names.get(page.start, SectionNames())
        if _awaits_names(entry, view):
            title = _NOT_NAMED
        else:
            first_words = _first_words(memory.book, page, view.bound)
            title = names.title or first_words or AHEAD
        blocks = _named_blocks(memory, entry, title, names, tail=tail)
    else:
        unfinished = _page_block(
            memory, page.number, UNFINISHED, style="muted", tail=tail
        )
        blocks = [unfinished]
    notes = _note_blocks(memory, page.number, view)
    return _with_notes(blocks, notes, is_here=page.number == view.here)


def _tinted(blocks: list[Block]) -> list[Block]:
    """The blocks of a section that has a note, on a ground that sets it apart."""
    return [replace(block, ground="current") for block in blocks]


def _unread_block(memory: GistMemory, row: MemoryRow, view: View) -> Block:
    """The section that the user is in and the model has not read."""
    marks = _marks(row.first, view)
    block = _page_block(memory, row.first, UNREAD, style="muted", tail=marks)
    return _railed(replace(block, key=key_of(row)))


def _to_come_block(memory: GistMemory, row: MemoryRow, view: View) -> Block:
    """A line for one or several sections without gists."""
    text = UNREAD if row.kind is RowKind.UNREAD else AHEAD
    if row.first == row.last:
        marks = _marks(row.first, view)
        block = _page_block(memory, row.first, text, style="muted", tail=marks)
    else:
        is_estimate = row.last > len(memory.entries)
        last = f"~{row.last}" if is_estimate else f"{row.last}"
        block = _page_block(memory, row.first, f"to {last} · {text}", style="muted")
    return replace(block, key=key_of(row))


def _begun_block(memory: GistMemory, row: MemoryRow, view: View) -> Block:
    """The page under way, with its unfinished gist."""
    draft = _draft_so_far(memory, view)
    marks = _marks(row.first, view)
    block = _page_block(memory, row.first, draft, style="muted", tail=marks)
    block = replace(block, key=key_of(row))
    if not row.here:
        return block
    return _railed(block)


def _draft_so_far(memory: GistMemory, view: View) -> str:
    """The gist of the page under way, without its last word.

    Its length, if there is no gist yet or the page is behind the bound.
    """
    begun = view.begun
    is_within_bound = begun is None or memory.is_within(begun, view.bound)
    whole_words = view.draft.rpartition(" ")[0]
    if is_within_bound and whole_words:
        return f"{whole_words}{ELLIPSIS}"
    if begun is not None:
        return f"being read: {begun.words:,} words{ELLIPSIS}"
    return f"being read{ELLIPSIS}"


def _tail(entry: MemoryEntry, view: View, *, sourced: bool = True) -> str:
    """The words behind a gist: where it comes from, and what the user decided about it.

    `sourced`: whether the gist is shown.
    """
    source = ""
    # That a model only quotes is said once, above the memory.
    is_quoted = view.quotes and entry.is_read
    if sourced and not is_quoted:
        source = _SOURCES[entry.gist.source]
    marks = _marks(entry.page.number, view)
    return " · ".join(filter(None, (source, marks)))


def _marks(number: int, view: View) -> str:
    """What the user decided about a section."""
    words: list[str] = []
    if number in view.pinned:
        words.append("◆ pinned")
    if number in view.refused:
        words.append("refused")
    return " · ".join(words)


def _opened_by(opening: Opening) -> str:
    who = "opened for the answer" if opening.by is OpenedBy.AGENT else "opened by you"
    return with_reason(who, opening.reason)


def _gutter(memory: GistMemory) -> int:
    """The columns of a section's number, wide enough for the most sections the book can have.

    With an estimate, the text would move when it passes 100 or 1,000.
    """
    most = max(len(memory.entries), memory.book.words // memory.size.min_words)
    return len(str(most)) + _AROUND_NUMBER


def _number_label(memory: GistMemory, number: int) -> str:
    """A section's number, at the right of its column in the gutter."""
    columns = _gutter(memory) - _AROUND_NUMBER
    return f" {number:>{columns}}"
