"""Zooms in the memory, and has the model summarise chapters and book for the zoomed-out levels."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gistread.tui.layout import Pane
from gistread.tui.memory_blocks import Zoom, levels_of
from gistread.tui.obstacles import obstacle_message
from gistread.tui.reading.context import ReadingContext
from gistread.tui.text import Clicked
from gistread.units import format_duration

if TYPE_CHECKING:
    from gistread.memory.model import GistMemory
    from gistread.memory.tree import Node

GROWN_S = 1.0
"""How long the zoomed-out memory waits for more pages or summaries before it is redrawn."""


class MemoryZoom:
    def __init__(self, context: ReadingContext) -> None:
        self._context = context
        self._grown = False

    def restore(self, level: str) -> None:
        """Zoom as at the last visit; does nothing for an unknown or empty level."""
        if level in levels_of(self._context.book):
            self._zoom_to(Zoom(level))

    def step(self, step: int) -> None:
        """Zoom in by so many levels; out by a negative number."""
        self.to(self._context.memory_pane.view.zoom.step(step, self._context.book))

    def to(self, level: str) -> None:
        """Zoom to this level, and remember it for this book."""
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
            self._context.warn(obstacle_message(obstacle, self._context.key_hint))
        else:
            self.redraw()

    def clicked(self, event: Clicked) -> bool:
        match event.block_key:
            case ("offer", _):
                self.summarise()
                return True
        return False

    def memory_grew(self) -> None:
        """There are more pages or summaries: redraw what is zoomed out, in a moment."""
        if self._context.memory_pane.view.zoom.coarse and not self._grown:
            self._grown = True
            self._context.screen.set_timer(GROWN_S, self._redraw_grown)

    def _redraw_grown(self) -> None:
        self._grown = False
        self.redraw()

    def redraw(self) -> None:
        """Show another memory, or what has become of this one, at the same level."""
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
        """The nodes that represent the pages, and what the model could summarise, in words."""
        from gistread.memory import tree  # not before a book is on the screen
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
