"""A series is read like any book, volume by volume."""

import itertools
from pathlib import Path

import pytest

from gistread.book.model import Book
from gistread.book.series import join_books
from gistread.memory.model import GistMemory, PageSize, ReadingMode
from gistread.memory.reading import read_book
from gistread.memory.store import MemoryRequest, MemoryStore
from gistread.memory.tree import PageRange, outline
from tests.fake_engine import FakeEngine
from tests.memory.books import make_book, prose

SIZE = PageSize(100, 300)


def volume(number: int) -> Book:
    """A book whose last chapter is a heading that the next volume must not take."""
    chapters = [
        [
            f"# Chapter {c}",
            *(prose(60, seed=1000 * number + 100 * c + i) for i in range(6)),
        ]
        for c in range(2)
    ]
    return make_book(
        ["# Part", "By Nobody"], *chapters, ["# The End"], title=f"Volume {number}"
    )


SAGA = join_books("Saga", (), [volume(number) for number in (1, 2, 3)])


def engine() -> FakeEngine:
    """Writes a distinct gist for every page, and chooses pauses by the prompt alone."""

    def says(prompt: str) -> str:
        return " ".join(prompt.removeprefix("Passage:\n\n").split()[-40:-20])

    return FakeEngine(
        says=says, chooses=lambda prompt, options: len(prompt) % len(options)
    )


async def read(
    directory: Path, mode: ReadingMode = ReadingMode.SINGLE_PASS
) -> GistMemory:
    with MemoryStore(directory).open(
        SAGA, MemoryRequest("fake", "f", SIZE, mode)
    ) as kept:
        async for _ in read_book(kept, engine()):
            pass
        return kept.memory


@pytest.mark.parametrize("mode", list(ReadingMode))
async def test_its_pages_cover_it_and_none_crosses_the_end_of_a_volume(
    tmp_path: Path, mode: ReadingMode
) -> None:
    memory = await read(tmp_path, mode)
    pages = [entry.page for entry in memory.entries]
    assert [page.number for page in pages] == list(range(1, len(pages) + 1))
    assert all(a.end == b.start for a, b in itertools.pairwise(pages))
    assert (pages[0].start, pages[-1].end) == (0, len(SAGA.text))
    assert {volume.heading for volume in SAGA.volumes} <= {page.start for page in pages}


def leaves(stretch: PageRange) -> list[int]:
    if stretch.children:
        return [page for child in stretch.children for page in leaves(child)]
    return [stretch.first]


async def test_the_volumes_stand_at_the_top_of_its_tree(tmp_path: Path) -> None:
    memory = await read(tmp_path)
    top = outline(memory)
    assert leaves(top) == [entry.page.number for entry in memory.entries]
    assert [memory.entry(child.first).page.start for child in top.children] == [
        volume.heading for volume in SAGA.volumes
    ]


async def test_a_bound_hides_unread_pages_and_titles_of_volumes(tmp_path: Path) -> None:
    memory = await read(tmp_path)
    bound = SAGA.volumes[1].start + 300
    known = memory.upto(bound)
    assert len(known.book.text) == bound
    assert "Volume" not in known.book.text
    assert not any("Volume" in entry.gist.text for entry in known.entries)
    assert outline(known).last == len(known.entries)
