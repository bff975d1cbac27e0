"""From a question to the first word of its answer, over a memory of about 3,000 tokens of gists.

By situation: the first question over a memory that the engine has not seen, the second one, both
while a book is being read in the background, and the first after a restart. Asked in two ways: with
the reader that people use (no look-ups, so that the first word is all that is waited for), and
straight through the engine, which also says how many tokens it evaluated. Every round has a memory
that shares no beginning with the ones before; the rounds are interleaved. The memory is made of the
sample story's own sentences: no model is needed for it.
"""

import asyncio
import contextlib
import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from gistread.book.open import open_book
from gistread.engine.llama.client import LlamaEngine
from gistread.engine.protocol import (
    NO_USAGE,
    Completion,
    Engine,
    Message,
    Priority,
    Sampling,
)
from gistread.memory.extractive import extract
from gistread.memory.model import (
    Gist,
    GistMemory,
    GistSource,
    MemoryEntry,
    Page,
    ReadingMode,
)
from gistread.memory.pagination import find_passage
from gistread.memory.reading import read_book
from gistread.memory.sizes import PAGE_SIZES
from gistread.memory.store import MemoryRequest, MemoryStore
from gistread.memory.tree import page_by_page
from gistread.memory.writer import MemoryWriter
from gistread.readers.answering import Asking, ReaderOptions
from gistread.readers.events import AnswerDelta
from gistread.readers.lookups import render
from gistread.readers.readagent import readagent_s
from gistread.readers.steering import Steering
from gistread.sample import story_path
from gistread.words import count_words
from tests.benchmarks.figures import Finding, Skipped, Spread, Table, Target, Value
from tests.benchmarks.setting import Setting, engine_over, idle, state_reached

_GIST_TOKENS = 3000
_QUICK_GIST_TOKENS = 1500
_ROUNDS = 2
_ANSWER_TOKENS = 8
_A_MOMENT_S = 0.3
_QUESTIONS = ("Who keeps the harbour, and since when?", "What was lost in the end?")
"""The first over a memory, and the second."""
_FIRST, _SECOND = "a first question", "a second question"
_FIRST_BUSY, _SECOND_BUSY = (
    "a first question while a book is read",
    "a second question while a book is read",
)


@dataclass(frozen=True, slots=True)
class _QuestionCost:
    """What one question took."""

    first_word_s: float
    prefilled: int | None
    """Prompt tokens evaluated; None where nobody says."""


async def measure(setting: Setting) -> AsyncIterator[Finding]:
    rounds, tokens = (
        (1, _QUICK_GIST_TOKENS) if setting.quick else (_ROUNDS, _GIST_TOKENS)
    )
    costs: dict[tuple[str, str], list[_QuestionCost]] = defaultdict(list)
    async with engine_over(setting) as engine:
        with _book_to_read(engine) as kept:
            memory = await _memory(tokens, engine)
            for number in range(rounds):
                for way, ask in _WAYS.items():
                    unlike = _unlike(memory, f"{number} {way}, idle")
                    for situation, question in zip(
                        (_FIRST, _SECOND), _QUESTIONS, strict=True
                    ):
                        costs[way, situation].append(
                            await ask(question, unlike, engine)
                        )
                    unlike = _unlike(memory, f"{number} {way}, busy")
                    async with _being_read(kept, engine):
                        for situation, question in zip(
                            (_FIRST_BUSY, _SECOND_BUSY), _QUESTIONS, strict=True
                        ):
                            costs[way, situation].append(
                                await ask(question, unlike, engine)
                            )
            read_through = kept.memory.complete
            weights = engine.info.weights
    yield _table(
        f"To the first word of an answer, over {tokens:,} tokens of gists ({weights})",
        costs,
    )
    for aim in _aims(costs):
        yield aim
    async for finding in _restarts(setting, memory, rounds):
        yield finding
    if read_through:
        yield Skipped(
            "questions while a book is read",
            "the book was read to its end before all were asked",
        )


async def _restarts(
    setting: Setting, memory: GistMemory, rounds: int
) -> AsyncIterator[Finding]:
    """The first question after a restart, with and without what the engine saved the last time."""
    saved, bare = [], []
    first, second = _QUESTIONS
    for number in range(rounds):
        unlike = _unlike(memory, f"{number}, restarted")
        async with engine_over(setting) as engine:
            await _ask_reader(first, unlike, engine)
            await idle(engine)
        async with engine_over(setting) as engine:
            saved.append((await _ask_reader(second, unlike, engine)).first_word_s)
        shutil.rmtree(setting.snapshots, ignore_errors=True)
        async with engine_over(setting) as engine:
            bare.append((await _ask_reader(second, unlike, engine)).first_word_s)
    rows = (
        ("without a snapshot", Spread.of(bare)),
        ("with the snapshot of an earlier question", Spread.of(saved)),
    )
    yield Table(
        "To the first word of a first question after a restart",
        ("asked", "reader [s]"),
        rows,
    )
    ratio = median(saved) / median(bare)
    yield Target(
        "first word after a restart, with a snapshot against without",
        ratio,
        at_most=0.15,
    )


