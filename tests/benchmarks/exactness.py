"""How often a greedy answer differs between an engine that batches and caches and one that does neither.

llama.cpp's arithmetic depends on how a prompt is cut into batches and on where in the cache it lies; a close
decision may turn. What everything is compared with: each request alone in an engine that was just started. Against it
stand some of them once more (what differs then is chance), all requests at once, and each with its beginning in
the cache already. The same for the pages and gists of a short text, read single-pass.
"""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from statistics import mean

from gistread.book.model import Book
from gistread.engine.protocol import (
    GREEDY,
    NO_USAGE,
    Choice,
    Completion,
    Engine,
    EngineInfo,
    EngineState,
    Priority,
    Prompt,
    Sampling,
    StreamEvent,
    Usage,
)
from gistread.memory.model import MemoryEntry, ReadingMethod, ReadingMode
from gistread.memory.reading import read_book
from gistread.memory.sizes import PAGE_SIZES
from gistread.memory.store import MemoryRequest, MemoryStore
from tests.benchmarks import texts
from tests.benchmarks.figures import Finding, Skipped, Table, Value
from tests.benchmarks.setting import Setting, engine_over

_PROMPTS = 12
_REPEATED = 4
"""Of the prompts, so many are asked alone once more: each needs an engine of its own."""
_PROMPT_TOKENS = 250
_ANSWER_TOKENS = 40
_WORDS = 1500


async def measure(setting: Setting) -> AsyncIterator[Finding]:
    prompts, tokens = (3, 8) if setting.quick else (_PROMPTS, _ANSWER_TOKENS)
    yield await _answers(setting, prompts, tokens)
    book = texts.to_index(_WORDS, quick=setting.quick)
    if book is None:
        yield Skipped("pages and gists", f"{texts.HE_WALKED.name} is not there")
        return
    yield await _memory(setting, book)


async def _answers(setting: Setting, count: int, max_tokens: int) -> Table:
    async with _engine(setting) as engine:
        prompts = [await texts.prompt_of(_PROMPT_TOKENS, number, engine) for number in range(count)]
        others = [
            await texts.prompt_of(_PROMPT_TOKENS, number, engine, task="Who is there?") for number in range(count)
        ]
        together = await asyncio.gather(*(_said(prompt, max_tokens, engine) for prompt in prompts))
    async with _engine(setting) as engine:
        for other in others:
            await _said(other, 1, engine)
        cached = [await _said(prompt, max_tokens, engine) for prompt in prompts]
    async with _engine(setting) as counter:
        apart = _Apart(counter, setting)
        alone = [await _said(prompt, max_tokens, apart) for prompt in prompts]
        again = [await _said(prompt, max_tokens, apart) for prompt in prompts[:_REPEATED]]
        ways = {"alone once more": again, "all at once": together, "with cached beginnings": cached}
        rows = tuple([(way, *await _compared(alone, answers, counter)) for way, answers in ways.items()])
    columns = ("asked", "answers that differ", "first different token, on average")
    return Table(
        f"{count} greedy answers of {max_tokens} tokens, Q8_0 copy, against each alone in a fresh engine", columns, rows
    )


def _engine(setting: Setting) -> AbstractAsyncContextManager[Engine]:
    """Every engine over the same weights: where they were chosen by measuring, one engine might have others."""
    return engine_over(setting, setting.copy("Q8_0"), measured=False)


async def _said(prompt: Prompt, max_tokens: int, engine: Engine) -> str:
    return (await engine.complete(prompt, Sampling(max_tokens=max_tokens), Priority.BACKGROUND)).text


async def _compared(expected: Sequence[str], found: Sequence[str], counter: Engine) -> tuple[Value, Value]:
    """In how many of the texts found something differs, and after how many tokens on average it does."""
    pairs = [(one, other) for one, other in zip(expected, found, strict=False) if one != other]
    positions = [await counter.count(_common(*pair)) for pair in pairs]
    return f"{len(pairs)} of {len(found)}", mean(positions) if positions else None


def _common(one: str, other: str) -> str:
    """What both begin with."""
    return "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


async def _memory(setting: Setting, book: Book) -> Table:
    async with _engine(setting) as engine:
        found = await _read(book, engine)
        expected = await _read(book, _Apart(engine, setting))
    gists = {(entry.page.start, entry.page.end): entry.gist.text for entry in expected}
    pages = [entry for entry in found if (entry.page.start, entry.page.end) in gists]
    same = [entry for entry in pages if gists[entry.page.start, entry.page.end] == entry.gist.text]
    rows = (
        ("pages", f"{len(found) - len(pages)} of {len(found)}"),
        ("gists of the same page", f"{len(pages) - len(same)} of {len(pages)}"),
    )
    title = f"{book.words:,} words of {book.title} read single-pass, against each request alone in a fresh engine"
    return Table(title, ("what", "differ"), rows)


async def _read(book: Book, engine: Engine) -> list[MemoryEntry]:
    with (
        tempfile.TemporaryDirectory() as folder,
        MemoryStore(Path(folder)).open(
            book, MemoryRequest("any", "any", PAGE_SIZES["quality"], ReadingMethod(ReadingMode.SINGLE_PASS))
        ) as kept,
    ):
        async for _ in read_book(kept, engine):
            pass
        return kept.memory.entries


class _Apart:
    """An engine that answers each request in an engine of its own, just started: nothing cached, nothing beside it."""

    def __init__(self, counter: Engine, setting: Setting) -> None:
        """`counter` says how many tokens there are in a text."""
        self._counter = counter
        self._setting = setting
        self._at_work = asyncio.Lock()

    @property
    def info(self) -> EngineInfo:
        return replace(self._counter.info, parallel=1)

    @property
    def state(self) -> EngineState:
        return self._counter.state

    def watch(self, callback: Callable[[EngineState], None]) -> Callable[[], None]:
        return self._counter.watch(callback)

    async def start(self) -> EngineInfo:
        return self.info

    async def close(self) -> None:
        pass

    async def count(self, text: str) -> int:
        return await self._counter.count(text)

    async def measure(self, prompt: Prompt) -> int:
        return await self._counter.measure(prompt)

    async def prepare(self, prompt: Prompt, priority: Priority = Priority.BACKGROUND) -> Usage:
        return NO_USAGE

    async def stream(
        self, prompt: Prompt, sampling: Sampling = GREEDY, priority: Priority = Priority.INTERACTIVE
    ) -> AsyncGenerator[StreamEvent, None]:
        async with (
            self._at_work,
            _engine(self._setting) as engine,
            aclosing(engine.stream(prompt, sampling, priority)) as events,
        ):
            async for event in events:
                yield event

    async def complete(
        self, prompt: Prompt, sampling: Sampling = GREEDY, priority: Priority = Priority.INTERACTIVE
    ) -> Completion:
        async with self._at_work, _engine(self._setting) as engine:
            return await engine.complete(prompt, sampling, priority)

    async def choose(self, prompt: Prompt, options: Sequence[str], priority: Priority = Priority.INTERACTIVE) -> Choice:
        async with self._at_work, _engine(self._setting) as engine:
            return await engine.choose(prompt, options, priority)
