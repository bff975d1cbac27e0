"""A model reads a book, is stopped, and resumes."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gistread.book.model import Book, ParagraphKind
from gistread.errors import EngineError
from gistread.memory.front_matter import (
    StoryPart,
    front_matter_end,
    imprint_start,
    without_imprint,
)
from gistread.memory.model import (
    Gist,
    GistMemory,
    GistSource,
    MemoryEntry,
    Page,
    PageSize,
    ReadingMode,
)
from gistread.memory.reading import PageFound, PageRead, characters_left, read_book
from gistread.memory.store import MemoryRequest, MemoryStore
from gistread.prompts import TRAINED
from tests.fake_engine import FakeEngine
from tests.memory.books import make_book, prose
from tests.memory.test_gisting import PAGE

BOOK = make_book(
    ["# One", "By Nobody"],
    ["# Two", *(prose(60, seed=i) for i in range(8))],
    ["# Three", *(prose(60, seed=i) for i in range(10, 16))],
)
SIZE = PageSize(100, 300)


def engine(**script: Any) -> FakeEngine:
    """Chooses the second label and shortens a page to its first sentences."""

    def says(prompt: str) -> str:
        return " ".join(prompt.removeprefix("Passage:\n\n").split()[:20])

    return FakeEngine(
        says=says, chooses=lambda _, options: min(1, len(options) - 1), **script
    )


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path)


async def read_through(
    store: MemoryStore, model: FakeEngine, reading: ReadingMode = ReadingMode.CAREFUL
) -> GistMemory:
    with store.open(BOOK, MemoryRequest("fake", "f", SIZE, reading)) as kept:
        async for _ in read_book(kept, model):
            pass
        return kept.memory


def contents(memory: GistMemory) -> list[tuple[Page, Gist]]:
    return [(entry.page, entry.gist) for entry in memory.entries]


async def test_every_page_is_found_then_gisted_then_the_book_is_finished(
    store: MemoryStore,
) -> None:
    with store.open(BOOK, MemoryRequest("fake", "f", SIZE)) as kept:
        events = [event async for event in read_book(kept, engine())]
    kinds = [type(event) for event in events]
    assert kinds == [PageFound, PageRead] * (len(events) // 2)
    pages = [event.page for event in events if isinstance(event, PageFound)]
    assert pages == [
        event.entry.page for event in events if isinstance(event, PageRead)
    ]
    assert kept.memory.complete


async def test_a_page_is_saved_before_it_is_reported(store: MemoryStore) -> None:
    saved: dict[int, int] = {}
    with store.open(BOOK, MemoryRequest("fake", "f", SIZE)) as writer:
        async for event in read_book(writer, engine()):
            if isinstance(event, PageRead):
                saved[event.entry.page.number] = store.find(BOOK)[0].pages
    assert list(saved) == list(range(1, len(saved) + 1))
    assert list(saved.values()) == list(saved)


async def test_a_reading_stopped_anywhere_ends_with_the_same_memory(
    tmp_path: Path,
) -> None:
    whole = await read_through(MemoryStore(tmp_path / "whole"), engine())
    pages = len(whole.entries)
    for steps in range(0, 120, 7):
        store = MemoryStore(tmp_path / str(steps))
        first, second = engine(), engine()
        task = asyncio.create_task(read_through(store, first))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        kept_before = sum(header.pages for header in store.find(BOOK))
        again = await read_through(store, second)
        assert [e.page for e in again.entries] == [e.page for e in whole.entries]
        assert [e.gist for e in again.entries] == [e.gist for e in whole.entries]
        gists = [call for call in second.calls if call.kind == "complete"]
        verbatim = 1
        assert len(gists) <= pages - max(kept_before, verbatim)


@pytest.mark.parametrize("lost", [range(1, 2), range(2, 4), range(1, 5)])
@pytest.mark.parametrize("reading", ReadingMode)
async def test_pages_after_a_gap_stay_though_the_model_now_pauses_elsewhere(
    tmp_path: Path, reading: ReadingMode, lost: range
) -> None:
    whole = await read_through(MemoryStore(tmp_path / "whole"), engine(), reading)
    store, request = (
        MemoryStore(tmp_path / "gap"),
        MemoryRequest("fake", "f", SIZE, reading),
    )
    with store.open(BOOK, request) as kept:
        for index, entry in enumerate(whole.entries):
            if index not in lost:
                kept.add(entry)
    chooses_last = FakeEngine(
        says="A gist of the page.", chooses=lambda _, options: len(options) - 1
    )
    again = await read_through(store, chooses_last, reading)
    assert again.complete
    kept_pages = [
        entry.page.start
        for index, entry in enumerate(whole.entries)
        if index not in lost
    ]
    assert {*kept_pages} <= {entry.page.start for entry in again.entries}
    assert all(entry.page.words <= SIZE.max_words for entry in again.entries)
    assert [entry.page.end for entry in again.entries[:-1]] == [
        entry.page.start for entry in again.entries[1:]
    ]


async def test_an_engine_that_fails_loses_only_the_page_in_flight(
    store: MemoryStore,
) -> None:
    failing = FakeEngine(
        says=["w0x1 w0x2 w0x3 w0x4 w0x5 w0x6 w0x7.", EngineError("The model died.")]
    )
    with store.open(BOOK, MemoryRequest("fake", "f", SIZE)) as kept:
        with pytest.raises(EngineError):
            async for _ in read_book(kept, failing):
                pass
        assert len(kept.memory.entries) == 2
    assert store.find(BOOK)[0].pages == 2


async def test_reading_from_the_current_chapter_ends_with_the_same_memory(
    store: MemoryStore,
) -> None:
    whole = await read_through(MemoryStore(store.directory / "whole"), engine())
    third = BOOK.chapters[2]
    with store.open(BOOK, MemoryRequest("fake", "f", SIZE)) as kept:
        assert characters_left(kept, StoryPart()) == len(BOOK.text)
        order = []
        async for event in read_book(kept, engine(), place=lambda: third.start + 10):
            if isinstance(event, PageRead):
                order.append(event.entry.page.start)
                assert characters_left(kept, StoryPart()) < len(BOOK.text)
                if event.entry.page.start < third.start:
                    break
        assert order[:-1]
        assert min(order[:-1]) >= third.start
        assert not kept.memory.complete
    # What was read ahead has been kept
    with store.open(BOOK, MemoryRequest("fake", "f", SIZE)) as kept:
        assert [entry.page.start for entry in kept.memory.read_entries] == sorted(order)
    finished = await read_through(store, engine())
    assert contents(finished) == contents(whole)


@pytest.mark.parametrize("reading", ReadingMode)
async def test_the_chapter_to_which_the_person_moves_comes_next_and_the_memory_ends_the_same(
    store: MemoryStore, reading: ReadingMode
) -> None:
    whole = await read_through(
        MemoryStore(store.directory / "whole"), engine(), reading
    )
    places = [0]
    third = BOOK.chapters[2]
    with store.open(BOOK, MemoryRequest("fake", "f", SIZE, reading)) as kept:
        order = []
        async for event in read_book(kept, engine(), place=lambda: places[-1]):
            if isinstance(event, PageRead) and event.entry.page.start not in order:
                order.append(event.entry.page.start)
                places.append(third.start + 10)
        moved = order.index(third.start)
        assert moved <= 3
        assert order[:moved] == sorted(order[:moved])
        assert order[moved + 1] > third.start
        assert contents(kept.memory) == contents(whole)


@pytest.mark.parametrize(
    ("opening", "skipped"), [("I. The House,\nII. The Ride,", True), (prose(60), False)]
)
def test_a_title_page_without_a_chapter_of_its_own_is_front_matter(
    opening: str, *, skipped: bool
) -> None:
    book = make_book(
        ["The Ride", "By Nobody", opening, "# I. The House", prose(60)],
        ["# II. The Ride", prose(60)],
    )
    heading = next(
        paragraph.start
        for paragraph in book.paragraphs
        if paragraph.kind is ParagraphKind.HEADING
    )
    assert front_matter_end(book) == (heading if skipped else 0)


def test_the_half_title_of_a_view_is_front_matter() -> None:
    book = make_book(
        ["# The Ride", "By Nobody"],
        ["# Imprint", prose(60)],
        ["# The Ride"],
        ["# One", prose(60)],
        title="The Ride",
    )
    titles = ("Titlepage", "Imprint", "The Ride", "One")
    chapters = tuple(
        replace(chapter, title=title)
        for chapter, title in zip(book.chapters, titles, strict=True)
    )
    book = replace(book, chapters=chapters)
    first = book.chapters[-1].start
    assert front_matter_end(book) == first
    assert front_matter_end(book.upto(first + 40)) == first


async def test_no_model_reads_the_front_matter(store: MemoryStore) -> None:
    imprint = prose(150, seed=99)
    book = make_book(
        ["# Us", "By Nobody"],
        ["# Who", imprint],
        ["# One", *(prose(60, seed=i) for i in range(4))],
    )
    titles = ("Title Page", "IMPRINT", "One")
    chapters = tuple(
        replace(chapter, title=title)
        for chapter, title in zip(book.chapters, titles, strict=True)
    )
    book = replace(book, chapters=chapters)
    model = engine()
    with store.open(book, MemoryRequest("fake", "f", SIZE)) as kept:
        async for _ in read_book(kept, model):
            pass
    assert kept.memory.complete
    sources = [entry.gist.source for entry in kept.memory.entries]
    assert sources[:2] == [GistSource.VERBATIM, GistSource.EXTRACTIVE]
    assert set(sources[2:]) == {GistSource.MODEL}
    assert not any(imprint[:40] in call.text for call in model.calls)


@pytest.mark.parametrize("words", [30, 200])
async def test_a_gist_of_own_sentences_leaves_out_the_heading(
    store: MemoryStore, words: int
) -> None:
    book = make_book(["# Chapter 8: The Lamp Goes Out", prose(words)])
    model = FakeEngine(says=lambda _: "")
    with store.open(book, MemoryRequest("fake", "f", SIZE)) as kept:
        async for _ in read_book(kept, model):
            pass
    (entry,) = kept.memory.entries
    assert entry.is_quotation == (words > 30)
    assert entry.gist.text.startswith("W0x0")


@pytest.mark.parametrize(("passes", "second"), [(False, 3), (True, 15)])
async def test_second_attempts_end_if_none_of_three_passed(
    store: MemoryStore, passes: bool, second: int
) -> None:
    book = make_book([prose(70, seed=i) for i in range(15)])
    tried = 0

    def says(prompt: str) -> str:
        nonlocal tried
        tried += "in plain sentences of your own" in prompt
        if passes and "in plain sentences of your own" in prompt:
            return " ".join(prompt.split()[2:20])
        return ""

    with store.open(book, MemoryRequest("fake", "f", PageSize(60, 80))) as kept:
        events = [
            event
            async for event in read_book(kept, FakeEngine(says=says))
            if isinstance(event, PageRead)
        ]
    assert (len(events), tried, sum(event.retries for event in events)) == (
        15,
        second,
        second,
    )
    assert sum(len(event.faults) for event in events) == 15 + (0 if passes else 3)


@pytest.mark.parametrize(
    ("wording", "source"),
    [("", GistSource.MODEL), (TRAINED, GistSource.EXTRACTIVE)],
    ids=["a good model", "starter"],
)
async def test_a_gist_may_name_the_narrator_whom_an_earlier_page_named(
    store: MemoryStore, wording: str, source: GistSource
) -> None:
    first_page = (
        "It was the landlord who called me Watson in front of everybody at "
        "the table that evening."
    )
    book = make_book([f"{first_page} {prose(90)}"], [PAGE])
    model = FakeEngine(
        says=lambda _: (
            "They tell Watson that Holloway finds the Marigold gone; Tamsin saw nobody go."
        )
    )
    model._info = replace(model.info, wording=wording)
    with store.open(book, MemoryRequest("fake", "f", SIZE)) as kept:
        gists = [
            event.entry.gist
            async for event in read_book(kept, model)
            if isinstance(event, PageRead)
        ]
    assert gists[-1].source is source


def with_colophon(colophon: str) -> Book:
    """Two chapters, endnotes and a colophon."""
    book = make_book(
        ["# One", *(prose(60, seed=i) for i in range(4))],
        ["# Two", *(prose(60, seed=i) for i in range(4, 8))],
        ["# Endnotes", prose(40, seed=9)],
        ["# Colophon", colophon],
    )
    titles = ("One", "Two", "Endnotes", "Colophon")
    chapters = tuple(
        replace(chapter, title=title)
        for chapter, title in zip(book.chapters, titles, strict=True)
    )
    return replace(book, chapters=chapters)


async def test_no_model_reads_the_colophon_which_comes_last(store: MemoryStore) -> None:
    colophon = prose(150, seed=99)
    book = with_colophon(colophon)
    start = book.chapters[-1].start
    assert imprint_start(book) == start
    model = engine()
    with store.open(book, MemoryRequest("fake", "f", SIZE)) as kept:
        story = StoryPart.of(book)
        assert characters_left(kept, story) == start - story.start
        events = [event async for event in read_book(kept, model, place=lambda: start)]
        assert characters_left(kept, story) == 0
    read = [event.entry.page.start for event in events if isinstance(event, PageRead)]
    assert kept.memory.complete
    assert read[-1] >= start
    assert not any(colophon[:40] in call.text for call in model.calls)


def test_a_colophon_before_the_notes_is_told_since_the_model_reads_it() -> None:
    book = with_colophon(prose(150, seed=99))
    *story, notes, colophon = book.chapters
    titles = ("One", "Two", "Colophon", "Endnotes")
    chapters = tuple(
        replace(chapter, title=title)
        for chapter, title in zip(book.chapters, titles, strict=True)
    )
    book = replace(book, chapters=chapters)
    sections = [
        MemoryEntry(
            Page(number, chapter.start, chapter.end, 40),
            Gist("A gist.", 2, GistSource.MODEL),
        )
        for number, chapter in enumerate((*story, notes, colophon), 1)
    ]
    memory = GistMemory(book, SIZE, "fake", sections)
    assert imprint_start(book) == len(book.text)
    assert without_imprint(memory, book).entries == memory.entries


def test_the_memory_tells_the_notes_and_not_the_colophon() -> None:
    book = with_colophon(prose(150, seed=99))
    *_, notes, colophon = book.chapters
    part = StoryPart.of(book)
    assert not part.leaves_out(Page(1, notes.start, notes.end, 40))
    assert part.leaves_out(Page(2, colophon.start, colophon.end, 150))
