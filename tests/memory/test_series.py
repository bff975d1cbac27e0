"""The memory of a series shares the pages of its volumes."""

import asyncio
import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest

from gistread.book.model import Book
from gistread.book.series import join_books
from gistread.memory.model import (
    GistFocus,
    GistMemory,
    GistSource,
    MemoryEntry,
    PageSize,
    PageSizes,
    ReadingMode,
)
from gistread.memory.reading import PageRead, read_book
from gistread.memory.store import MemoryRequest, MemoryStore
from gistread.memory.tree import PageRange, outline
from gistread.memory.writer import MemoryWriter
from tests.fake_engine import FakeEngine
from tests.memory.books import make_book, prose

SIZE = PageSize(100, 300)


def volume(number: int, chapters: int = 2, words: int = 60) -> Book:
    """A book whose last chapter is a heading that the next volume must not take."""
    told = [
        [f"# Chapter {c}", *(prose(words, seed=1000 * number + 100 * c + i) for i in range(6))] for c in range(chapters)
    ]
    return make_book(["# Part", "By Nobody"], *told, ["# The End"], title=f"Volume {number}")


ONE, TWO, THREE = (volume(number) for number in (1, 2, 3))
SAGA = join_books("Saga", (), [ONE, TWO])
LONGER = join_books("Saga", (), [ONE, TWO, THREE])


def engine(**script: object) -> FakeEngine:
    """Writes a distinct gist for every page, and chooses pauses by the prompt alone."""

    def says(prompt: str) -> str:
        return " ".join(prompt.removeprefix("Passage:\n\n").split()[-40:-20])

    return FakeEngine(says=says, chooses=lambda prompt, options: len(prompt) % len(options), **script)  # type: ignore[arg-type]


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path)


async def read(store: MemoryStore, book: Book, model: FakeEngine, size: PageSizes = SIZE, **how: object) -> GistMemory:
    with store.open(book, MemoryRequest("fake", "f", size, **how)) as kept:  # type: ignore[arg-type]
        async for _ in read_book(kept, model):
            pass
        return kept.memory


def told(entries: Sequence[MemoryEntry], by: int = 0, until: int = 10**9) -> list[tuple[int, int, str, GistSource]]:
    """Gists and bounds of pages, shifted back by `by` characters."""
    return [(e.page.start - by, min(e.page.end, until) - by, e.gist.text, e.gist.source) for e in entries]


def of_volume(memory: GistMemory, index: int) -> list[tuple[int, int, str, GistSource]]:
    """The pages of a volume as its own memory would have them."""
    one = memory.book.volumes[index]
    inside = [entry for entry in memory.entries if one.start <= entry.page.start < one.end]
    return told(inside, one.start, one.end)


@pytest.mark.parametrize("reading", list(ReadingMode))
async def test_the_volumes_of_a_series_are_read_as_they_are_alone(tmp_path: Path, reading: ReadingMode) -> None:
    series = await read(MemoryStore(tmp_path / "series"), SAGA, engine(), mode=reading)
    assert series.complete
    for index, book in enumerate((ONE, TWO)):
        alone = await read(MemoryStore(tmp_path / "alone"), book, engine(), mode=reading)
        assert of_volume(series, index) == told(alone.entries)


async def test_pages_are_consecutive_and_each_volume_starts_with_a_title_page(store: MemoryStore) -> None:
    memory = await read(store, SAGA, engine())
    pages = [entry.page for entry in memory.entries]
    assert [page.number for page in pages] == list(range(1, len(pages) + 1))
    assert all(a.end == b.start for a, b in itertools.pairwise(pages))
    assert (pages[0].start, pages[-1].end) == (0, len(SAGA.text))
    titles = [entry for entry in memory.entries if SAGA.is_volume_heading(entry.page.start)]
    assert [(entry.gist.text, entry.gist.source) for entry in titles] == [
        ("Volume 1", GistSource.VERBATIM),
        ("Volume 2", GistSource.VERBATIM),
    ]


async def test_pages_of_a_series_are_reused_by_its_volumes_and_by_a_longer_series(store: MemoryStore) -> None:
    memory = await read(store, SAGA, engine())
    model = engine()
    assert told((await read(store, TWO, model)).entries) == of_volume(memory, 1)
    assert model.calls == []
    longer = await read(store, LONGER, model)
    third = engine()
    await read(MemoryStore(store.directory / "other"), THREE, third)
    assert len(model.calls) == len(third.calls) > 0
    assert of_volume(longer, 0) == of_volume(memory, 0)
    swapped = engine()
    await read(store, join_books("Another", (), [THREE, ONE, TWO]), swapped)
    assert swapped.calls == []


