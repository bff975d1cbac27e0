"""The memory's pages: open, pin, move, scroll with the book."""

from bisect import bisect_left

from gistread.memory.model import Page
from gistread.memory.sections import Sections
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.layers import Layer
from gistread.tui.reading.pane_switcher import Pane
from gistread.tui.text import Clicked, Mark
from gistread.tui.widgets.memory_pane import MemoryPane

# The next page is the page in view once the one before fills less than a quarter of the view.
_QUARTER = 4
_THIRD = 3  # A third of the memory's view may lie above the place.


class MemoryPages:
    """Keeps the memory beside the book, and does what the user wants with its pages."""

    def __init__(self, context: ReadingContext) -> None:
        self._context = context
        # Whether the memory stays where it is at the book's next move
        self.memory_stays = False
        # Whether the user moves through the memory, and the book follows: this is one jump in the
        # history
        self.walking = False
        self._is_beside = True  # Whether the memory followed the book at its last move

    def book_moved(self) -> None:
        """Follow the book, which was scrolled."""
        self._is_beside = not self.memory_stays
        self.memory_stays = False
        self.rows_changed()

    def rows_changed(self) -> None:
        """Keep the memory beside the book, whose rows may stand elsewhere now."""
        follows = self._context.panes.current is not Pane.MEMORY and self._is_beside
        self.show_here(scroll=follows)

    def appeared(self) -> None:
        """Follow the book now that the memory is shown. A hidden pane cannot, without a layout."""
        self.show_here(scroll=True)
        self._context.memory_pane.point_at_here()

    def show_here(self, *, scroll: bool) -> None:
        """Mark the page in view.

        With `scroll`, its gist is level with its beginning in the book, if that stands beside it.
        """
        pane = self._context.memory_pane
        view = self._context.book_pane.last_range
        if view is None:
            return
        offset, end = view
        page = self._page_at(offset)
        first_quarter_end = offset + (end - offset) // _QUARTER
        if page is not None and page.start < offset and page.end < first_quarter_end:
            # Only a few lines are left of this page.
            offset = page.end
            page = self._page_at(offset)
        pane.set_here(offset, scroll=scroll, level=self._level(offset, page))
        self.number_sections()

    def _level(self, offset: int, page: Page | None) -> int:
        """The row of the pane, from 0, for the section that contains `offset`.

        It is level with the beginning of the section in the book. Where the book is not beside
        the memory, or the section is unread and begins above the view, a third of the pane stays
        free for the gists before it. `page`: that section, if the memory has it.
        """
        book, pane = self._context.book_pane, self._context.memory_pane
        below_a_third = pane.size.height // _THIRD
        if self._context.panes.narrow:
            return below_a_third
        memory, view = pane.memory, book.last_range
        if memory is None:
            return 0
        section = Sections(memory).at(offset)
        if section is None:
            return 0
        is_unread = page is None or not memory.entry(page.number).is_read
        if is_unread and view is not None and section.start < view[0]:
            return below_a_third
        rows_above_pane = pane.content_region.y - book.content_region.y
        return max(0, book.row_in_view(section.start) - rows_above_pane)

    def _page_at(self, offset: int) -> Page | None:
        memory = self._context.memory_pane.memory
        if memory is None:
            return None
        return memory.page_at(offset)

    def number_sections(self) -> None:
        """Write the numbers of the sections that begin in view in the book's margin."""
        view = self._context.book_pane.visible_range
        if view is None:
            return
        pane = self._context.memory_pane
        if pane.memory is None:
            self._context.layers.set(Layer.SECTIONS, ())
            return
        top, bottom = view
        entries = pane.memory.entries
        first = bisect_left(entries, top, key=lambda entry: entry.page.start)
        last = bisect_left(entries, bottom, key=lambda entry: entry.page.start)
        marks: list[Mark] = []
        for entry in entries[first:last]:
            page = entry.page
            if entry.is_read and not pane.story.leaves_out(page):
                style = "sign" if page.number == pane.view.here else "muted"
                mark = Mark(
                    page.start,
                    page.start + 1,
                    style="",
                    sign=str(page.number),
                    sign_style=style,
                )
                marks.append(mark)
        self._context.layers.set(Layer.SECTIONS, marks)

    def page_chosen(self, event: MemoryPane.PageChosen) -> None:
        """Show the page that the user moved to in the memory, or go to it in the book."""
        if event.go:
            self._context.navigation.jump(event.start)
            self._context.panes.show(Pane.BOOK)
            return
        # All moves through the memory are one jump, until the book is focused.
        if not self.walking:
            self.walking = True
            self._context.navigation.jumps.record(self._context.place, event.start)
        self._context.navigation.show(event.start)

    def clicked(self, event: Clicked) -> None:
        """Run a command of the guide, open a section, or go to its place in the book."""
        pane, services = self._context.memory_pane, self._context.services
        if isinstance(event.link, str):  # The id of a command
            services.run_command(services.keys[event.link])
            return
        match event.block_key:
            case ("page", int(number)):
                pane.toggle_page(number)
            case ("begun" | "rest", int()):
                pane.go_to_page()

    @property
    def chosen(self) -> int | None:
        """Number of the page under the memory's cursor; in another pane, of the page being read."""
        in_memory = self._context.panes.current is Pane.MEMORY
        if in_memory:
            return self._context.memory_pane.chosen
        return self._context.memory_pane.view.here

    def open(self) -> None:
        """Open or close the chosen page; in a row of pages without gists, go to the first one."""
        pane, panes = self._context.memory_pane, self._context.panes
        key = pane.cursor_key
        is_without_gists = isinstance(key, tuple) and key[0] == "rest"
        if is_without_gists and panes.current is Pane.MEMORY:
            pane.go_to_page()
            return
        number = self._read_page()
        if number is None:
            return
        if panes.narrow:
            panes.show(Pane.MEMORY)
        pane.toggle_page(number)

    def pin(self) -> None:
        """Pin the chosen page or take its pin away, also for a question that runs."""
        pane = self._context.memory_pane
        number = self._read_page()
        if number is None:
            return
        pane.toggle_pin(number)
        if self._context.panes.current is not Pane.MEMORY:
            is_now = "is" if number in pane.view.pinned else "is no longer"
            self._context.notify(f"Section {number} {is_now} pinned.")
        self._pin_for_question(number, pinned=number in pane.view.pinned)

    def _pin_for_question(self, number: int, *, pinned: bool) -> None:
        """Pin a page for the question that runs, or take its pin away."""
        session = self._context.session
        question = self._context.last_question
        shown_memory = self._context.memory_pane.memory
        if session is None or question is None or shown_memory is None:
            return
        # A question numbers sections as its memory did when it began.
        memory = question.memory or shown_memory
        asked_page = memory.page_at(shown_memory.entry(number).page.start)
        if asked_page is None:
            return
        if pinned:
            session.steering.pinned.add(asked_page.number)
        else:
            session.steering.pinned.discard(asked_page.number)

    def _read_page(self) -> int | None:
        """Number of the chosen page; a warning and None if the model has not read it."""
        number, memory = self.chosen, self._context.memory_pane.memory
        if number is None or memory is None or not memory.entry(number).is_read:
            self._context.warn("The model has not read this section yet.")
            return None
        return number
