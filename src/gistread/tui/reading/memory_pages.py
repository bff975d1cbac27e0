"""The memory's pages (open, pin, move, scroll with the book) and its zoom levels."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gistread.tui.commands import BY_ID
from gistread.tui.layout import Pane
from gistread.tui.memory_blocks import Zoom, levels_of
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.navigation import Navigation
from gistread.tui.text import Clicked
from gistread.tui.widgets.memory_pane import MemoryPane
from gistread.units import format_duration

if TYPE_CHECKING:
    from gistread.memory.model import GistMemory
    from gistread.memory.tree import Node


class MemoryPages:
    def __init__(self, context: ReadingContext, navigation: Navigation) -> None:
        self._context = context
        self._navigation = navigation
        self._memory_stays = False
        self.shows_ahead = False  # whether gists of the text ahead are shown
        self._walking = False  # the person moves through the memory, and the book follows: one jump in the history

    @property
    def following(self) -> bool:
        return self._context.services.config.follow

    def toggle_follow(self) -> None:
        self._context.services.settings.set("follow", not self.following)
        self._context.notify("Book and memory scroll together." if self.following else "Panes scroll separately.")
        self._context.refresh()

    def keep_memory_in_place(self) -> None:
        """Do not scroll the memory at the book's next move."""
        self._memory_stays = True

    def book_moved(self, offset: int) -> None:
        scroll = self.following and self._context.panes.current is not Pane.MEMORY and not self._memory_stays
        self._memory_stays = False
        self._context.memory_pane.set_here(offset, scroll=scroll)

    def book_focused(self) -> None:
        self._walking = False

    def page_chosen(self, event: MemoryPane.PageChosen) -> None:
        """The person moved to a page of the memory, or goes to it in the book."""
        if event.go:
            self._navigation.jump(event.page.start)
            self._context.panes.show(Pane.BOOK)
        elif self.following:
            if not self._walking:
                self._walking = True
                self._navigation.jumps.leave(self._context.place, event.page.start)
            self._navigation.show(event.page.start)

    def clicked(self, event: Clicked) -> bool:
        pane, app = self._context.memory_pane, self._context.screen.app
        if isinstance(event.link, str) and (command := BY_ID.get(event.link)):
            app.call_later(app.run_action, command.action, self._context.screen)
            return True
        match event.block_key:
            case ("page" | "part" | "ahead" | "begun", int()) if pane.reveal():
                pass
            case ("page", int(number)):
                pane.toggle_page(number)
            case ("part" | "ahead" | "begun", int()):
                pane.action_go_to_page()
            case _:
                return False
        return True

    @property
    def chosen(self) -> int | None:
        """Number of the page under the memory's cursor; in another pane, of the page being read."""
        in_memory = self._context.panes.current is Pane.MEMORY
        return self._context.memory_pane.chosen if in_memory else self._context.memory_pane.view.here

    def open(self) -> None:
        """Open or close the chosen page; zoomed out, go to it in the book."""
        pane = self._context.memory_pane
        if self._context.panes.current is Pane.MEMORY and pane.reveal():
            return
        ahead = isinstance(pane.cursor_key, tuple) and pane.cursor_key[0] == "ahead"
        if self._context.panes.current is Pane.MEMORY and (pane.view.zoom.coarse or ahead):
            pane.action_go_to_page()
        elif (number := self._read_page()) is not None:
            if self._context.panes.narrow:
                self._context.panes.show(Pane.MEMORY)
            pane.toggle_page(number)

    def toggle_ahead(self) -> None:
        """Show or blur what the memory says of the text ahead, until the book is closed."""
        self.shows_ahead = not self.shows_ahead
        self._context.memory_pane.view.revealed.clear()
        self._context.notify(f"What the memory says of the text ahead is {'shown' if self.shows_ahead else 'shaded'}.")
        self._context.refresh()

    def pin(self) -> None:
        pane = self._context.memory_pane
        if self._context.panes.current is Pane.MEMORY and pane.view.zoom.coarse:
            self._context.warn("Zoom in to choose a page.")
            return
        if (number := self._read_page()) is None:
            return
        pane.toggle_pin(number)
        if self._context.panes.current is not Pane.MEMORY:
            self._context.notify(f"Page {number} is {'' if number in pane.view.pinned else 'no longer '}pinned.")
        session = self._context.session
        if session is not None and session.answering:
            pinned = session.steering.pinned
            (pinned.add if number in pane.view.pinned else pinned.discard)(number)

    def _read_page(self) -> int | None:
        number, memory = self.chosen, self._context.memory_pane.memory
        if number is None or memory is None or number > len(memory.entries):
            self._context.warn("The model has not read this page yet.")
            return None
        return number


