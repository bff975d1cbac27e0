"""The index of the library: how fast it is built, its size, its searches and what they find.

A hundred books are indexed while pages are turned. Half-remembered questions look for a book each:
those of `which_book.tsv`, on which the weights in `library/index.py` were chosen.
"""

import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from gistread.config import Config
from gistread.library.adding import add_folder
from gistread.library.index import LibraryIndex
from gistread.library.indexing import start_indexing
from gistread.library.shelf import Shelf, open_shelf
from gistread.paths import Paths
from gistread.session.library import LibraryQuestion
from gistread.store.catalogue import Catalogue
from tests.benchmarks.figures import Finding, Skipped, Spread, Table, Target
from tests.benchmarks.recall import DATA
from tests.benchmarks.setting import Setting
from tests.tui.scripted import app_on, opened, paths_in

_FOLDERS = ("novels", "books", "litbank/novels", "epub/standardebooks")
_TURNS = 40


@dataclass(frozen=True, slots=True)
class _PageTurns:
    """Milliseconds of a page turned."""

    alone: Spread
    while_indexing: Spread
    indexing_s: float


async def measure(setting: Setting) -> AsyncIterator[Finding]:
    if not (DATA / "novels").exists():
        yield Skipped("the library", f"{DATA / 'novels'} is not there")
        return
    paths = paths_in(setting.folder / "library")
    for folder in _FOLDERS[-1:] if setting.quick else _FOLDERS:
        add_folder(Catalogue(paths), DATA / folder, lambda: False)
    turns = await _turned_while_indexed(paths, setting.folder / "reader")
    shelf = open_shelf(paths)
    texts = sum(len((shelf.text_of(book) or "").encode()) for book in shelf.books)
    size = sum(file.stat().st_size for file in LibraryIndex(paths).folder.iterdir())
    questions = [
        line.split("\t")
        for line in Path(__file__).with_name("which_book.tsv").read_text().splitlines()
    ]
    times = [
        _seconds(lambda words=words: shelf.search(words, 20)) for _, words in questions
    ]
    rows = (
        ("a page turned, alone [ms]", turns.alone),
        ("a page turned while books are indexed [ms]", turns.while_indexing),
    )
    yield Table(
        "The library", ("what", "value"), (("books", float(len(shelf.books))), *rows)
    )
    indexed = f"{len(shelf.books)} books indexed in the background [s]"
    yield Target(indexed, turns.indexing_s, at_most=90.0)
    slower_by = turns.while_indexing.median - turns.alone.median
    yield Target("a page turned is slower by [ms]", slower_by, at_most=20.0)
    yield Target("the index, as a share of the texts", size / texts, at_most=0.4)
    yield Target("a search [ms]", 1000 * median(times), at_most=200.0)
    ranks = [_rank(shelf, name, question) for name, question in questions]
    yield Target(
        "the right book first",
        sum(rank == 0 for rank in ranks) / len(ranks),
        at_least=0.75,
    )
    yield Target(
        "the right book among three",
        sum(rank < 3 for rank in ranks) / len(ranks),
        at_least=0.9,
    )


async def _turned_while_indexed(paths: Paths, home: Path) -> _PageTurns:
    app = app_on(
        DATA / "epub" / "standardebooks" / "mary-shelley_frankenstein.epub", home
    )
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)

        async def turn() -> float:
            began = time.perf_counter()
            await pilot.press("space")
            return 1000 * (time.perf_counter() - began)

        alone = [await turn() for _ in range(_TURNS)]
        began = time.perf_counter()
        indexer = start_indexing(paths)
        beside = [await turn() for _ in range(_TURNS)]
        while indexer.poll() is None:
            beside.append(await turn())
        return _PageTurns(
            Spread.of(alone), Spread.of(beside), time.perf_counter() - began
        )


def _rank(shelf: Shelf, name: str, question: str) -> int:
    library_question = LibraryQuestion(question, shelf, Config(), unread=True)
    titles = [
        candidate.book.path.stem for candidate in library_question.candidates()[0]
    ]
    return titles.index(name) if name in titles else len(titles) + 3


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
