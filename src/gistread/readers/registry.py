"""What a reader is, and every reader by its name."""

from collections.abc import AsyncGenerator, Mapping
from types import MappingProxyType
from typing import Protocol

from gistread.engine.protocol import Engine
from gistread.memory.model import GistMemory
from gistread.readers.events import ReaderEvent, Steering
from gistread.readers.options import ReaderOptions
from gistread.readers.readagent_s import readagent_s


class Reader(Protocol):
    """One method of answering."""

    def __call__(
        self, question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
    ) -> AsyncGenerator[ReaderEvent, None]:
        """Raises EngineError when the engine fails, PromptTooLongError when the question alone is too long."""


DEFAULT_READER = "readagent-s"
READERS: Mapping[str, Reader] = MappingProxyType({DEFAULT_READER: readagent_s})
"""Every reader by the name that `--reader` takes."""
