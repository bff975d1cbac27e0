"""Starts and pauses reading along, and chooses the memory that the model writes.

Whether a model reads along is remembered for each book.
"""

import asyncio
import time
from collections.abc import Collection, Mapping

from gistread.errors import GistreadError, StorageError
from gistread.library.figures import describe_memory
from gistread.memory.model import DEFAULT_FOCUS, GistFocus, parse_task
from gistread.memory.preset_detection import detect_preset
from gistread.memory.store import MemoryHeader
from gistread.presets import Preset, read_presets
from gistread.session.estimate import seconds_to_read_all
from gistread.session.session import Session
from gistread.tui.reading.context import ReadingContext
from gistread.tui.screens.listing import AskScreen, ListScreen, Row
from gistread.units import format_duration

_UNDER_WAY = "\0"  # Id of the row for a memory without sections


class ReadingAlong:
    """What the user decides about the model that reads the book."""

    def __init__(self, context: ReadingContext) -> None:
        self._context = context

    async def toggle(self) -> None:
        """Pause the model, or let it go on at the place that is shown.

        A server that does not answer is tried again at once.
        """
        session = self._session_with_model()
        if session is None:
            return
        if session.waits_for_server:
            session.retry_now()
        elif session.busy:
            await session.pause()
            self._save(session, along=False)
        else:
            self._context.model_place.set(self._context.place)
            session.resume()
            self._save(session, along=True)

    def here(self) -> None:
        """Read the current chapter first."""
        session = self._session_with_model()
        if session is None:
            return
        if session.memory is not None and session.memory.complete:
            self._context.warn("The whole book has been read.")
        else:
            self._context.model_place.set(self._context.place)
            session.read_here()
            self._save(session, along=True)

    async def use_model(self, model: str) -> None:
        """Let this model read the book from now on; none if it is empty."""
        session = self._context.session
        if session is not None:
            await session.use_model(model)
            self._save(session, along=bool(model))

    async def choose_preset(self) -> None:
        """Let the user choose what the book is read as, such as fiction."""
        session = self._session_with_model()
        if session is None:
            return
        folder = self._context.services.paths.presets
        presets, problems = await asyncio.to_thread(read_presets, folder)
        suggested = await asyncio.to_thread(detect_preset, session.book)
        for problem in problems:
            self._context.warn(problem)
        focus = None
        current = ""
        if session.memory is not None:
            focus = session.memory.focus
            current = focus.preset.name

        async def use(name: str) -> None:
            preset = presets[name]
            if focus is None:
                await self._read_for(session, GistFocus(preset))
            elif preset != focus.preset:
                await self._read_for(session, GistFocus(preset, focus.task))

        duration = _duration_note(session)
        note = (
            f"A different preset creates a second memory; this one is kept.{duration}"
        )
        rows = [
            _preset_row(preset, current=current, suggested=suggested)
            for preset in presets.values()
        ]
        at = current or suggested
        self._context.push(ListScreen("Read this book as …", note, rows, at), use)

    async def choose_memory(self) -> None:
        """Let the user choose another memory of this book, or have one made for a question."""
        session = self._context.session
        if session is None:
            return
        try:
            memories = await asyncio.to_thread(session.reading.choice.memories)
        except StorageError as error:
            self._context.warn(str(error))
            return
        headers = {str(header.path): header for header in memories}

        async def use(chosen: str) -> None:
            """Show the memory with this path, or have one made for what was typed."""
            if chosen == _UNDER_WAY:
                return
            header = headers.get(chosen)
            if header is None:
                await self._read_for_task(session, chosen)
            elif session.memory is None or not header.describes(session.memory):
                await session.use_memory(header)

        note = (
            "Gists made for a question keep what bears on it. The model reads the book again; "
            f"existing memories are kept.{_duration_note(session)}"
        )
        shown = [path for path, header in headers.items() if _is_shown(header, session)]
        at = shown[0] if shown else ""
        rows = [*_rows_under_way(session), *_rows_of_saved(headers, shown, session)]
        prompt = "or what you look for, to have it read for that"
        screen = AskScreen("Memories of this book", note, rows, at, placeholder=prompt)
        self._context.push(screen, use)

    async def _read_for_task(self, session: Session, text: str) -> None:
        """Have the book read for what the user typed."""
        if self._session_with_model() is None:
            return
        try:
            task = parse_task(text)
        except GistreadError as error:
            self._context.warn(str(error))
            return
        focus = DEFAULT_FOCUS
        if session.memory is not None:
            focus = session.memory.focus
        await self._read_for(session, GistFocus(focus.preset, task))

    async def _read_for(self, session: Session, focus: GistFocus) -> None:
        await session.use_memory(focus)
        key = self._context.key_hint("choose-memory")
        reading = f"The book is being read {focus.description}."
        self._context.notify(f"{reading} {key} shows its other memories.")

    def _session_with_model(self) -> Session | None:
        """The session, if a model can read.

        Otherwise offer the choice of one, once the book is open.
        """
        session = self._context.session
        if session is None or session.has_model:
            return session
        if not self._context.opening:
            app = self._context.screen.app
            app.call_later(app.run_action, "choose_model")
        return None

    def _save(self, session: Session, *, along: bool) -> None:
        """Remember which model reads this book, and whether it reads along."""
        model = session.models.reading.spec
        self._context.user_data.save(
            lambda data, sha256: data.set_reading_along(sha256, model, along)
        )


def _is_shown(header: MemoryHeader, session: Session) -> bool:
    return session.memory is not None and header.describes(session.memory)


def _preset_row(preset: Preset, *, current: str, suggested: str) -> Row[str]:
    """A preset; `current` and `suggested` are the names of two."""
    mark = "● " if preset.name == current else "  "
    hint = "   suggested" if preset.name == suggested else ""
    return Row(preset.name, f"{mark}{preset.title}{hint}", preset.summary)


def _rows_of_saved(
    headers: Mapping[str, MemoryHeader], shown: Collection[str], session: Session
) -> list[Row[str]]:
    """The saved memories by path, those that are `shown` with a mark."""
    now_s = time.time()
    rows: list[Row[str]] = []
    for path, header in headers.items():
        maker, facts = describe_memory(header, session.book, now_s)
        mark = "● " if path in shown else "  "
        rows.append(Row(path, f"{mark}{maker}", facts))
    return rows


def _rows_under_way(session: Session) -> list[Row[str]]:
    """A row for a memory without a section, which has no file yet."""
    memory = session.memory
    if memory is None or memory.entries:
        return []
    maker = f"● {memory.model_name}, {memory.focus.description}"
    return [Row(_UNDER_WAY, maker, "under way; no section has been read yet")]


def _duration_note(session: Session) -> str:
    """A sentence that says how long the whole book takes; empty if unknown."""
    seconds = seconds_to_read_all(session)
    if seconds is None:
        return ""
    return f" The whole book takes {format_duration(seconds)}."
