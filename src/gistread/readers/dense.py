"""Retrieval by meaning: the pages whose vectors are nearest to that of the question.

ReadAgent's baseline of neural retrieval (section 4, beside BM25), with an embedding model that runs here. A page is as
near as the nearest of its passages, so that what it tells in passing counts as much as what it is about. Vectors are
made when they are first needed and kept with the memory (`memory/vectors.py`).
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from gistread.engine.protocol import Engine, Priority
from gistread.errors import NoEmbeddingModelError
from gistread.memory import vectors
from gistread.memory.model import GistMemory
from gistread.readers.events import Prepared, ReaderEvent, Started, Steering
from gistread.readers.options import ReaderOptions
from gistread.readers.over_memory import over_memory
from gistread.readers.text_readers import pages_in_full

NAME = "dense"


@over_memory(NAME)
async def dense(
    question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    """The `max_pages` pages nearest in meaning, in full. See `registry.Reader`."""
    if options.embedder is None:
        raise NoEmbeddingModelError(NAME)
    yield Started(NAME, len(memory.entries), memory.estimated_pages, memory.complete)
    async with aclosing(vectors.build(memory, options.embedder, Priority.INTERACTIVE)) as building:
        async for progress in building:
            yield Prepared("vectors", progress.done, progress.total)
    known = await asyncio.to_thread(vectors.known_vectors, memory, options.embedder.info)
    scores = known.page_scores(await vectors.query_vector(question, options.embedder))
    ranked = sorted(scores, key=lambda number: -scores[number])
    async for told in pages_in_full(NAME, question, ranked, memory, engine, steering, options):
        yield told
