"""The model that reads is tried once, beside its reading, and what it is good for is told.

Not while it is loaded and not before the first page is there: a person waits for that. When they ask something the
trial is ended, and begun anew with the next page. Knows no widgets; the session knows nothing of it.
"""

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path

from gistread.engine.model_source import find_source
from gistread.engine.protocol import Engine
from gistread.errors import EngineError
from gistread.memory.check_results import CheckResults
from gistread.memory.model_check import check_model
from gistread.session.events import Notice, PageRead, QuestionAsked, SessionEvent


class Trying:
    """Stands between a session and its listener."""

    def __init__(
        self, tell: Callable[[SessionEvent], None], make_engine: Callable[[str], Engine], verdicts: CheckResults
    ) -> None:
        self._listener = tell
        self._make = make_engine
        self._verdicts = verdicts
        self._engine: Engine | None = None
        self._model = ""
        self._task: asyncio.Task[None] | None = None
        self._done = False
        """For the engine in use."""

    def make_engine(self, model: str) -> Engine:
        """As the function it was given; in a thread."""
        engine = self._make(model)
        self._engine, self._model, self._done = engine, model, False
        return engine

    def tell(self, news: SessionEvent) -> None:
        """Hand on what the session tells."""
        self._listener(news)
        running = self._task is not None and not self._task.done()
        if isinstance(news, QuestionAsked) and self._task is not None and running:
            self._task.cancel()
        elif isinstance(news, PageRead) and self._engine is not None and not self._done and not running:
            self._task = asyncio.create_task(self._try(self._engine, self._model), name="try model")

    async def _try(self, engine: Engine, model: str) -> None:
        # An engine that is closed meanwhile fails, and one that is too slow is tried another time.
        with contextlib.suppress(EngineError):
            info = engine.info
            known = await asyncio.to_thread(self._verdicts.get, info.fingerprint)
            if info.placement is None or known is not None:
                self._done = True
                return
            verdict = await check_model(engine)
            self._done = True
            path = await asyncio.to_thread(_file_of, model)
            await asyncio.to_thread(self._verdicts.save, info.fingerprint, path, verdict)
            self._listener(Notice(f"{info.name}: {verdict.line}."))


def _file_of(model: str) -> Path | None:
    with contextlib.suppress(EngineError):
        return find_source(model).path
    return None
