"""The gist memory as a list one walks through: a page a line or a few, opened and closed inline.

Draws what `memory_blocks` makes of the memory and of the view. Tells of pages chosen; decides nothing about
questions.
"""

from textual.message import Message

from gistread.memory.model import Entry, GistMemory, Page
from gistread.readers.events import Who
from gistread.tui.commands import Place, bindings
from gistread.tui.memory_blocks import Opening, View, empty_blocks, entry_blocks, rest_blocks
from gistread.tui.text.document import Block
from gistread.tui.text.widget import LongText


class MemoryPane(LongText):
    """Blocks of page n stand together; `_sizes[n - 1]` says how many they are."""

    BINDINGS = bindings(Place.MOVING, Place.MEMORY)

    class PageChosen(Message):
        """The person walked to a page, or asks for it in the book (`go`)."""

        def __init__(self, page: Page, go: bool) -> None:
            super().__init__()
            self.page = page
            self.go = go

    class Changed(Message):
        """Pages were opened, closed or pinned."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(empty_blocks(View()), id=id, side_margin=1)
        self.memory: GistMemory | None = None
        self.view = View()
        self._sizes: list[int] = []
        self._rest: list[Block] = []

    # What is known

    def show_memory(self, memory: GistMemory | None) -> None:
        """Show this memory from scratch; what was open belongs to the one before."""
        same = memory is not None and self.memory is not None and memory.size == self.memory.size
        pinned = self.view.pinned if same else set()
        self.memory = memory
        self.view = View(here=self.view.here, reading=self.view.reading, pinned=pinned)
        self.cursor = memory is not None
        blocks = []
        self._sizes = []
        for entry in memory.entries if memory else ():
            of_page = entry_blocks(memory, entry, self.view) if memory else []
            self._sizes.append(len(of_page))
            blocks += of_page
        rest = rest_blocks(memory, self.view) if memory else empty_blocks(self.view)
        self._rest = rest
        self.show([*blocks, *rest], keep_position=False)

    def add(self, entry: Entry) -> None:
        """The memory has grown by this entry."""
        if self.memory is None or entry.page.number != len(self._sizes) + 1:
            return
        self.view.begun = None
        blocks = entry_blocks(self.memory, entry, self.view)
        rest = rest_blocks(self.memory, self.view)
        self.splice(sum(self._sizes), len(self._rest), [*blocks, *rest])
        self._sizes.append(len(blocks))
        self._rest = rest

    def set_progress(self, *, begun: Page | None, reading: bool) -> None:
        """What the model is doing to the next page."""
        if (begun, reading) != (self.view.begun, self.view.reading):
            self.view.begun, self.view.reading = begun, reading
            self._redraw_rest()

    def set_here(self, offset: int, *, scroll: bool) -> None:
        """Mark the page where the person reads, and bring it into view if the panes follow each other."""
        page = self.memory.page_at(offset) if self.memory else None
        before, self.view.here = self.view.here, page.number if page else None
        if page is None or self.view.unread_at is not None:
            self.view.unread_at = offset if page is None else None
            self._redraw_rest()
        if self.view.here == before:
            return
        self._redraw(before)
        self._redraw(self.view.here)
        if scroll and page is not None:
            self.bring_into_view(page.number)

    # Pages

    @property
    def chosen(self) -> int | None:
        """Number of the page that the cursor is on."""
        key = self.cursor_key
        return key[1] if isinstance(key, tuple) and key[0] == "page" else None

    def open_page(self, number: int, by: Who, reason: str = "") -> None:
        self.view.opened[number] = Opening(by, reason)
        self._redraw(number)
        self.post_message(self.Changed())

    def close_page(self, number: int) -> None:
        if self.view.opened.pop(number, None):
            self._redraw(number)
            self.post_message(self.Changed())

    def toggle_page(self, number: int) -> None:
        if number in self.view.opened:
            self.close_page(number)
        else:
            self.open_page(number, Who.PERSON)
        self.bring_into_view(number)

    def toggle_pin(self, number: int) -> None:
        self.view.pinned ^= {number}
        self._redraw(number)
        self.post_message(self.Changed())

    def refuse(self, number: int) -> None:
        self.view.refused.add(number)
        self.close_page(number)

    def clear_question(self) -> None:
        """A new question: what was refused for the last one may be opened again."""
        refused, self.view.refused = self.view.refused, set()
        for number in refused:
            self._redraw(number)

    def bring_into_view(self, number: int) -> None:
        self.scroll_to_key(("page", number))

    # Drawing

    def _redraw(self, number: int | None) -> None:
        if self.memory is None or number is None or not 1 <= number <= len(self._sizes):
            return
        blocks = entry_blocks(self.memory, self.memory.entry(number), self.view)
        self.splice(sum(self._sizes[: number - 1]), self._sizes[number - 1], blocks)
        self._sizes[number - 1] = len(blocks)

    def _redraw_rest(self) -> None:
        if self.memory is None:
            return
        rest = rest_blocks(self.memory, self.view)
        if rest != self._rest:
            self.splice(sum(self._sizes), len(self._rest), rest)
            self._rest = rest

    # Keys

    def action_line_down(self, count: int = 1) -> None:
        self._walk(count)

    def action_line_up(self, count: int = 1) -> None:
        self._walk(-count)

    def action_go_to_page(self) -> None:
        if (page := self._chosen_page()) is not None:
            self.post_message(self.PageChosen(page, go=True))

    def _walk(self, pages: int) -> None:
        self.move_cursor(pages)
        if (page := self._chosen_page()) is not None:
            self.post_message(self.PageChosen(page, go=False))

    def _chosen_page(self) -> Page | None:
        number = self.chosen
        if self.memory is None or number is None or number > len(self.memory.entries):
            return None
        return self.memory.entry(number).page