async def test_a_stopped_reading_resumes_anywhere_without_repeating_work(tmp_path: Path) -> None:
    whole, model = MemoryStore(tmp_path / "whole"), engine()
    wanted = await read(whole, SAGA, model)
    store = MemoryStore(tmp_path / "stopped")
    gisted = 0
    while True:
        with store.open(SAGA, MemoryRequest("fake", "f", SIZE)) as kept:
            events = read_book(kept, engine())
            async for event in events:
                gisted += isinstance(event, PageRead)
                if isinstance(event, PageRead):
                    break
            await events.aclose()
            if kept.memory.complete:
                break
    assert told(kept.memory.entries) == told(wanted.entries)
    assert len(kept.memory.entries) == len(wanted.entries)


class TestItsMemories:
    """The memories that `find` returns."""

    async def test_headers_reach_up_to_the_first_gap(self, store: MemoryStore) -> None:
        assert store.find(SAGA) == []
        await read(store, TWO, engine())
        assert [header.pages for header in store.find(SAGA)] == [0]
        await read(store, ONE, engine())
        (header,) = store.find(SAGA)
        loaded = store.load(SAGA, header)
        assert header.complete
        assert (header.pages, header.read_until) == (len(loaded.entries), len(SAGA.text))
        assert loaded.complete
        assert header.describes(loaded)
        assert not store.find(LONGER)[0].complete

    async def test_headers_differ_by_model_and_focus(self, store: MemoryStore) -> None:
        await read(store, ONE, engine())
        await read(store, TWO, engine(), focus=GistFocus(task="who did it"))
        found = store.find(SAGA)
        assert [header.focus.task for header in found] == ["", "who did it"]
        assert [header.pages > 0 for header in found] == [True, False]
        assert len({header.path for header in found}) == 2

    async def test_memories_are_reopened_with_their_page_sizes(self, store: MemoryStore) -> None:
        await read(store, ONE, engine(), PageSize(60, 120))
        (header,) = store.find(SAGA)
        model = engine()
        kept = store.reopen(SAGA, header, (SIZE, SIZE))
        assert kept is not None
        with kept:
            assert header.describes(kept.memory)
            assert kept.memory.read_until == SAGA.volumes[1].heading
            assert kept.size_at(0) == PageSize(60, 120)
            assert kept.size_at(len(SAGA.text)) == SIZE
            async for _ in read_book(kept, model):
                pass
        alone = engine()
        await read(MemoryStore(store.directory / "other"), TWO, alone)
        assert len(model.calls) == len(alone.calls)


async def test_a_volume_open_in_another_process_is_read_without_saving(store: MemoryStore) -> None:
    with store.open(TWO, MemoryRequest("fake", "f", SIZE)), store.open(SAGA, MemoryRequest("fake", "f", SIZE)) as kept:
        assert kept.notice.startswith("Volume 2: ")
        assert not kept.is_saved
        async for _ in read_book(kept, engine()):
            pass
        assert kept.memory.complete
    assert store.find(ONE)[0].complete


def leaves(stretch: PageRange) -> list[int]:
    return [page for child in stretch.children for page in leaves(child)] if stretch.children else [stretch.first]


async def test_the_volumes_stand_at_the_top_of_its_tree(store: MemoryStore) -> None:
    memory = await read(store, LONGER, engine())
    top = outline(memory)
    assert len(top.children) == 3
    assert leaves(top) == [entry.page.number for entry in memory.entries]
    for child, one in zip(top.children, LONGER.volumes, strict=True):
        assert memory.entry(child.first).page.start == one.heading
        assert LONGER.volume_index(memory.entry(child.last).page.start) == LONGER.volumes.index(one)
    alone = outline(await read(store, ONE, engine()))

    def shape(stretch: PageRange, by: int) -> object:
        return [shape(c, by) for c in stretch.children] if stretch.children else stretch.first - by

    title, *inside = top.children[0].children
    assert title == PageRange(0, 1, 1)
    assert [shape(one, 1) for one in inside] == [shape(one, 0) for one in alone.children]


async def test_a_bound_hides_unread_pages_and_titles_of_volumes(store: MemoryStore) -> None:
    memory = await read(store, SAGA, engine())
    bound = SAGA.volumes[1].start + 300
    known = memory.upto(bound)
    assert len(known.book.text) == bound
    assert "Volume" not in known.book.text
    assert not any("Volume" in entry.gist.text for entry in known.entries)
    assert known.book.text.replace(" ", "").startswith("1\n\n")
    assert [entry.page.start for entry in known.entries] == [
        entry.page.start for entry in memory.entries if entry.page.start < bound
    ]
    assert outline(known).last == len(known.entries)


async def test_a_series_can_be_cancelled_while_it_is_read(store: MemoryStore) -> None:
    kept: MemoryWriter = store.open(SAGA, MemoryRequest("fake", "f", SIZE))
    with kept:
        task = asyncio.create_task(anext(read_book(kept, engine())))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    kept.close()
