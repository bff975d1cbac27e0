"""Readers: each one method of answering questions about a book, all with the same signature.

A reader is handed a question, a memory and an engine, and speaks in events (design D7), the last of them
`Answered`. The person beside it changes `Steering` at any time. Closing the generator stops it at once.
"""

from collections.abc import AsyncGenerator, Mapping
from types import MappingProxyType
from typing import Protocol

from gistread.engine.protocol import Engine
from gistread.memory.model import GistMemory
from gistread.readers.events import ReaderEvent, Steering
from gistread.readers.options import ReaderOptions
from gistread.readers.readagent_s import readagent_s

__all__ = ["DEFAULT_READER", "READERS", "Reader", "ReaderOptions"]


class Reader(Protocol):
    """One method of answering."""

    def __call__(
        self, question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
    ) -> AsyncGenerator[ReaderEvent, None]:
        """Raises EngineError when the engine fails, PromptTooLongError when the question alone is too long."""


DEFAULT_READER = "readagent-s"
READERS: Mapping[str, Reader] = MappingProxyType({DEFAULT_READER: readagent_s})
"""Every reader by the name that `--reader` takes."""
