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
    number_at = {
        (entry.page.start, entry.page.end): entry.page.number
        for entry in asking.memory.entries
    }
    ranked = await _rank_passages(asking, list(number_at))
    order = [number_at[place] for place in ranked]
    async for event in _pages_in_full(BookText.of(asking, "bm25"), order):
        yield event


async def dense(asking: Asking) -> AsyncGenerator[ReaderEvent, None]:
    """The `max_pages` pages nearest in meaning, in full, by their nearest passage."""
    embedder: Embedder | None = None
    if isinstance(asking.options, EvaluationOptions):
        embedder = asking.options.embedder
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
    options = text.options
    place_of = {
        entry.page.number: (entry.page.start, entry.page.end)
        for entry in text.memory.entries
    }
    places = [place_of[number] for number in order]
    selecting = text.select(places, options.budget_tokens, most=options.max_pages)
    async for selection in selecting:
        yield selection
    shown = text.shown
    candidates = order[: options.max_pages]
    opened = [number for number in candidates if overlaps(shown, place_of[number])]
    whole = {number for number in opened if share_of(place_of[number], shown) == 1.0}
    yield text.started(shown)
    for step, number in enumerate(opened, start=1):
        yield LookedUp(number, step, "")
        yield opening_event(number, place_of[number], shown, OpenedBy.AGENT)
    is_at_limit = len(opened) == options.max_pages
    yield Stopped(StopReason.LIMIT if is_at_limit else StopReason.NOTHING_LEFT)
    async for event in text.answer(shown, tuple(opened), whole):
        yield event


async def dos(asking: Asking) -> AsyncGenerator[ReaderEvent, None]:
    """Passages nearest to the question, up to the budget, in the order of the book."""
    text = BookText.of(asking, "dos")
    passages = split_into_passages(text.memory.book)
    ranked = await _rank_passages(asking, passages)
    # Passages without a shared word come last, so that readers are compared at equal budgets.
    order = list(dict.fromkeys([*ranked, *passages]))
    budget_tokens = text.options.budget_tokens or DOS_TOKENS
    async for selection in text.select(order, budget_tokens):
        yield selection
    async for event in _answer_from(text, text.shown):
        yield event


async def full(asking: Asking) -> AsyncGenerator[ReaderEvent, None]:
    """The whole book, or as much of its start as fits."""
    text = BookText.of(asking, "full")
    passages = split_into_passages(text.memory.book)
    shown = await text.fit(passages, text.options.budget_tokens)
    async for event in _answer_from(text, shown):
        yield event


async def _answer_from(
    text: BookText, shown: Sequence[Passage]
) -> AsyncGenerator[ReaderEvent, None]:
    """Answer from these passages."""
    yield text.started(shown)
    is_whole_book = text.share(shown) == 1.0
    yield Stopped(StopReason.NOTHING_LEFT if is_whole_book else StopReason.WINDOW)
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
    if options.choices and options.model.chooses:
        task = load("task_choice", options.wording)
    else:
        task = prompts.load("task_answer_closed")
        if options.choices:
            question = without_options(question)
    text = prompts.load("answer_closed").fill(question=question, task=task.text)
    prompt = (Message("user", text),)
    blank = Answered(compression_rate=asking.compression_rate(0))
    async for event in asking.answer_from(blank, "", prompt):
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
        ranker = Ranker(texts, book.language)
        return [passages[index] for index in ranker.top(asking.question, len(texts))]

    return await asyncio.to_thread(rank)
