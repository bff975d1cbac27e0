"""What a person waits for who searches a long novel or jumps about in it.

Aims are those of two quiet cores.
"""

import random
import statistics
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from textual.pilot import Pilot

from gistread.book.model import Book
from gistread.book.open import open_book
from gistread.config import Config
from gistread.paths import Paths
from gistread.sample import story_path
from gistread.search.book_search import BookSearch, SearchMode
from gistread.tui.app import GistreadApp
from gistread.tui.screens.reading import ReadingScreen
from tests.benchmarks.figures import Finding, Spread, Table, Target
from tests.benchmarks.setting import Setting
from tests.benchmarks.texts import WAR_AND_PEACE

EXACT_MS = 50.0
RANKED_MS = 150.0
JUMP_MS = 60.0
_TYPED = (
    "Prince Andrew",
    "natasha",
    "the battle of borodino",
    "“well,",
    "said the count",
)
_JUMPS = 60


@dataclass(frozen=True, slots=True)
class _ScreenTimes:
    """Milliseconds of turns in which nothing happens, of jumps, and of keys of a search."""

    idle: list[float]
    jumps: list[float]
    searches: list[float]


async def measure(setting: Setting) -> AsyncIterator[Finding]:
    long = WAR_AND_PEACE.exists() and not setting.quick
    book = open_book(WAR_AND_PEACE if long else story_path())
    search = BookSearch(book)
    first = [
        (mode.value, _seconds(lambda mode=mode: search.prepare(mode)) * 1000)
        for mode in SearchMode
    ]
    yield Table(
        f"What a first search of {book.title} makes ready",
        ("search", "[ms]"),
        tuple(first),
    )
    keys = {
        mode: list(_per_key(search, mode))
        for mode in (SearchMode.EXACT, SearchMode.RANKED)
    }
    rows = tuple((mode.value, Spread.of(times)) for mode, times in keys.items())
    yield Table("A key of a search, until its hits are known", ("search", "[ms]"), rows)
    yield Target(
        "a key of an exact search [ms]",
        statistics.median(keys[SearchMode.EXACT]),
        at_most=EXACT_MS,
    )
    yield Target(
        "a key of a ranked search [ms]",
        statistics.median(keys[SearchMode.RANKED]),
        at_most=RANKED_MS,
    )
    jumps = 5 if setting.quick else _JUMPS
    times = await _on_screen(book, setting.folder / "moving", jumps)
    screen_rows = (
        ("nothing: Textual's own turn", Spread.of(times.idle)),
        ("a jump anywhere", Spread.of(times.jumps)),
        ("a key of an exact search, its hits on the screen", Spread.of(times.searches)),
    )
    yield Table("On the screen, 120 × 40", ("until it is drawn", "[ms]"), screen_rows)
    beyond = statistics.median(times.jumps) - statistics.median(times.idle)
    yield Target(
        "a jump anywhere beyond Textual's idle time [ms]", beyond, at_most=JUMP_MS
    )


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _per_key(search: BookSearch, mode: SearchMode) -> Iterator[float]:
    """Milliseconds of each key, as words are typed letter by letter."""
    for words in _TYPED:
        for end in range(1, len(words) + 1):
            yield 1000 * _seconds(lambda typed=words[:end]: search.find(typed, mode))


async def _on_screen(book: Book, folder: Path, jumps: int) -> _ScreenTimes:
    paths = Paths(
        folder / "config", folder / "data", folder / "cache", folder / "state"
    )
    app = GistreadApp(book, paths=paths, config=Config())
    places = random.Random(1)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = app.screen
        assert isinstance(screen, ReadingScreen)
        while screen.session is None:
            await pilot.pause(0.05)
        idle = [await _turn(pilot, lambda: None) for _ in range(jumps)]
        times = [
            await _turn(
                pilot,
                lambda: screen.controllers.navigation.jump(
                    places.randrange(len(book.text))
                ),
            )
            for _ in range(jumps)
        ]
        await pilot.press("slash")
        shown = []
        for end in range(1, len(_TYPED[0]) + 1):
            started = time.perf_counter()
            screen.input_line.query_one("#input-line-input").value = _TYPED[0][:end]  # type: ignore[attr-defined]
            while screen.controllers.search.hits.words != _TYPED[0][:end]:
                await pilot.pause()
            await pilot.pause()
            shown.append(1000 * (time.perf_counter() - started))
    return _ScreenTimes(idle, times, shown)


async def _turn(pilot: Pilot[None], do: Callable[[], object]) -> float:
    started = time.perf_counter()
    do()
    await pilot.pause()
    return 1000 * (time.perf_counter() - started)
