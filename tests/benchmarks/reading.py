"""Where the time of a single-pass reading goes, by purpose, against llama.cpp's bare rates.

Bare seconds are those of `llama_decode` alone: each prompt once more at the depth and in the
batches that it had, each token of a gist at the rate of as many sequences as decoded together. What
is left is sampling, messages and waiting.
"""

import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from gistread.book.model import Book
from gistread.engine.llama.fast_copy import find_copy
from gistread.engine.llama.gguf import read_header
from gistread.engine.protocol import NO_USAGE, EngineInfo, Usage
from gistread.memory.model import ReadingMode
from gistread.memory.reading import PageRead, read_book
from gistread.memory.store import MemoryRequest, MemoryStore
from gistread.paths import WEIGHTS
from tests.benchmarks import naive, texts
from tests.benchmarks.figures import Finding, Skipped, Table, Target, Value
from tests.benchmarks.metering import Cost, Purpose, decoded_beside
from tests.benchmarks.setting import Setting, alone, engine_over

_LEVELS = (1, 2, 4, 8)
_STEPS = 8


@dataclass(frozen=True, slots=True)
class _Reading:
    info: EngineInfo
    costs: Sequence[Cost]
    book_tokens: int
    seconds: float
    first_page_s: float


@dataclass(frozen=True, slots=True)
class _Bare:
    """Seconds of `llama_decode`."""

    prompts: Mapping[tuple[int, int], float]  # By depth and length
    step: Mapping[int, float]  # Of a token of each of so many sequences

    def prompt_s(self, cost: Cost) -> float:
        return self.prompts[_prompt(cost)]

    def decode_s(self, cost: Cost, together: float) -> float:
        level = min(self.step, key=lambda sequences: abs(sequences - together))
        if cost.purpose is not Purpose.PAUSE:
            return cost.usage.generated * self.step[level] / level
        return 0.0


async def measure(setting: Setting) -> AsyncIterator[Finding]:
    book = texts.to_index(setting.words, quick=setting.quick)
    if book is None:
        yield Skipped("a reading by purpose", f"{texts.HE_WALKED.name} is not there")
        return
    done = await _read(setting, book)
    prompts = sorted({_prompt(cost) for cost in done.costs})
    bare = alone(_bare, _weights(setting), prompts, done.info)
    title = f"Single-pass reading of {book.words:,} words of {book.title} ({done.info.weights})"
    yield Table(title, _COLUMNS, tuple(_rows(done, bare)))
    usage = sum((cost.usage for cost in done.costs), NO_USAGE)
    yield Target(
        "tokens prefilled for a token of a short text",
        usage.prefilled / done.book_tokens,
        at_most=1.20,
    )
    yield Target(
        "tokens decoded for a token of the book",
        usage.generated / done.book_tokens,
        at_most=0.22,
    )
    first = done.costs[:2] if done.costs[0].purpose is Purpose.PAUSE else done.costs[:1]
    first_bare_s = sum(bare.prompt_s(cost) + bare.decode_s(cost, 1.0) for cost in first)
    yield Target(
        "first gist, against the bare time for its tokens",
        done.first_page_s / first_bare_s,
        at_most=1.2,
    )


_COLUMNS = (
    *("purpose", "requests", "prefilled a token", "reused a token", "decoded a token"),
    *("prompts [s]", "bare [s]", "decode [s]", "bare decode [s]"),
)


def _rows(done: _Reading, bare: _Bare) -> list[tuple[Value, ...]]:
    groups = {
        purpose: [cost for cost in done.costs if cost.purpose is purpose]
        for purpose in Purpose
    }
    rows = [_row(name, costs, done, bare) for name, costs in groups.items() if costs]
    rows.append(_row("together", done.costs, done, bare))
    return [*rows, ("whole", None, None, None, None, done.seconds, None, None, None)]


def _row(
    name: str, costs: Sequence[Cost], done: _Reading, bare: _Bare
) -> tuple[Value, ...]:
    usage: Usage = sum((cost.usage for cost in costs), NO_USAGE)
    prompt_s = sum(cost.prompt_s for cost in costs)
    attempts = [cost for cost in done.costs if cost.purpose is not Purpose.PAUSE]
    return (
        name,
        len(costs),
        *(
            tokens / done.book_tokens
            for tokens in (usage.prefilled, usage.reused, usage.generated)
        ),
        prompt_s,
        sum(bare.prompt_s(cost) for cost in costs),
        usage.seconds - prompt_s,
        sum(bare.decode_s(cost, decoded_beside(cost, attempts)) for cost in costs),
    )


async def _read(setting: Setting, book: Book) -> _Reading:
    async with engine_over(setting) as engine:
        info, size = engine.info, naive.size_of(setting)
        request = MemoryRequest(
            info.name, info.fingerprint, size, ReadingMode.SINGLE_PASS
        )
        with (
            tempfile.TemporaryDirectory() as folder,
            MemoryStore(Path(folder)).open(book, request) as writer,
        ):
            book_tokens, first_page_s = await engine.count(book.text), 0.0
            started = time.perf_counter()
            async for event in read_book(writer, engine, on_draft=engine.reject):
                if (
                    isinstance(event, PageRead)
                    and not first_page_s
                    and event.entry.usage.prefilled
                ):
                    first_page_s = time.perf_counter() - started
            seconds = time.perf_counter() - started
        return _Reading(engine.info, engine.costs, book_tokens, seconds, first_page_s)


def _weights(setting: Setting) -> Path:
    header = read_header(setting.model, setting.adapter)
    return find_copy(header, setting.cache / WEIGHTS) or setting.model


def _prompt(cost: Cost) -> tuple[int, int]:
    return cost.usage.reused, cost.usage.prefilled


def _bare(path: Path, prompts: Sequence[tuple[int, int]], info: EngineInfo) -> _Bare:
    """In a process of its own.

    Prompts ascend by depth; what lies before one is evaluated beforehand.
    """
    from tests.benchmarks.lowlevel import Item, RawContext

    assert info.placement is not None
    deepest = max(depth + tokens for depth, tokens in prompts)
    context = RawContext(
        path,
        cells=deepest + max(_LEVELS) * (_STEPS + 1) + 256,
        sequences=max(_LEVELS),
        batch_tokens=info.placement.batch_tokens,
        threads=info.placement.threads,
    )
    context.prefill(0, 32)  # The first batch of a process pays for what is made once
    context.cut(0)
    held = 0
    seconds: dict[tuple[int, int], float] = {}
    for depth, tokens in prompts:
        if depth > held:
            context.prefill(held, depth - held)
        context.cut(depth)
        seconds[depth, tokens] = context.prefill(depth, tokens)
        held = depth + tokens
    middle = round(median(depth + tokens for depth, tokens in prompts))
    step: dict[int, float] = {}
    for sequences in _LEVELS:
        context.cut(middle)
        context.share(sequences, middle)
        positions = range(middle, middle + _STEPS)
        step[sequences] = median(
            context.evaluate(Item(at, n, True) for n in range(sequences))
            for at in positions
        )
    return _Bare(seconds, step)
