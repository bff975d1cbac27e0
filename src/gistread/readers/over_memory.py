"""What holds for every reader that answers from a gist memory, whatever it does with it.

It is asked over the pages that had been read when the question was asked: the book may be read on meanwhile. Where
there are none, the answer is that, and no model is needed for it.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
from functools import wraps

from gistread.engine.protocol import NO_USAGE, Engine
from gistread.memory.model import GistMemory
from gistread.readers.events import Answered, ReaderEvent, Started, Steering, Stopped, StopReason
from gistread.readers.options import ReaderOptions
from gistread.readers.registry import Reader

NOTHING_READ = "Nothing of the book has been read yet."
"""The answer to a question over an empty memory."""


def over_memory(name: str) -> Callable[[Reader], Reader]:
    """For the reader of this name."""

    def held_to(reader: Reader) -> Reader:
        @wraps(reader)
        async def ask(
            question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
        ) -> AsyncGenerator[ReaderEvent, None]:
            if not memory.entries:
                yield Started(name, 0, memory.estimated_pages, complete=False)
                yield Stopped(StopReason.NOTHING_LEFT)
                yield Answered(NOTHING_READ, False, (), (), (), 0.0, NO_USAGE)
                return
            as_read = replace(memory, entries=list(memory.entries))
            async with aclosing(reader(question, as_read, engine, steering, options)) as events:
                async for event in events:
                    yield event

        return ask

    return held_to
