"""How much sooner a book is read through a server that is asked several things at once.

The server is one for tests, whose every answer takes a fixed time whatever else it does: what is measured is what
is asked at the same time, not how fast a model is.
"""

import random
import time
from collections.abc import AsyncIterator

from gistread.book.model import Book
from gistread.engine.remote.address import parse_address
from gistread.engine.remote.client import RemoteEngine
from gistread.memory.model import ReadingMethod, ReadingMode
from gistread.memory.reading import read_book
from gistread.memory.sizes import PAGE_SIZES
from gistread.memory.store import MemoryRequest, MemoryStore
from tests.benchmarks.figures import Finding, Table, Target
from tests.benchmarks.setting import Setting
from tests.engine.remote.server import Asked, Kind, Server
from tests.memory.books import make_book, prose

SHARE = 0.4
_ANSWER_S = 0.25
_CONNECTIONS = (1, 2, 4, 8)
_CHAPTERS, _PARAGRAPHS = 12, 40


async def measure(setting: Setting) -> AsyncIterator[Finding]:
    paragraphs = 10 if setting.quick else _PARAGRAPHS
    many = _book(_CHAPTERS, paragraphs)
    one = _book(1, _CHAPTERS * paragraphs // 4)
    rows = []
    for reading in ReadingMode:
        for title, book in ((f"{_CHAPTERS} chapters", many), ("one chapter", one)):
            seconds = [await _seconds(setting, book, reading, number) for number in _CONNECTIONS]
            rows.append((f"{title}, {reading.value}", *seconds))
            if book is many:
                yield Target(f"{reading.value}: 8 connections ÷ 1", seconds[-1] / seconds[0], at_most=SHARE)
    columns = ("read through a server", *(f"{number} at once [s]" for number in _CONNECTIONS))
    yield Table(f"Every answer takes {_ANSWER_S} s", columns, tuple(rows))


def _book(chapters: int, paragraphs: int) -> Book:
    seeds = iter(range(chapters * paragraphs))
    return make_book(*([f"# {n}", *(prose(60, seed=next(seeds)) for _ in range(paragraphs))] for n in range(chapters)))


def _says(asked: Asked) -> str:
    """A gist that the guard has nothing against: words of the page in an order of their own."""
    words = [word.strip(".") for word in asked.text.partition("---")[0].split() if word[0].islower()][-200:]
    return " ".join(random.Random(0).sample(words, min(25, len(words)))) + "."


async def _seconds(setting: Setting, book: Book, reading: ReadingMode, connections: int) -> float:
    folder = setting.folder / "reaching" / f"{reading.value}-{connections}"
    async with Server(Kind(entry={"max_model_len": 8192}), _says, seconds=_ANSWER_S) as server:
        engine = RemoteEngine(parse_address(server.url), connections=connections)
        try:
            info = await engine.start()
            began = time.perf_counter()
            size = PAGE_SIZES["quality"]
            with MemoryStore(folder).open(
                book, MemoryRequest(info.name, info.fingerprint, size, ReadingMethod(reading))
            ) as kept:
                async for _ in read_book(kept, engine):
                    pass
            return time.perf_counter() - began
        finally:
            await engine.close()
