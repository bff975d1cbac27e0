"""Pages of the memory: opening, pinning, walking through them, and scrolling together with the book."""

from gistread.tui.layout import Pane
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.navigation import Navigation
from gistread.tui.text import Clicked
from gistread.tui.widgets.memory_pane import MemoryPane


class MemoryPages:
    def __init__(self, context: ReadingContext, navigation: Navigation) -> None:
        self._context = context
        self._navigation = navigation
        self._memory_stays = False
        self._walking = False  # the book scrolls because the person walks through the memory: one step for the way back

    @property
    def following(self) -> bool:
        """Whether book and memory scroll together."""
        return self._context.services.config.follow

    def toggle_follow(self) -> None:
        self._context.services.settings.set("follow", not self.following)
        self._context.notify("Book and memory scroll together." if self.following else "Panes scroll separately.")
        self._context.refresh()

    def keep_memory_in_place(self) -> None:
        """The next move of the book leaves the memory where it is."""
        self._memory_stays = True

    def book_moved(self, offset: int) -> None:
        """Another character of the book is the first in view."""
        scroll = self.following and self._context.panes.current is not Pane.MEMORY and not self._memory_stays
        self._memory_stays = False
        self._context.memory_pane.set_here(offset, scroll=scroll)

    def book_focused(self) -> None:
        self._walking = False

    def walked(self, event: MemoryPane.PageChosen) -> None:
        """The person walked to a page of the memory, or goes to it in the book."""
        if event.go:
            self._navigation.jump(event.page.start)
            self._context.panes.show(Pane.BOOK)
        elif self.following:
            if not self._walking:
                self._walking = True
                self._navigation.jumps.leave(self._context.place, event.page.start)
            self._context.book_pane.scroll_to_offset(event.page.start)

    def clicked(self, event: Clicked) -> bool:
        match event.block_key:
            case ("page", int(number)):
                self._context.memory_pane.toggle_page(number)
            case ("part", int()):
                self._context.memory_pane.action_go_to_page()
            case _:
                return False
        return True

    @property
    def chosen(self) -> int | None:
        """Number of the page under the memory's cursor, or of the one being read in the book."""
        in_memory = self._context.panes.current is Pane.MEMORY
        return self._context.memory_pane.chosen if in_memory else self._context.memory_pane.view.here

    def open(self) -> None:
        """Open or close the chosen page; zoomed out, go to it in the book."""
        pane = self._context.memory_pane
        if self._context.panes.current is Pane.MEMORY and pane.view.zoom.coarse:
            pane.action_go_to_page()
        elif (number := self._read_page()) is not None:
            pane.toggle_page(number)

    def pin(self) -> None:
        pane = self._context.memory_pane
        if self._context.panes.current is Pane.MEMORY and pane.view.zoom.coarse:
            self._context.warn("Zoom in to choose a page.")
            return
        if (number := self._read_page()) is None:
            return
        pane.toggle_pin(number)
        session = self._context.session
        if session is not None and session.answering:
            session.steering.pinned = set(pane.view.pinned)

    def _read_page(self) -> int | None:
        """The chosen page, if the model has read it; otherwise a warning."""
        number, memory = self.chosen, self._context.memory_pane.memory
        if number is None or memory is None or number > len(memory.entries):
            self._context.warn("The model has not read this page yet.")
            return None
        return number
