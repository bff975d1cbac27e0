"""What all readers over a memory share: they see the pages read when asked; without any, no model is needed."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

from gistread.engine.protocol import NO_USAGE, Engine
from gistread.memory.model import GistMemory
from gistread.readers.events import Answered, ReaderEvent, Started, Steering, Stopped, StopReason
from gistread.readers.options import ReaderOptions
from gistread.readers.protocol import Reader

NOTHING_READ = "Nothing of the book has been read yet."


def over_memory(name: str, reader: Reader) -> Reader:
    """This reader over a copy of the memory, or an answer that nothing has been read."""

    async def ask(
        question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
    ) -> AsyncGenerator[ReaderEvent, None]:
        if not memory.entries:
            yield Started(name, 0, memory.estimated_pages, complete=False)
            yield Stopped(StopReason.NOTHING_LEFT)
            yield Answered(NOTHING_READ, False, (), (), (), 0.0, NO_USAGE)
            return
        snapshot = replace(memory, entries=list(memory.entries))
        async with aclosing(reader(question, snapshot, engine, steering, options)) as events:
            async for event in events:
                yield event

    return ask
