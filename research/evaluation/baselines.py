"""Baselines that every other reader is compared with.

`gists`: the gist memory alone. `bm25` and `dense`: the pages nearest to the question by words or by
meaning, as in ReadAgent's tables (section 4). `dos`: passages by relevance up to the budget, in the
order of the book (DOS RAG, arXiv 2506.03989). `full`: as much of the book as fits. `closed-book`:
no text, to measure what the model already knows.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from gistread.engine.protocol import Message
from gistread.errors import UsageError
from gistread.memory.passages import Passage, overlaps, split_into_passages
from gistread.prompts import load
from gistread.readers.answering import Asking, ReaderOptions
from gistread.readers.book_text import BookText, opening_event, share_of
from gistread.readers.events import (
    Answered,
    LookedUp,
    OpenedBy,
    ReaderEvent,
    Shown,
    Started,
    Stopped,
    StopReason,
)
from gistread.readers.lookups import answer, begin, start_search
from gistread.readers.thread import without_options
from gistread.search.ranked import Ranker
from research import prompts
from research.evaluation.embedding import Embedder

DOS_TOKENS = 4096  # Default budget of `dos`: more takes a laptop minutes


@dataclass(frozen=True, slots=True)
class EvaluationOptions(ReaderOptions):
    embedder: Embedder | None = None  # For `dense`


async def bm25(asking: Asking) -> AsyncGenerator[ReaderEvent, None]:
    """The `max_pages` pages nearest to the question, in full."""
    pages = {
        (entry.page.start, entry.page.end): entry.page.number
        for entry in asking.memory.entries
    }
    order = [pages[place] for place in await _rank_passages(asking, list(pages))]
    async for event in _pages_in_full(BookText.of(asking, "bm25"), order):
        yield event


async def dense(asking: Asking) -> AsyncGenerator[ReaderEvent, None]:
    """The `max_pages` pages nearest in meaning, in full, by their nearest passage."""
    if isinstance(asking.options, EvaluationOptions):
        embedder = asking.options.embedder
    else:
        embedder = None
    if embedder is None:
        raise UsageError(
            "The reader dense needs an embedding model.",
            "Give one with --embedding-model FILE.",
        )
    scores = await asyncio.to_thread(
        embedder.page_scores, asking.question, asking.memory
    )
    order = sorted(scores, key=lambda number: -scores[number])
    async for event in _pages_in_full(BookText.of(asking, "dense"), order):
        yield event


async def _pages_in_full(
    text: BookText, order: Sequence[int]
) -> AsyncGenerator[ReaderEvent, None]:
    """Answer from the first `max_pages` of `order`."""
    memory, options = text.memory, text.options
    places = {
        entry.page.number: (entry.page.start, entry.page.end)
        for entry in memory.entries
    }
    nearest = [places[number] for number in order]
    async for selection in text.select(
        nearest, options.budget_tokens, most=options.max_pages
    ):
        yield selection
    shown = text.shown
    opened = [
        number
        for number in order[: options.max_pages]
        if overlaps(shown, places[number])
    ]
    yield text.started(shown)
    for step, number in enumerate(opened, start=1):
        yield LookedUp(number, step, "")
        yield opening_event(number, places[number], shown, OpenedBy.AGENT)
    is_at_limit = len(opened) == options.max_pages
    yield Stopped(StopReason.LIMIT if is_at_limit else StopReason.NOTHING_LEFT)
    async for event in text.answer(
        shown,
        tuple(opened),
        {number for number in opened if share_of(places[number], shown) == 1.0},
    ):
        yield event


async def dos(asking: Asking) -> AsyncGenerator[ReaderEvent, None]:
    """Passages nearest to the question, up to the budget, in the order of the book."""
    text = BookText.of(asking, "dos")
    passages = split_into_passages(text.memory.book)
    # Passages without a shared word come last, so that readers are compared at equal budgets.
    order = dict.fromkeys([*await _rank_passages(asking, passages), *passages])
    async for selection in text.select(
        [*order], text.options.budget_tokens or DOS_TOKENS
    ):
        yield selection
    shown = text.shown
    yield text.started(shown)
    yield Stopped(
        StopReason.NOTHING_LEFT if text.share(shown) == 1.0 else StopReason.WINDOW
    )
    async for event in text.answer(shown):
        yield event


async def full(asking: Asking) -> AsyncGenerator[ReaderEvent, None]:
    """The whole book, or as much of its start as fits."""
    text = BookText.of(asking, "full")
    shown = await text.fit(
        split_into_passages(text.memory.book), text.options.budget_tokens
    )
    yield text.started(shown)
    yield Stopped(
        StopReason.NOTHING_LEFT if text.share(shown) == 1.0 else StopReason.WINDOW
    )
    async for event in text.answer(shown):
        yield event


async def closed_book(asking: Asking) -> AsyncGenerator[ReaderEvent, None]:
    """Answer without text, from what the model already knows."""
    question = asking.question
    memory = asking.memory
    options = asking.options
    yield Started(
        "closed-book",
        len(memory.entries),
        memory.estimated_pages,
        memory.complete,
        share_shown=0.0,
    )
    yield Stopped(StopReason.NOTHING_LEFT)
    yield Shown(())
    by_letter = bool(options.choices) and options.model.chooses
    if by_letter:
        task = load("task_choice", options.wording)
    else:
        task = prompts.load("task_answer_closed")
    text = question if by_letter or not options.choices else without_options(question)
    prompt = (
        Message(
            "user", prompts.load("answer_closed").fill(question=text, task=task.text)
        ),
    )
    async for event in asking.answer_from(
        Answered(compression_rate=asking.compression_rate(0)), "", prompt
    ):
        yield event


async def gists(asking: Asking) -> AsyncGenerator[ReaderEvent, None]:
    """Answer from the gists, with the user's pinned pages in full ("gist memory only")."""
    search = await start_search(asking, max_pages=0)
    async for event in begin("gists", search):
        yield event
    yield Stopped(StopReason.NOTHING_LEFT)
    async for answered in answer(search):
        yield answered


async def _rank_passages(asking: Asking, passages: Sequence[Passage]) -> list[Passage]:
    """The passages that share a word with the question, nearest first (BM25)."""

    def rank() -> list[Passage]:
        book = asking.memory.book
        texts = [book.text[start:end] for start, end in passages]
        return [
            passages[index]
            for index in Ranker(texts, book.language).top(asking.question, len(texts))
        ]

    return await asyncio.to_thread(rank)
