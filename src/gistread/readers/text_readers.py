"""Readers that see the book's own text instead of gists: the baselines that every other reader is compared with.

`bm25` and `dense`: the pages nearest to the question by words or by meaning, as in ReadAgent's tables (section 4).
`dos`: passages by relevance up to the budget, in the order of the book (DOS RAG, arXiv 2506.03989). `full`: as much of
the book as fits. `closed-book`: no text, to measure what the model already knows. The last three need no memory.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from gistread.engine.protocol import Engine, Priority
from gistread.errors import NoEmbeddingModelError
from gistread.memory.model import GistMemory
from gistread.memory.passages import split_into_passages
from gistread.readers.book_text import BookText, opening_event, overlaps, rank_passages, share_of
from gistread.readers.events import LookedUp, OpenedBy, Prepared, ReaderEvent, Started, Stopped, StopReason
from gistread.readers.protocol import ReaderOptions
from gistread.readers.steering import Steering

DOS_TOKENS = 4096  # Default budget of `dos`: more takes a laptop minutes


async def bm25(
    question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    """The `max_pages` pages nearest to the question, in full. See `registry.Reader`."""
    pages = {(entry.page.start, entry.page.end): entry.page.number for entry in memory.entries}
    order = [pages[place] for place in await rank_passages(question, list(pages), memory.book)]
    text = BookText("bm25", question, memory, engine, options)
    async for event in _pages_in_full(text, order, memory, steering, options, starts=True):
        yield event


async def dense(
    question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    """The `max_pages` pages nearest in meaning, in full, by their nearest passage. See `registry.Reader`."""
    from gistread.memory import vectors  # imports NumPy, which other readers here may not need

    if options.embedder is None:
        raise NoEmbeddingModelError("dense")
    yield Started("dense", len(memory.entries), memory.estimated_pages, memory.complete)
    async with aclosing(vectors.build(memory, options.embedder, Priority.INTERACTIVE)) as building:
        async for progress in building:
            yield Prepared("vectors", progress.done, progress.total)
    known = await asyncio.to_thread(vectors.known_vectors, memory, options.embedder.info)
    scores = known.page_scores(await vectors.query_vector(question, options.embedder))
    text = BookText("dense", question, memory, engine, options)
    order = sorted(scores, key=lambda number: -scores[number])
    async for event in _pages_in_full(text, order, memory, steering, options):
        yield event


async def _pages_in_full(
    text: BookText,
    order: Sequence[int],
    memory: GistMemory,
    steering: Steering,
    options: ReaderOptions,
    *,
    starts: bool = False,
) -> AsyncGenerator[ReaderEvent, None]:
    """Answer from the pinned pages and the first `max_pages` of `order`. `starts`: begin with `Started`."""
    places = {entry.page.number: (entry.page.start, entry.page.end) for entry in memory.entries}
    nearest = [places[number] for number in order]
    async for said in text.select(nearest, steering, options.budget_tokens, most=options.max_pages):
        yield said
    shown = text.shown
    pinned = [number for number in places if number in steering.pinned - steering.refused]
    free = [number for number in order if number not in steering.refused | steering.pinned]
    wanted = [] if steering.only else free[: options.max_pages]
    opened = [number for number in wanted if overlaps(shown, places[number])]
    if starts:
        yield text.started(shown)
    for number in pinned:
        yield opening_event(number, places[number], shown, OpenedBy.PERSON)
    for step, number in enumerate(opened, start=1):
        yield LookedUp(number, step, "")
        yield opening_event(number, places[number], shown, OpenedBy.AGENT)
    if len(opened) < len(wanted):
        reason = StopReason.WINDOW
    else:
        reason = StopReason.LIMIT if len(opened) == options.max_pages else StopReason.NOTHING_LEFT
    yield Stopped(reason)
    whole = {number for number in (*pinned, *opened) if share_of(places[number], shown) == 1.0}
    async for event in text.answer(shown, tuple(opened), whole):
        yield event


async def dos(
    question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    """Passages nearest to the question, up to the budget, in the order of the book. See `registry.Reader`."""
    text = BookText("dos", question, memory, engine, options)
    passages = split_into_passages(memory.book)
    # Passages without a shared word come last, so that readers are compared at equal budgets.
    order = dict.fromkeys([*await rank_passages(question, passages, memory.book), *passages])
    async for said in text.select([*order], steering, options.budget_tokens or DOS_TOKENS):
        yield said
    shown = text.shown
    yield text.started(shown)
    yield Stopped(StopReason.NOTHING_LEFT if text.share(shown) == 1.0 else StopReason.WINDOW)
    async for event in text.answer(shown):
        yield event


async def full(
    question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    """The whole book, or as much of its start as fits. See `registry.Reader`."""
    text = BookText("full", question, memory, engine, options)
    shown = await text.fit(split_into_passages(memory.book), options.budget_tokens)
    yield text.started(shown)
    yield Stopped(StopReason.NOTHING_LEFT if text.share(shown) == 1.0 else StopReason.WINDOW)
    async for event in text.answer(shown):
        yield event


async def closed_book(
    question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    """Answer without text, from what the model already knows. See `registry.Reader`."""
    text = BookText("closed-book", question, memory, engine, options)
    yield text.started(None)
    yield Stopped(StopReason.NOTHING_LEFT)
    async for event in text.answer(None):
        yield event
