"""What a reader is: one method of answering questions, as a stream of events."""

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from gistread.engine.protocol import Engine
    from gistread.memory.model import GistMemory
    from gistread.readers.events import ReaderEvent, Steering
    from gistread.readers.options import ReaderOptions


class Reader(Protocol):
    """One method of answering questions."""

    def __call__(
        self,
        question: str,
        memory: "GistMemory",
        engine: "Engine",
        steering: "Steering",
        options: "ReaderOptions",
    ) -> "AsyncGenerator[ReaderEvent, None]":
        """Yield events, the last `Answered`. Raises EngineError, PromptTooLongError, BudgetTooSmallError."""
