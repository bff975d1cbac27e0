"""Loads the model of a new book while the book is being opened."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from gistread.engine.protocol import Engine
from gistread.engine.remote.address import is_address
from gistread.errors import EngineError, GistreadError
from gistread.tui.opening import is_new, model_of_new_book
from gistread.tui.services import AppServices


class ModelAhead:
    """An engine that starts before the session that will use it. Await `close` at the end."""

    def __init__(self, source: Path, services: AppServices) -> None:
        self._source = source
        self._services = services
        self._spec = ""
        self._engine: Engine | None = None  # None also once it has been taken
        self._loading: asyncio.Task[None] | None = None  # Kept, or it may be collected
        self._starting = asyncio.create_task(self._start(), name="model-ahead")

    async def take(self) -> Callable[[str], Engine]:
        """A function that makes the session's engine, or hands over the started one.

        Call it in a thread. It raises EngineError.
        """
        await asyncio.wait({self._starting})
        return self._make

    async def close(self) -> None:
        """Close the engine if nobody has taken it."""
        self._starting.cancel()
        await asyncio.wait({self._starting})
        engine, self._engine = self._engine, None
        if engine is not None:
            await engine.close()

    def _make(self, spec: str) -> Engine:
        """Hand over the started engine if it is of this model; once."""
        engine = self._engine
        if engine is None or spec != self._spec:
            return self._services.make_engine(spec)
        self._engine = None
        return engine

    async def _start(self) -> None:
        """Make the engine and let it load in the background."""
        spec = await asyncio.to_thread(self._expected)
        if not spec:
            return
        # The session meets the error again, and reports it.
        with suppress(GistreadError):
            self._engine = await asyncio.to_thread(self._services.make_engine, spec)
            self._spec = spec
            self._loading = asyncio.create_task(self._load(self._engine))

    async def _load(self, engine: Engine) -> None:
        # The session starts it again, and reports the error.
        with suppress(EngineError):
            await engine.start()

    def _expected(self) -> str:
        """The model that will read the book; empty if it is known already, or on a server."""
        if not is_new(self._source, self._services):
            return ""
        spec = model_of_new_book(self._services)
        return "" if is_address(spec) else spec