def _table(
    title: str, costs: Mapping[tuple[str, str], Sequence[_QuestionCost]]
) -> Table:
    rows: list[tuple[Value, ...]] = []
    for situation in (_FIRST, _SECOND, _FIRST_BUSY, _SECOND_BUSY):
        prefilled = median(cost.prefilled or 0 for cost in costs["engine", situation])
        times = (
            Spread.of([cost.first_word_s for cost in costs[way, situation]])
            for way in _WAYS
        )
        rows.append((situation, *times, prefilled))
    return Table(
        title,
        ("asked", *(f"{way} [s]" for way in _WAYS), "tokens prefilled"),
        tuple(rows),
    )


def _aims(costs: Mapping[tuple[str, str], Sequence[_QuestionCost]]) -> Iterator[Target]:
    def tokens(situation: str) -> float:
        return median(cost.prefilled or 0 for cost in costs["engine", situation])

    def seconds(situation: str) -> float:
        return median(cost.first_word_s for cost in costs["reader", situation])

    yield Target(
        "tokens prefilled by a second question, against the first",
        tokens(_SECOND) / tokens(_FIRST),
        at_most=0.10,
    )
    for busy, quiet in ((_FIRST_BUSY, _FIRST), (_SECOND_BUSY, _SECOND)):
        yield Target(
            f"first word of {busy}, against idle",
            seconds(busy) / seconds(quiet),
            at_most=1.5,
        )


async def _ask(question: str, memory: GistMemory, engine: Engine) -> _QuestionCost:
    """Straight through the engine: the gists, then the question."""
    text = f"{_gists(memory)}\n\nAnswer in one sentence. {question}"
    started = time.perf_counter()
    first_word_s = 0.0
    usage = NO_USAGE
    async for event in engine.stream(
        (Message("user", text),), Sampling(max_tokens=_ANSWER_TOKENS)
    ):
        first_word_s = first_word_s or time.perf_counter() - started
        if isinstance(event, Completion):
            usage = event.usage
    return _QuestionCost(first_word_s, usage.prefilled)


async def _ask_reader(
    question: str, memory: GistMemory, engine: Engine
) -> _QuestionCost:
    """With the reader; its answer ends by itself or with its last token."""
    options = ReaderOptions(max_pages=0, answer_tokens=_ANSWER_TOKENS)
    started = time.perf_counter()
    first_word_s = 0.0
    async for event in readagent_s(
        Asking(question, memory, engine, Steering(), options)
    ):
        if isinstance(event, AnswerDelta):
            first_word_s = first_word_s or time.perf_counter() - started
    return _QuestionCost(first_word_s, None)


_WAYS = {"engine": _ask, "reader": _ask_reader}


async def _memory(tokens: int, engine: Engine) -> GistMemory:
    """The sample story's pages and, as gists, sentences of theirs.

    About so many tokens together.
    """
    book = open_book(story_path())
    share = 0.25
    while True:
        memory = GistMemory(book, PAGE_SIZES["quality"], "none")
        while not memory.complete:
            start = memory.read_until
            end = find_passage(book, start, memory.size).end
            words = count_words(book.text[start:end])
            gist = extract(book.text[start:end].strip(), round(share * words))
            page = Page(len(memory.entries) + 1, start, end, words)
            memory.entries.append(
                MemoryEntry(page, Gist(gist, count_words(gist), GistSource.EXTRACTIVE))
            )
        count = await engine.count(_gists(memory))
        if abs(count - tokens) < 0.05 * tokens:
            return memory
        share *= tokens / count


def _gists(memory: GistMemory) -> str:
    return render(memory, page_by_page(memory))


def _unlike(memory: GistMemory, name: str) -> GistMemory:
    """The same memory with another beginning: nothing of it lies in the engine's cache."""
    first, *others = memory.entries
    gist = replace(first.gist, text=f"In reading {name}: {first.gist.text}")
    return replace(memory, entries=[replace(first, gist=gist), *others])


@contextlib.contextmanager
def _book_to_read(engine: Engine) -> Iterator[MemoryWriter]:
    """The sample story again, with nothing of it read yet."""
    info, book = engine.info, open_book(story_path())
    with (
        tempfile.TemporaryDirectory() as folder,
        MemoryStore(Path(folder)).open(
            book,
            MemoryRequest(
                info.name,
                info.fingerprint,
                PAGE_SIZES["quality"],
                ReadingMode.SINGLE_PASS,
            ),
        ) as kept,
    ):
        yield kept


@asynccontextmanager
async def _being_read(kept: MemoryWriter, engine: LlamaEngine) -> AsyncIterator[None]:
    """The model reads on in the background, from when it has begun until the end of the block."""

    async def read() -> None:
        async for _ in read_book(kept, engine):
            pass

    begun = state_reached(engine, lambda state: state.priority is Priority.BACKGROUND)
    reading = asyncio.create_task(read())
    await asyncio.wait({begun, reading}, return_when=asyncio.FIRST_COMPLETED)
    # A moment on: it is in the midst of something, whatever that is.
    await asyncio.sleep(_A_MOMENT_S)
    try:
        yield
    finally:
        begun.cancel()
        reading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await reading
        await idle(engine)
