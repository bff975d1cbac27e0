"""Which memory of the book is on the screen, and what the model reads the book as and for.

A part of the reading screen. What becomes of a choice is the session's affair.
"""

import asyncio
from typing import TYPE_CHECKING

from textual import events, on
from textual.content import Content

from gistread.errors import GistreadError
from gistread.presets import FICTION
from gistread.tui.reading.moving import Moving
from gistread.tui.text.cells import clean
from gistread.tui.widgets.lines import Line
from gistread.units import format_duration

if TYPE_CHECKING:
    from gistread.memory.focus import GistFocus
    from gistread.session.session import Session

_NO_MODEL = "There is no model yet: press m to choose one."


class MemoryPicker(Moving):
    """What a screen with a session needs to go from one memory of its book to another."""

    session: "Session | None"

    async def action_choose_preset(self) -> None:
        """What the book is read as."""
        from gistread.memory.preset_detection import detect_preset
        from gistread.tui.screens.preset import PresetScreen

        session = self._session_with_model()
        if session is None:
            return
        presets, problems = await asyncio.to_thread(session.presets)
        suits = await asyncio.to_thread(detect_preset, session.book)
        for problem in problems:
            self.warn(problem)
        focus = session.memory.focus if session.memory is not None else None

        async def use(name: str | None) -> None:
            from gistread.memory.focus import GistFocus

            if name is not None and (focus is None or presets[name] != focus.preset):
                await self._read_for(session, GistFocus(presets[name], focus.task if focus is not None else ""))

        note = f"Another one makes another memory, and the one there is stays.{_time(session)}"
        await self.app.push_screen(PresetScreen(presets.values(), focus.preset.name if focus else "", suits, note), use)

    async def action_choose_memory(self) -> None:
        """Every memory of the book."""
        await self._show_memories(typing=False)

    async def action_read_for(self) -> None:
        """A question or a task that the book is read for."""
        if self._session_with_model() is not None:
            await self._show_memories(typing=True)

    def show_maker(self) -> None:
        """Under the memory's header: who made it, as what and for what, where that does not go without saying."""
        memory = self.memory_pane.memory
        parts = []
        if self.session is not None and (reader := self.session.read_by):
            parts.append(f"read by {reader}")
        if memory is not None and memory.focus.preset != FICTION:
            parts.append(f"as {memory.focus.preset.title}")
        if memory is not None and memory.focus.task:
            parts.append(f"to find out: {memory.focus.task}")
        self.set_class(bool(parts), "-aim")
        self.query_one("#memory-aim", Line).show(parts, Content(clean(" · ".join(parts))))

    @on(events.Click, "#memory-header, #memory-aim")
    async def _header_clicked(self) -> None:
        await self.action_choose_memory()

    async def _show_memories(self, *, typing: bool) -> None:
        from gistread.tui.screens.memories import MemoriesScreen

        session = self.session
        if session is None:
            return
        headers = {str(header.path): header for header in await asyncio.to_thread(session.memories)}

        async def use(chosen: str | None) -> None:
            if chosen is None:
                return
            if (header := headers.get(chosen)) is None:
                await self._read_for_task(session, chosen)
            elif session.memory is None or not header.describes(session.memory):
                await session.use_memory(header)

        note = (
            "Gists made for a question keep what bears on it. The model reads the book again, and what there is stays."
        )
        await self.app.push_screen(
            MemoriesScreen(
                session.book, list(headers.values()), session.memory, f"{note}{_time(session)}", typing=typing
            ),
            use,
        )

    async def _read_for_task(self, session: "Session", text: str) -> None:
        from gistread.memory.focus import DEFAULT_FOCUS, GistFocus, parse_task

        if self._session_with_model() is None:
            return
        try:
            task = parse_task(text)
        except GistreadError as error:
            self.warn(str(error))
            return
        of_book = session.memory.focus if session.memory is not None else DEFAULT_FOCUS
        await self._read_for(session, GistFocus(of_book.preset, task))

    async def _read_for(self, session: "Session", focus: "GistFocus") -> None:
        await session.use_focus(focus)
        self.notify(f"The book is read {focus.description}. C leads to the other memories.")

    def _session_with_model(self) -> "Session | None":
        if self.session is None or not self.session.has_model:
            self.warn(_NO_MODEL)
            return None
        return self.session


def _time(session: "Session") -> str:
    seconds = session.seconds_to_read()
    return f" The whole book takes {format_duration(seconds)}." if seconds is not None else ""
