"""What the members of `longagent` cost: one round over a book of thirty parts, its requests in three ways.

As a plain loop asks them, each from its first token; one member after another, so that what a member is asked second
begins with what it was asked first; and all at once, as the reader does. A part is evaluated once in the latter two, so
what is left between them is what batches are worth: on a CPU, where long prompts are bound by arithmetic, next to
nothing. Every way begins with an empty cache. Then another question is put to the members, as in a second round: what
they have read lies in memory as far as there is memory for it (`worker/offload.py`). Last, the parts are read before
the
question, as the program does while nobody asks.

Beside the seconds stand those of the processor, which other programs disturb less.
"""

import itertools
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import cast

import psutil

from gistread.book.model import Book
from gistread.book.open import open_book
from gistread.engine.llama.client import LlamaEngine
from gistread.engine.protocol import (
    GREEDY,
    NO_USAGE,
    Choice,
    Completion,
    Engine,
    EngineInfo,
    Priority,
    Prompt,
    Sampling,
    Usage,
)
from gistread.memory.chunks import MAX_CHUNK_TOKENS, prefetch
from gistread.memory.model import GistMemory, PageSize
from gistread.memory.passages import split_into_chunks
from gistread.readers import longagent
from gistread.readers.events import MembersAsked, Reported, TeamFormed
from gistread.readers.protocol import ReaderOptions
from gistread.readers.steering import Steering
from gistread.sample import story_path
from tests.benchmarks import texts
from tests.benchmarks.figures import Finding, Skipped, Table, Target
from tests.benchmarks.setting import Setting, engine_over

_MEMBERS = 30
_QUESTION = "Who is Mr. Wickham, and what does Mr. Darcy say of him?"
_NEXT = "Where does Mrs. Bennet want her daughters to go, and why?"
_AIM = 0.5
_APART, _AFTER, _TOGETHER = "each request from its first token", "one member after another", "all members at once"
_AHEAD, _READ = "the parts, while nobody asks", "all at once, their parts read before"


async def measure(setting: Setting) -> AsyncIterator[Finding]:
    if not setting.quick and not texts.NOVEL.exists():
        yield Skipped("the members of longagent", f"{texts.NOVEL.name} is not there")
        return
    ways = {
        _APART: _Way(apart=True, at_once=1),
        _AFTER: _Way(apart=False, at_once=1),
        _TOGETHER: _Way(apart=False, at_once=0),
        _READ: _Way(apart=False, at_once=0, ahead=True),
    }
    rounds: dict[str, _Round] = {}
    for name, way in ways.items():
        async with engine_over(setting) as engine:
            book = await _book(engine, quick=setting.quick)
            if way.ahead:
                rounds[_AHEAD] = await _read_ahead(book, engine)
            rounds[name] = await _round(_QUESTION, book, engine, way)
            if not way.apart and not way.ahead:
                rounds[f"{name}, another question"] = await _round(_NEXT, book, engine, way)
    yield Table(
        f"One round of longagent, {rounds[_TOGETHER].members} members",
        (
            "its requests",
            "seconds",
            "of a processor",
            "tokens evaluated",
            "reused",
            "generated",
            "requests",
            "cells in use, at most",
        ),
        tuple(
            (
                name,
                r.seconds,
                r.processor_s,
                float(r.usage.prefilled),
                float(r.usage.reused),
                float(r.usage.generated),
                float(r.requests),
                float(r.cells),
            )
            for name, r in rounds.items()
        ),
    )
    alone, after, together, read = (rounds[name] for name in ways)
    again = rounds[f"{_TOGETHER}, another question"]
    yield Target("members at once against each request from its first token", together.seconds / alone.seconds, _AIM)
    yield Target("members at once against one member after another", together.seconds / after.seconds, _AIM)
    yield Target(
        "their parts read before, members at once against one member after another", read.seconds / after.seconds, _AIM
    )
    yield Target("members asked another question, against their first", again.seconds / together.seconds, _AIM)


@dataclass(frozen=True, slots=True)
class _Way:
    """How requests reach the engine."""

    apart: bool
    """No request begins like another."""
    at_once: int
    """Members at work at the same time; 0: as many as the engine says."""
    ahead: bool = False
    """The parts are read before the question comes."""


