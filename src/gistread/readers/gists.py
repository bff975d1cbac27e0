"""The gist memory alone: what the gists say, without a look into the book (ReadAgent, section 4: "gist memory only").

Pages that the person opens stand in full, as with every reader over the memory.
"""

from collections.abc import AsyncGenerator

from gistread.engine.protocol import Engine
from gistread.memory.model import GistMemory
from gistread.readers.events import ReaderEvent, Steering, Stopped, StopReason
from gistread.readers.lookups import answer, apply_steering, opening_events, start_search
from gistread.readers.options import ReaderOptions
from gistread.readers.over_memory import over_memory

NAME = "gists"


@over_memory(NAME)
async def gists(
    question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    """Answer `question` from the gists. See `registry.Reader`."""
    search = await start_search(question, memory, engine, steering, options, max_pages=0)
    for said in opening_events(NAME, search):
        yield said
    async for opened in apply_steering(search, steering):
        yield opened
    yield Stopped(StopReason.NOTHING_LEFT)
    async for event in answer(search):
        yield event
