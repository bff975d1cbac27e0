"""Lets the person choose a memory of the book, or the preset and task of a new one."""

import asyncio
import time
from typing import TYPE_CHECKING

from gistread.errors import GistreadError, StorageError
from gistread.session.events import Obstacle
from gistread.tui.reading.context import ReadingContext
from gistread.units import format_duration

if TYPE_CHECKING:
    from gistread.memory.focus import GistFocus
    from gistread.session.session import Session


_UNDER_WAY = "\0"  # id of the row for a memory without pages


class MemoryPicker:
    def __init__(self, context: ReadingContext) -> None:
        self._context = context

    async def choose_preset(self) -> None:
        from gistread.memory.preset_detection import detect_preset
        from gistread.tui.screens.listing import ListScreen, Row

        session = self._session_with_model()
        if session is None:
            return
        presets, problems = await asyncio.to_thread(session.presets)
        suggested = await asyncio.to_thread(detect_preset, session.book)
        for problem in problems:
            self._context.warn(problem)
        focus = session.memory.focus if session.memory is not None else None

        async def use(name: str) -> None:
            from gistread.memory.focus import GistFocus

            if focus is None or presets[name] != focus.preset:
                await self._read_for(session, GistFocus(presets[name], focus.task if focus is not None else ""))

        note = f"A different preset creates a second memory; this one is kept.{_time(session)}"
        current = focus.preset.name if focus else ""
        rows = []
        for preset in presets.values():
            mark = "● " if preset.name == current else ""
            hint = "   suggested" if preset.name == suggested else ""
            rows.append(Row(preset.name, f"{mark}{preset.title}{hint}", preset.summary))
        self._context.push(ListScreen("Read this book as …", note, rows, current or suggested), use)

    async def read_for(self) -> None:
        from gistread.tui.screens.listing import ListScreen

        session = self._session_with_model()
        if session is None:
            return

        async def use(task: str) -> None:
            await self._read_for_task(session, task)

        note = f"The model reads the book again and keeps what bears on it; other memories stay.{_time(session)}"
        self._context.push(ListScreen("Read this book for a question", note, prompt="what you look for"), use)

    async def choose_memory(self) -> None:
        from gistread.library.text import describe_memory
        from gistread.tui.screens.listing import ListScreen, Row

        session = self._context.session
        if session is None:
            return
        try:
            headers = {str(header.path): header for header in await asyncio.to_thread(session.memories)}
        except StorageError as error:
            self._context.warn(str(error))
            return

        async def use(chosen: str) -> None:
            if chosen == _UNDER_WAY:
                return
            if (header := headers.get(chosen)) is None:
                await self._read_for_task(session, chosen)
            elif session.memory is None or not header.describes(session.memory):
                await session.use_memory(header)

        note = (
            "Gists made for a question keep what bears on it. The model reads the book again; "
            f"existing memories are kept.{_time(session)}"
        )
        rows, at, now_s = [], "", time.time()
        if session.memory is not None and not session.memory.entries:
            what = f"● {session.memory.model_name}, {session.memory.focus.description}"
            rows.append(Row(_UNDER_WAY, what, "under way; no page has been read yet"))
        for path, header in headers.items():
            if shown := session.memory is not None and header.describes(session.memory):
                at = at or path
            who, facts = describe_memory(header, session.book, now_s)
            rows.append(Row(path, ("● " if shown else "") + who, facts))
        prompt = "or what you look for, to have it read for that"
        self._context.push(ListScreen("Memories of this book", note, rows, at, prompt=prompt), use)

    async def _read_for_task(self, session: "Session", text: str) -> None:
        from gistread.memory.focus import DEFAULT_FOCUS, GistFocus, parse_task

        if self._session_with_model() is None:
            return
        try:
            task = parse_task(text)
        except GistreadError as error:
            self._context.warn(str(error))
            return
        focus = session.memory.focus if session.memory is not None else DEFAULT_FOCUS
        await self._read_for(session, GistFocus(focus.preset, task))

    async def _read_for(self, session: "Session", focus: "GistFocus") -> None:
        await session.use_memory(focus)
        key = self._context.key_hint("choose-memory")
        self._context.notify(f"The book is being read {focus.description}. {key} shows its other memories.")

    def _session_with_model(self) -> "Session | None":
        session = self._context.session
        if session is None or not session.has_model:
            self._context.warn_of(Obstacle.NO_MODEL)
            return None
        return session


def _time(session: "Session") -> str:
    seconds = session.seconds_to_read()
    return f" The whole book takes {format_duration(seconds)}." if seconds is not None else ""