@dataclass(frozen=True, slots=True)
class _Round:
    members: int
    seconds: float
    processor_s: float
    """That the worker has had of processors."""
    usage: Usage
    requests: int
    cells: int
    """Of the KV cache, in use at most: attention goes over all of them."""


async def _book(engine: Engine, *, quick: bool) -> Book:
    """The beginning of a novel, as long as thirty parts are; in a quick run the whole sample."""
    if quick:
        return open_book(story_path())
    book = open_book(texts.NOVEL)
    parts = await split_into_chunks(book, MAX_CHUNK_TOKENS, engine.count)
    end = parts[_MEMBERS - 1][1]
    return replace(
        book,
        text=book.text[:end],
        paragraphs=tuple(paragraph for paragraph in book.paragraphs if paragraph.end <= end),
        chapters=tuple(replace(c, end=min(c.end, end)) for c in book.chapters if c.start < end),
    )


async def _round(question: str, book: Book, engine: LlamaEngine, way: _Way) -> _Round:
    """The leader's first question, from when it is put to when the last member has reported."""
    asked = _Asked(engine, way)
    memory = GistMemory(book, PageSize(280, 600), "")
    events = longagent.longagent(question, memory, cast(Engine, asked), Steering(), ReaderOptions())
    members, reports = 0, 0
    clock: _Clock | None = None
    async with aclosing(events):
        async for event in events:
            match event:
                case TeamFormed(parts=parts):
                    members = len(parts)
                case MembersAsked():
                    clock = _Clock(engine)
                case Reported():
                    reports += 1
                    if reports == members:
                        break
    assert clock is not None
    return clock.stopped(members, asked.usage, asked.requests)


async def _read_ahead(book: Book, engine: LlamaEngine) -> _Round:
    """What the program does before the question."""
    clock = _Clock(engine)
    usages = [grown.usage async for grown in prefetch(book, engine, Priority.BACKGROUND)]
    return clock.stopped(len(usages), sum(usages, NO_USAGE), len(usages))


class _Clock:
    """From now on, what an engine takes."""

    def __init__(self, engine: LlamaEngine) -> None:
        self._engine = engine
        self._cells = [0]
        self._unwatch = engine.watch(lambda _: self._cells.append(engine.stats.cells))
        self._began, self._processor_s = time.perf_counter(), _processor_s(engine)

    def stopped(self, members: int, usage: Usage, requests: int) -> _Round:
        self._unwatch()
        seconds, used_s = time.perf_counter() - self._began, _processor_s(self._engine) - self._processor_s
        return _Round(members, seconds, used_s, usage, requests, max(self._cells))


def _processor_s(engine: LlamaEngine) -> float:
    """Seconds of processors that the worker has had so far."""
    times = psutil.Process(engine.worker_pid).cpu_times()
    return float(times.user + times.system)


class _Asked:
    """The engine as members see it, with an account of what they cost."""

    def __init__(self, engine: LlamaEngine, way: _Way) -> None:
        self._engine = engine
        self._way = way
        self._numbers = itertools.count(1)
        self.usage = NO_USAGE
        self.requests = 0
        self.count, self.measure, self.pinned = engine.count, engine.measure, engine.pinned

    @property
    def info(self) -> EngineInfo:
        info = self._engine.info
        return replace(info, parallel=self._way.at_once or info.parallel)

    async def choose(self, prompt: Prompt, options: Sequence[str], priority: Priority = Priority.INTERACTIVE) -> Choice:
        choice = await self._engine.choose(self._put(prompt), options, priority)
        self._book(choice.usage)
        return choice

    async def complete(
        self, prompt: Prompt, sampling: Sampling = GREEDY, priority: Priority = Priority.INTERACTIVE
    ) -> Completion:
        said = await self._engine.complete(self._put(prompt), sampling, priority)
        self._book(said.usage)
        return said

    def _put(self, prompt: Prompt) -> Prompt:
        if not self._way.apart:
            return prompt
        first, *others = prompt
        return (replace(first, content=f"{next(self._numbers)}\n{first.content}"), *others)

    def _book(self, usage: Usage) -> None:
        self.usage += usage
        self.requests += 1
