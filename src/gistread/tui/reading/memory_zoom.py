"""Looking at the memory from nearer by or farther away, and letting the model make what is missing for it.

A part of the reading screen: keys, clicks and the lines above the memory. What is shown at a level is known by the
memory pane and its blocks, what stands for a chapter by the memory's tree.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from textual import on
from textual.content import Content

from gistread.tui.commands import BY_ID, keys_of
from gistread.tui.layout import WIDE_COLUMNS, Pane
from gistread.tui.memory_blocks import Zoom, levels_of
from gistread.tui.obstacles import obstacle_message
from gistread.tui.reading.moving import Moving
from gistread.tui.text.messages import Clicked
from gistread.tui.widgets.lines import Choices, Line
from gistread.tui.widgets.memory_pane import MemoryPane
from gistread.units import format_duration

if TYPE_CHECKING:
    from gistread.memory.model import GistMemory
    from gistread.memory.tree import Node
    from gistread.session.session import Session
    from gistread.tui.app import GistreadApp
    from gistread.tui.reading.reading_position import Keeping

GROWN_S = 1.0
"""How long what stands for the chapters waits for more pages or gists before it is put together anew."""


class MemoryZoom(Moving):
    """What a screen with a memory pane needs to zoom in it. The screen composes the lines above the pane."""

    session: "Session | None"
    keeping: "Keeping | None"
    follow: bool

    def __init__(self) -> None:
        super().__init__()
        self._grown = False

    # The lines above the memory

    @on(MemoryPane.Changed)
    def show_memory_header(self) -> None:
        """How much is read and how much shorter it is; from how far away one looks."""
        memory = self.memory_pane.memory
        parts = ["MEMORY"]
        if memory is not None and memory.entries:
            of = "" if memory.complete else f" of ~{memory.estimated_pages}"
            parts.append(f"{len(memory.entries)}{of} pages")
            parts.append(f"{memory.compression_rate(self.memory_pane.view.opened):.0f}% shorter")
        if not self.follow:
            parts.append("not following")
        content = Content.assemble((parts[0], "bold"), ("   " + " · ".join(parts[1:]), "$gr-muted"))
        self.query_one("#memory-header", Line).show(parts, content)
        self.set_class(bool(memory and memory.entries), "-zoom")
        keymap = cast("GistreadApp", self.app).keymap
        farther, nearer = (keys_of(BY_ID[name], keymap)[0] for name in ("zoom-out", "zoom-in"))
        if memory is None:
            return
        zooms = levels_of(memory.book)
        levels = [(zoom.said(memory.book), f"zoom_to('{zoom}')") for zoom in zooms]
        chosen = zooms.index(self.memory_pane.view.zoom)
        steps = ((farther, "zoom(-1)"), (nearer, "zoom(1)"))
        self.query_one("#memory-zoom", Choices).show_choices(levels, chosen, steps)

    # From how far away

    def begin_zoom(self, kept: str) -> None:
        """Look at the memory as at another time."""
        if self.book is not None and kept in levels_of(self.book):
            self._look_from(Zoom(kept))

    def action_zoom(self, step: int) -> None:
        """So many steps nearer."""
        if self.book is not None:
            self.action_zoom_to(self.memory_pane.view.zoom.step(step, self.book))

    def action_zoom_to(self, level: str) -> None:
        """To this level, and remember it for this book."""
        if self.memory_pane.memory is None or not self.memory_pane.memory.entries:
            self.warn("No page has been read yet.")
            return
        if self.size.width < WIDE_COLUMNS and self.pane is not Pane.MEMORY:
            self.to_pane(Pane.MEMORY)
        self._look_from(Zoom(level))
        if self.keeping is not None:
            self.keeping.zoom(level)

    def _look_from(self, zoom: Zoom) -> None:
        self.run_worker(self._zoom(zoom), group="zoom", exclusive=True)

    async def _zoom(self, zoom: Zoom) -> None:
        memory = self.memory_pane.memory
        if memory is None or not memory.entries or not zoom.coarse:
            self.memory_pane.zoom_to(zoom)
            return
        parts, offer = await self._parts(replace(memory, entries=list(memory.entries)), zoom)
        if self.memory_pane.memory is memory:
            self.memory_pane.zoom_to(zoom, parts, offer)

    async def _parts(self, memory: "GistMemory", zoom: Zoom) -> tuple[Sequence["Node"], str]:
        """What stands for the pages, and what the model could do about it."""
        from gistread.memory import tree  # not before a book is on the screen
        from gistread.memory.artifacts import ALL_SUMMARIES

        top = await asyncio.to_thread(tree.current_tree, memory)
        match zoom:
            case Zoom.BOOK:
                parts = [top]
            case Zoom.VOLUME:
                parts = tree.volumes(memory, top)
            case _:
                parts = tree.chapters(memory, top)
        unmade = sum(not part.made for part in parts)
        if not unmade:
            return parts, ""
        told = "This is" if zoom is Zoom.BOOK else f"{unmade} of {len(parts)} are"
        if self.session and self.session.building:
            return parts, f"{told} told in sentences of the gists. The model is shortening them."
        key = keys_of(BY_ID["make-coarser"], cast("GistreadApp", self.app).keymap)[0]
        seconds = await self.session.seconds_to_build(ALL_SUMMARIES) if self.session else None
        about = f" ({format_duration(seconds)})" if seconds else ""
        return parts, f"{told} told in sentences of the gists. {key} lets the model shorten them{about}."

    # What the model makes

    def action_make_coarser(self) -> None:
        """Let the model make the gists of chapters, parts and the book that are missing."""
        from gistread.memory.artifacts import ALL_SUMMARIES

        if self.session is None:
            self.warn("The book is still being opened.")
        elif obstacle := self.session.build_artifacts(ALL_SUMMARIES):
            self.warn(obstacle_message(obstacle, cast("GistreadApp", self.app).keymap))
        else:
            self.look_again()

    def memory_grew(self) -> None:
        """There are more pages, or more gists of chapters: what is shown of them is out of date."""
        if self.memory_pane.view.zoom.coarse and not self._grown:
            self._grown = True
            self.set_timer(GROWN_S, self._show_grown)

    def _show_grown(self) -> None:
        self._grown = False
        self.look_again()

    def look_again(self) -> None:
        """At another memory, or at what has become of this one."""
        if self.memory_pane.view.zoom.coarse:
            self._look_from(self.memory_pane.view.zoom)

    @on(Clicked, "#memory")
    def _part_clicked(self, event: Clicked) -> None:
        match event.block_key:
            case ("part", int()):
                self.memory_pane.action_go_to_page()
            case ("offer", _):
                self.action_make_coarser()
