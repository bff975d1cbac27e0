"""Tokens evaluated for each token of a long novel: counted, not run (`counting.py` tells how).

A model would take far longer than all other parts together. Where a reading's pause points lie
changes little: they are drawn at random, by several seeds.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from gistread.book.open import open_book
from gistread.engine.llama.fit import MOST_STREAMS
from gistread.engine.protocol import NO_USAGE
from gistread.memory.model import ReadingMode
from gistread.memory.reading import PageRead, read_book
from gistread.memory.sizes import choose_size
from gistread.memory.store import MemoryRequest, MemoryStore
from gistread.sample import story_path
from tests.benchmarks import texts
from tests.benchmarks.figures import Finding, Skipped, Spread, Table, Target, Value
from tests.benchmarks.setting import Setting, alone

_WORDS = 30_000
_WINDOW_TOKENS = 8192
_SEEDS = (1, 2, 3)
_AIM = 1.10


@dataclass(frozen=True, slots=True)
class _Way:
    """How the book is read, and on what."""

    reading: ReadingMode
    parallel: int
    """Requests at once; from sixteen on, several chapters are read at the same time."""
    cells: int
    """Of the KV cache that sequences share."""
    streams: int = 0


_JUDGED = _Way(ReadingMode.SINGLE_PASS, 8, _WINDOW_TOKENS, MOST_STREAMS)
"""What a processor does."""
_WAYS = (
    _Way(ReadingMode.CAREFUL, 8, _WINDOW_TOKENS, MOST_STREAMS),
    _JUDGED,
    _Way(ReadingMode.SINGLE_PASS, 8, 2 * _WINDOW_TOKENS),
    _Way(ReadingMode.SINGLE_PASS, 32, 4 * _WINDOW_TOKENS),
)


async def measure(setting: Setting) -> AsyncIterator[Finding]:
    path, words = (story_path(), 2000) if setting.quick else (texts.NOVEL, _WORDS)
    if not path.exists():
        yield Skipped("a long novel", f"{path.name} is not there")
        return
    seeds = _SEEDS[:1] if setting.quick else _SEEDS
    rows: dict[_Way, list[_Count]] = {
        way: [alone(_count, setting.model, path, words, way, seed) for seed in seeds]
        for way in _WAYS
    }
    yield Table(
        f"Counted, not run: the first {words:,} words of {path.stem}, pages as gistread chooses "
        "them",
        (
            "reading",
            "prefilled for a token of the book",
            "reused",
            "decoded",
            "pages",
            "gists asked for twice",
        ),
        tuple(_row(way, counts) for way, counts in rows.items()),
    )
    worst = max(count.prefilled for count in rows[_JUDGED])
    yield Target(
        f"tokens prefilled for a token of a novel of {words:,} words, single-pass",
        worst,
        at_most=_AIM,
    )


@dataclass(frozen=True, slots=True)
class _Count:
    """Tokens for each token of the book, and what was made of it."""

    prefilled: float
    reused: float
    decoded: float
    pages: int
    retries: int


def _row(way: _Way, counts: Sequence[_Count]) -> tuple[Value, ...]:
    return (
        f"{way.reading}, {way.parallel} at once, {way.cells:,} cells, {way.streams} streams",
        Spread.of([count.prefilled for count in counts]),
        median(count.reused for count in counts),
        median(count.decoded for count in counts),
        median(count.pages for count in counts),
        median(count.retries for count in counts),
    )


def _count(model: Path, path: Path, words: int, way: _Way, seed: int) -> _Count:
    return asyncio.run(_read(model, path, words, way, seed))


async def _read(model: Path, path: Path, words: int, way: _Way, seed: int) -> _Count:
    from tests.benchmarks.counting import CountingEngine

    engine = CountingEngine(
        model,
        context_tokens=_WINDOW_TOKENS,
        cells=way.cells,
        streams=way.streams,
        parallel=way.parallel,
        seed=seed,
    )
    whole = open_book(path)
    book = texts.beginning(whole, words)
    request = MemoryRequest(
        "counted", "counted", choose_size(whole.words, _WINDOW_TOKENS), way.reading
    )
    usage, retries = NO_USAGE, 0
    with (
        tempfile.TemporaryDirectory() as folder,
        MemoryStore(Path(folder)).open(book, request) as kept,
    ):
        async for event in read_book(kept, engine):
            if isinstance(event, PageRead):
                usage += event.entry.usage
                retries += event.retries
    tokens = await engine.count(book.text)
    return _Count(
        prefilled=usage.prefilled / tokens,
        reused=usage.reused / tokens,
        decoded=usage.generated / tokens,
        pages=len(kept.memory.entries),
        retries=retries,
    )
