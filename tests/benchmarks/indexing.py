"""Reading a book into a memory, by reading mode, against the naive loop over the same file.

The same words and page size as `naive`, read by that in the same run. Each mode starts with a fresh
engine and an empty memory.
"""

import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from gistread.book.model import Book
from gistread.engine.llama.client import LlamaEngine
from gistread.engine.protocol import NO_USAGE, Usage
from gistread.memory.model import GistMemory, GistSource, PageSize, ReadingMode
from gistread.memory.reading import PageRead, read_book
from gistread.memory.store import MemoryRequest, MemoryStore
from tests.benchmarks import naive, texts
from tests.benchmarks.figures import Finding, Skipped, Table, Target, Value
from tests.benchmarks.setting import Setting, engine_over


@dataclass(frozen=True, slots=True)
class _Run:
    """One mode's reading."""

    memory: GistMemory
    book_tokens: int
    seconds: float
    first_page_s: float
    usage: Usage
    """Of the time in which the worker had something to do, the share inside `llama_decode`."""


async def measure(setting: Setting) -> AsyncIterator[Finding]:
    book = texts.to_index(setting.words, quick=setting.quick)
    if book is None:
        yield Skipped("indexing", f"{texts.HE_WALKED.name} is not there")
        return
    size = naive.size_of(setting)
    loop = naive.read_naively(setting, book)
    runs: dict[ReadingMode, _Run] = {}
    for reading in ReadingMode:
        async with engine_over(setting) as engine:
            weights = engine.info.weights
            runs[reading] = await _read(book, size, reading, engine)
    title = (
        f"Indexing {book.words:,} words of {book.title} ({weights}); the naive loop took "
        f"{loop.seconds:.1f} s"
    )
    yield _table(title, runs, loop.seconds)
    single = runs[ReadingMode.SINGLE_PASS]
    yield Target(
        "time of single-pass indexing, against the naive loop",
        single.seconds / loop.seconds,
        at_most=0.30,
    )


async def _read(
    book: Book, size: PageSize, mode: ReadingMode, engine: LlamaEngine
) -> _Run:
    info = engine.info
    with (
        tempfile.TemporaryDirectory() as folder,
        MemoryStore(Path(folder)).open(
            book, MemoryRequest(info.name, info.fingerprint, size, mode)
        ) as kept,
    ):
        book_tokens = await engine.count(book.text)
        usage, first_page_s = NO_USAGE, 0.0
        started = time.perf_counter()
        async for event in read_book(kept, engine):
            if isinstance(event, PageRead):
                usage += event.entry.usage
                first_page_s = first_page_s or time.perf_counter() - started
        seconds = time.perf_counter() - started
        return _Run(kept.memory, book_tokens, seconds, first_page_s, usage)


def _table(title: str, runs: dict[ReadingMode, _Run], naive_s: float) -> Table:
    columns: list[dict[str, Value]] = []
    for run in runs.values():
        gists = Counter(entry.gist.source for entry in run.memory.entries)
        columns.append(
            {
                "time [s]": run.seconds,
                "… against the naive loop": run.seconds / naive_s,
                "time of the first page [s]": run.first_page_s,
                "tokens prefilled for a token of the book": run.usage.prefilled
                / run.book_tokens,
                "tokens reused for a token of the book": run.usage.reused
                / run.book_tokens,
                "tokens decoded for a token of the book": run.usage.generated
                / run.book_tokens,
                "pages": len(run.memory.entries),
                **{f"gists: {source}": gists[source] for source in GistSource},
                "compression rate [%]": run.memory.compression_rate(),
            }
        )
    rows = tuple((name, *(column[name] for column in columns)) for name in columns[0])
    return Table(title, ("figure", *runs), rows)