GROWN_S = 1.0  # time between redraws of the zoomed-out memory while pages or summaries are added


class MemoryZoom:
    def __init__(self, context: ReadingContext) -> None:
        self._context = context
        self._grown = False

    def restore(self, level: str) -> None:
        """Restore a saved zoom level; ignores an unknown or empty one."""
        if level in levels_of(self._context.book):
            self._zoom_to(Zoom(level))

    def step(self, step: int) -> None:
        self.to(self._context.memory_pane.view.zoom.step(step, self._context.book))

    def to(self, level: str) -> None:
        context = self._context
        if context.memory_pane.memory is None or not context.memory_pane.memory.entries:
            context.warn("No page has been read yet.")
            return
        if context.panes.narrow and context.panes.current is not Pane.MEMORY:
            context.panes.show(Pane.MEMORY)
        self._zoom_to(Zoom(level))
        context.user_data.save_zoom(level)

    def summarise(self) -> None:
        """Let the model write the missing summaries of chapters, volumes and book."""
        from gistread.memory.artifacts import ALL_SUMMARIES

        session = self._context.session
        if session is None:
            self._context.warn("The book is still being opened.")
        elif obstacle := session.build_artifacts(ALL_SUMMARIES):
            self._context.warn_of(obstacle)
        else:
            self.redraw()

    def clicked(self, event: Clicked) -> bool:
        match event.block_key:
            case ("offer", _):
                self.summarise()
                return True
        return False

    def memory_grew(self) -> None:
        """Redraw the zoomed-out memory soon, after pages or summaries were added."""
        if self._context.memory_pane.view.zoom.coarse and not self._grown:
            self._grown = True
            self._context.screen.set_timer(GROWN_S, self._redraw_grown)

    def _redraw_grown(self) -> None:
        self._grown = False
        self.redraw()

    def redraw(self) -> None:
        """Redraw the zoomed-out memory, changed or replaced, at the same level."""
        if self._context.memory_pane.view.zoom.coarse:
            self._zoom_to(self._context.memory_pane.view.zoom)

    def _zoom_to(self, zoom: Zoom) -> None:
        self._context.screen.run_worker(self._show(zoom), group="zoom", exclusive=True)

    async def _show(self, zoom: Zoom) -> None:
        pane = self._context.memory_pane
        memory = pane.memory
        if memory is None or not memory.entries or not zoom.coarse:
            pane.zoom_to(zoom)
            return
        parts, offer = await self._parts(replace(memory, entries=list(memory.entries)), zoom)
        if pane.memory is memory:
            pane.zoom_to(zoom, parts, offer)

    async def _parts(self, memory: "GistMemory", zoom: Zoom) -> "tuple[Sequence[Node], str]":
        from gistread.memory import tree  # after the book is on the screen
        from gistread.memory.artifacts import ALL_SUMMARIES

        session = self._context.session
        top = await asyncio.to_thread(tree.current_tree, memory)
        match zoom:
            case Zoom.BOOK:
                parts = [top]
            case Zoom.VOLUME:
                parts = tree.volumes(memory, top)
            case _:
                parts = tree.chapters(memory, top)
        missing = sum(not part.made for part in parts)
        if not missing:
            return parts, ""
        which = "This is" if zoom is Zoom.BOOK else f"{missing} of {len(parts)} are"
        text = f"{which} put together from sentences of the gists."
        if session and session.building:
            return parts, f"{text} The model is writing summaries."
        seconds = await session.seconds_to_build(ALL_SUMMARIES) if session else None
        time = f" ({format_duration(seconds)})" if seconds else ""
        return parts, f"{text} {self._context.key_hint('make-coarser')} lets the model summarise{time}."
