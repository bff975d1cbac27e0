"""The gist memory as a list of pages that open inline."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from textual.geometry import Size
from textual.message import Message

from gistread.memory.front_matter import StoryPart
from gistread.memory.model import GistMemory, MemoryEntry, Page
from gistread.memory.sections import Sections
from gistread.people.mentions import supports_names
from gistread.people.sections import SectionNames
from gistread.readers.events import OpenedBy
from gistread.tui import memory_blocks
from gistread.tui.commands import CommandTarget, bindings
from gistread.tui.memory_rows import MemoryRow, PlaceInMemory, RowKind, memory_rows
from gistread.tui.text import Block, LongText
from gistread.tui.text.layout import lay_out
from gistread.tui.widgets.memory_commands import MEMORY
from gistread.tui.widgets.moving import MOVING

_PLACE_OF_CURRENT = 0.3  # Of the view's height, for the section at the book's place


class MemoryPane(CommandTarget, LongText):
    OWN_COMMANDS = (*MOVING, *MEMORY)
    BINDINGS = bindings(OWN_COMMANDS)
    CURSOR_NEEDS_FOCUS = True

    @dataclass
    class PageChosen(Message):
        """The user moved to a page, or goes to it in the book (`go`)."""

        start: int  # Offset of the page in the book
        go: bool

    class Changed(Message):
        """Pages were opened, closed or pinned."""

    class Appeared(Message):
        """The pane is shown, after it was hidden."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__((), id=id, side_margin=1)
        self.memory: GistMemory | None = None
        # Where the pages of the memory began when it was last drawn
        self._starts: list[int] = []
        self.view = memory_blocks.View()
        # By page: what its blocks show, and the blocks
        self._drawn_entries: dict[int, tuple[object, list[Block]]] = {}
        self.story = StoryPart()  # The book without front matter and imprint
        # (key, width) of the page under way when it was last drawn, and its most rows so far
        self._begun_rows: tuple[Hashable, int] = (None, 0)

    def show_memory(self, memory: GistMemory | None) -> None:
        """Show another memory. Pinned pages stay pinned if it has pages of the same size."""
        before = self.memory
        pinned: set[int] = set()
        if memory is not None and before is not None and memory.size == before.size:
            pinned = self.view.pinned
        self.memory = memory
        self._starts = _starts(memory)
        self._drawn_entries.clear()
        self.story = StoryPart()
        if memory is not None:
            self.story = StoryPart.of(memory.book)
        self.view = replace(
            self.view,
            opened={},
            pinned=pinned,
            refused=set(),
            unread_at=None,
            begun=None,
            draft="",
            names={},
            finds_names=memory is not None and supports_names(memory.book),
        )
        self.cursor = memory is not None
        self.show(self._all_blocks(), keep_position=False)
        here = ("page", self.view.here)
        if self.view.here is not None and self.set_cursor(here, scroll=False):
            self.scroll_to_key(here, top=_PLACE_OF_CURRENT, past_end=False)

    def _keep_height(self, block: Block) -> Block:
        """The page under way, at least as high as before; other blocks unchanged.

        So nothing jumps when an attempt at its gist is rejected.
        """
        is_begun = isinstance(block.key, tuple) and block.key[0] == memory_blocks.BEGUN
        # A block of the style `TAIL` is only a line of its note.
        if not is_begun or block.style == memory_blocks.TAIL:
            return block
        key_and_width = (block.key, self.row_width)
        rows = lay_out(block, self.row_width).rows
        most = rows
        key_and_width_before, most_before = self._begun_rows
        if key_and_width_before == key_and_width:
            most = max(rows, most_before)
        self._begun_rows = key_and_width, most
        return replace(block, text=block.text + "\n" * (most - rows))

    def show_reading(self, *, begun: Page | None, draft: str, reading: bool) -> bool:
        """Show the page under way with its gist so far, and new pages. True if there are any."""
        before = self._starts
        self._starts = _starts(self.memory)
        has_new_pages = self._starts != before
        cursor = self.cursor_key
        only_appended = self._starts[: len(before)] == before
        if not only_appended:
            # Some pages have other numbers now, such as those after one that was read later.
            self._renumber(before)
            cursor = self._renumbered(cursor, before)
        is_drawn = self.change_view(begun=begun, draft=draft, reading=reading)
        if not has_new_pages:
            return False
        if not is_drawn:
            self._update()
        is_first_page = not before
        if is_first_page:
            cursor = ("page", 1)
        self.set_cursor(cursor, scroll=False)
        return True

    def _renumber(self, starts: list[int]) -> None:
        """Renumber what the user opened, pinned and refused.

        `starts`: where the pages with the old numbers begin in the book.
        """
        number_of = partial(self._number_now, starts=starts)
        opened = self.view.opened.items()
        view = replace(
            self.view,
            opened={number_of(old): opening for old, opening in opened},
            pinned=set(map(number_of, self.view.pinned)),
            refused=set(map(number_of, self.view.refused)),
        )
        if view.note is not None:
            view.note = replace(view.note, number=number_of(view.note.number))
        if view.here is not None:
            view.here = number_of(view.here)
        self.view = view

    def _renumbered(self, key: Hashable, starts: list[int]) -> Hashable:
        """The key of a row, with the new number of its page."""
        match key:
            case (str(kind), int(old)):
                return kind, self._number_now(old, starts)
        return key

    def _number_now(self, old: int, starts: list[int]) -> int:
        """The number of the page that now contains the beginning of the old one."""
        if self.memory is None or old > len(starts):
            return old
        page = self.memory.page_at(starts[old - 1])
        return old if page is None else page.number

    def change_view(self, **changes: Any) -> bool:
        """Draw the memory with other fields of its view. Returns whether they differ."""
        before = self.view
        self.view = replace(before, **changes)
        if self.view == before:
            return False
        self._update()
        return True

    def on_show(self) -> None:
        self.post_message(self.Appeared())

    def set_here(self, offset: int, *, scroll: bool, level: int = 0) -> None:
        """Mark the page the user is reading.

        `scroll`: scroll it to row `level`, unless a page has a note.
        """
        view = self.view
        page = self.memory.page_at(offset) if self.memory else None
        here = page.number if page else None
        unread_at = None if page else offset
        if (here, unread_at) != (view.here, view.unread_at):
            view.here, view.unread_at = here, unread_at
            self._update()
        if scroll and not view.note:
            self._scroll_to_here(level)

    def point_at_here(self) -> None:
        """Put the cursor on the section at the user's place."""
        self.set_cursor(self._here_key, scroll=False)

    @property
    def _here_key(self) -> tuple[str, int] | None:
        """The key of the row at the user's place."""
        for row in self.rows():
            if row.here:
                return memory_blocks.key_of(row)
        return None

    def _scroll_to_here(self, level: int) -> None:
        """Scroll the section at the user's place to row `level`."""
        key = self._here_key
        if key is None:
            return
        if not self.scroll_to_key(key, row=level, past_end=self.view.beside):
            self._scroll_row(0)  # The front matter has no gists.

    def rows(self) -> list[MemoryRow]:
        """What the pane shows at the place of the user."""
        memory, view = self.memory, self.view
        if memory is None:
            return []
        place = PlaceInMemory(
            here=view.here,
            unread_at=view.unread_at,
            bound=view.bound,
            begun=view.begun,
            reading=view.reading,
            opened=view.opened,
            alone=view.apart,
        )
        return memory_rows(memory, place)

    @property
    def chosen(self) -> int | None:
        """The number of the page under the cursor."""
        match self.cursor_key:
            case ("page", int(number)):
                return number
        return None

    def open_page(self, number: int, by: OpenedBy, reason: str = "") -> None:
        """Show a page's own text."""
        self.view.opened[number] = memory_blocks.Opening(by, reason)
        self._change()

    def show_note(self, note: memory_blocks.SectionNote | None) -> None:
        """Tint the section that this note is about, and keep it in view. None: no section."""
        if self.change_view(note=note):
            self._show_noted()
            self.post_message(self.Changed())

    def show_names(self, names: Mapping[int, SectionNames]) -> bool:
        """Show who enters in the sections, and keep a section with a note in view.

        Returns whether the names differ from those shown before.
        """
        is_changed = self.change_view(names=names)
        if is_changed:
            self._show_noted()
        return is_changed

    def _show_noted(self) -> None:
        """Scroll to the section with a note."""
        note = self.view.note
        if note is None:
            return
        for row in self.rows():
            if row.first == note.number:
                self.scroll_to_key(memory_blocks.key_of(row), past_end=False)
                return

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        changed = super()._size_updated(size, virtual_size, container_size, layout)
        self._show_noted()  # The line of a proposal takes a row from the memory.
        return changed

    def cite(self, places: Iterable[tuple[int, int]]) -> None:
        """Show the cited places in opened pages, while the book stands beside them."""
        if self.change_view(cited=self.view.cited.union(places)):
            self.post_message(self.Changed())

    def set_beside(self, beside: bool) -> None:
        """Set whether the book stands beside the memory."""
        if self.change_view(beside=beside) and self.view.opened:
            self.post_message(self.Changed())

    def toggle_page(self, number: int) -> None:
        """Open a page, show the whole of one that is shown in part, or close it."""
        opening = self.view.opened.get(number)
        if opening is None or self.memory is None:
            self.open_page(number, OpenedBy.PERSON)
        else:
            book = self.memory.book
            page = self.memory.entry(number).page
            is_in_part = bool(memory_blocks.excerpt_of(book, page, self.view))
            if is_in_part or memory_blocks.stays_gist(book, page, self.view):
                self.view.opened[number] = replace(opening, whole=True)
            else:
                del self.view.opened[number]
            self._change()
        self.scroll_to_key(("page", number))

    def toggle_pin(self, number: int) -> None:
        self.view.pinned ^= {number}
        self._change()

    def refuse(self, number: int) -> None:
        """Close a page, and keep readers from opening it for this question."""
        self.view.refused.add(number)
        self.view.opened.pop(number, None)
        self._change()

    def clear_question(self) -> None:
        """Allow refused pages again, for a new question."""
        self.view.refused.clear()
        self._update()

    def _change(self) -> None:
        self._update()
        self.post_message(self.Changed())

    def _update(self) -> None:
        """Draw what has changed."""
        self.replace_from(0, self._all_blocks())

    def _all_blocks(self) -> list[Block]:
        """The sections under the titles of their chapters; a guide while there are none."""
        memory, view = self.memory, self.view
        if memory is None:
            return memory_blocks.guide_blocks(view)
        view.quotes = memory.quotes
        blocks: list[Block] = []
        if not memory.entries and view.begun is None:
            blocks += memory_blocks.guide_blocks(view)
        blocks += self._chapter_blocks(memory)
        if not blocks:
            return []
        # The pane itself has an empty row above its text.
        return [replace(blocks[0], blank_before=0), *blocks[1:]]

    def _chapter_blocks(self, memory: GistMemory) -> list[Block]:
        """The rows of the memory, with the title of each chapter above its first row."""
        blocks: list[Block] = []
        digits = len(str(memory.estimated_pages))
        titled_chapter: int | None = None  # The chapter whose title was drawn last
        for row in self.rows():
            row_blocks = self._row_blocks(memory, row, digits)
            chapter = memory_blocks.chapter_of(row, memory.book, self.view)
            if row_blocks and chapter is not None and chapter != titled_chapter:
                blocks.append(memory_blocks.chapter_heading(memory.book, chapter))
                titled_chapter = chapter
            blocks += row_blocks
        return blocks

    def _row_blocks(
        self, memory: GistMemory, row: MemoryRow, digits: int
    ) -> list[Block]:
        """The blocks of a row. `digits`: of the highest number of a page."""
        if row.kind is RowKind.GIST and row.entry is not None:
            return self._entry_blocks(memory, row.entry, digits)
        blocks = memory_blocks.row_blocks(memory, row, self.view, self.story)
        return [self._keep_height(block) for block in blocks]

    def _entry_blocks(
        self, memory: GistMemory, entry: MemoryEntry, digits: int
    ) -> list[Block]:
        """The blocks of a page. Cached while they show the same: a novel has hundreds."""
        shown = self._shown_of(entry, digits)
        number = entry.page.number
        cached = self._drawn_entries.get(number)
        if cached is not None:
            shown_before, blocks = cached
            if shown_before == shown:
                return blocks
        blocks = memory_blocks.entry_blocks(memory, entry, self.view, self.story)
        self._drawn_entries[number] = shown, blocks
        return blocks

    def _shown_of(self, entry: MemoryEntry, digits: int) -> object:
        """Everything that the blocks of a page depend on, to be compared."""
        view = self.view
        number = entry.page.number
        marks = number == view.here, number in view.pinned, number in view.refused
        names = view.quotes, view.finds_names, view.names.get(entry.page.start)
        note = view.note
        if note is not None and note.number != number:
            note = None
        opening = view.opened.get(number)
        text = (opening, view.cited, view.beside) if opening else None
        return entry, digits, marks, names, note, text

    def go_to_page(self) -> None:
        self._post_chosen(go=True)

    def action_line_down(self, count: int = 1) -> None:
        self.move_cursor(count)
        self._post_chosen(go=False)

    def _post_chosen(self, *, go: bool) -> None:
        start = self._chosen_start()
        if start is not None:
            self.post_message(self.PageChosen(start, go=go))

    def _chosen_start(self) -> int | None:
        """Where the chosen page begins in the book; estimated, if the model has not read it."""
        if self.memory is None:
            return None
        begun = self.view.begun
        match self.cursor_key:
            case (memory_blocks.BEGUN, int()) if begun is not None:
                return begun.start
            case ("page" | "rest" | memory_blocks.BEGUN, int(number)):
                section = Sections(self.memory).numbered(number)
                if section is not None:
                    return section.start
        return None


def _starts(memory: GistMemory | None) -> list[int]:
    if memory is None:
        return []
    return [entry.page.start for entry in memory.entries]
