"""A session on fake models, and all that it tells."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from gistread.book.model import Book
from gistread.config import Config
from gistread.engine.protocol import Engine
from gistread.session.events import SessionEvent
from gistread.session.session import Session
from tests.folders import paths_in
from tests.tui.books import small_book

CONFIG = Config(min_words=40, max_words=90)
E = TypeVar("E", bound=SessionEvent)


class EventLog(list[SessionEvent]):
    """Everything a session told, and a way to wait for what it tells next."""

    def __init__(self) -> None:
        super().__init__()
        self._grown = asyncio.Event()

    def append(self, event: SessionEvent) -> None:
        super().append(event)
        self._grown.set()

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self if isinstance(event, kind)]

    async def until(self, holds: Callable[[], object]) -> None:
        """Look again with every event."""
        async with asyncio.timeout(30):
            while not holds():
                self._grown.clear()
                await self._grown.wait()


def session_on(
    folder: Path,
    engine: Engine | Callable[[str], Engine],
    book: Book | None = None,
    config: Config = CONFIG,
    place: Callable[[], int] = lambda: 0,
) -> tuple[Session, EventLog]:
    """A session that reads on by itself, as a screen's does."""
    log = EventLog()
    session = Session(
        book or small_book(),
        config=config,
        paths=paths_in(folder),
        listener=log.append,
        background=True,
        make_engine=engine if callable(engine) else lambda _: engine,
        place=place,
    )
    return session, log


async def settle(session: Session) -> None:
    """Until everything that was asked of the session so far has had its effect."""
    await session.show_saved_memory()
