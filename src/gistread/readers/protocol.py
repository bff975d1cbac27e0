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
        """Answer a question (as `choices.with_options` writes it) in events, the last of them `Answered`.

        Raises EngineError when the engine fails, PromptTooLongError when the question alone is too long,
        BudgetTooSmallError when nothing of the book fits `options.budget_tokens`.
        """
