"""Beside the book stand names, and no second copy of it, where gists are quotations."""

import asyncio
import gc
import re
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from gistread.book.open import open_book
from gistread.config import Config
from gistread.memory.model import GistMemory, GistSource
from gistread.people.sections import SectionNames
from gistread.sample import story_path
from gistread.session.session import Session
from gistread.store.model import NameCorrection
from gistread.store.user_data import UserData
from gistread.tui.screens.reading import ReadingScreen
from tests.book.data import needs_novels, novel
from tests.tui.scripted import (
    SteppedEngine,
    app_on,
    opened,
    paths_in,
    text_of,
    until,
    until_shown,
)
from tests.tui.test_never_ahead import memory_of


def with_source(memory: GistMemory, source: GistSource) -> GistMemory:
    """The memory with gists of this kind, each the first sentence of its section."""
    for at, entry in enumerate(memory.entries):
        sentence = memory.text_of(entry.page).split("\n")[-1].partition(". ")[0]
        gist = replace(entry.gist, text=sentence, source=source)
        memory.entries[at] = replace(entry, gist=gist)
    return memory


async def quoted(
    pilot: Pilot[None], source: GistSource = GistSource.QUOTED
) -> ReadingScreen:
    """The screen with a memory of the whole book whose gists are quotations."""
    screen = await opened(pilot)
    assert screen.book is not None
    screen.memory_pane.show_memory(with_source(memory_of(screen.book), source))
    screen.redraw_lines()
    await until(pilot, lambda: screen.memory_pane.view.names)
    return screen


def names_in(screen: ReadingScreen) -> list[str]:
    """Every name that the pane may show."""
    shown = screen.memory_pane.view.names.values()
    return [
        name for names in shown for name in names.people + names.places + names.known
    ]


async def test_names_are_found_anew_before_the_last_search_has_begun(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    app = app_on(story_path(), tmp_path, config=Config())
    async with app.run_test(size=(160, 50)) as pilot:
        screen = await quoted(pilot)
        controllers = screen.controllers
        for other in ("Ash", "Finch"):
            correction = NameCorrection("merge", ("Lucy",), other)
            controllers.context.corrections = (correction,)
            controllers.section_names.update()
        await pilot.pause()
        gc.collect()
    unawaited = [str(entry.message) for entry in recwarn if "awaited" in str(entry)]
    assert not unawaited


async def test_names_stand_in_place_of_quotations_and_enter_opens_the_text(
    tmp_path: Path,
) -> None:
    app = app_on(story_path(), tmp_path, config=Config())
    async with app.run_test(size=(160, 50)) as pilot:
        screen = await quoted(pilot)
        pane = screen.memory_pane
        await pilot.press(*["space"] * 2)
        await until(pilot, lambda: "Lucy" in str(pane.view.names))
        gists = [entry.gist.text for entry in pane.memory.entries]
        beside = " ".join(block.text for block in pane.blocks)
        assert not [gist for gist in gists if gist in beside]
        titles = [names.title for names in pane.view.names.values() if names.people]
        assert "Lucy" in str(titles)
        assert not [title for title in titles if title not in beside]
        await until(
            pilot, lambda: re.search(r"Memory .*sections · who comes in", text_of(app))
        )
        await pilot.press("tab", "enter")
        await until_shown(pilot, "opened by you")
        assert pane.chosen is not None
        opened_text = pane.memory.text_of(pane.memory.entry(pane.chosen).page)
        assert opened_text.split("\n")[-1] in [block.text for block in pane.blocks]


def is_level(screen: ReadingScreen) -> bool:
    """Whether the reader's section begins in the same row of the terminal in memory and book."""
    pane, book = screen.memory_pane, screen.book_pane
    number = pane.view.here
    block = pane._index.find_key(("page", number))
    assert number is not None
    assert block is not None
    first = pane._index.first_row(block) + pane._index.layout(block).above
    start = pane.memory.entry(number).page.start
    in_book = book.row_in_view(start) + book.content_region.y
    return first - pane.scroll_offset.y + pane.content_region.y == in_book


async def test_the_section_stays_level_with_its_text_when_names_or_the_reader_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = open_book(story_path())
    place = round(len(book.text) * 0.45)
    UserData(paths_in(tmp_path)).set_position(book.sha256, place, read=[(0, place)])
    app = app_on(book, tmp_path, config=Config())
    async with app.run_test(size=(160, 50)) as pilot:
        screen = await quoted(pilot)
        pane = screen.memory_pane
        await until(pilot, lambda: "Lucy" in str(pane.view.names))
        await until(pilot, lambda: is_level(screen))
        activity = replace(screen.session.activity, read_by="another model")
        monkeypatch.setattr(Session, "activity", activity)
        screen.redraw_lines()
        await until_shown(pilot, "read by another model")
        await until(pilot, lambda: is_level(screen))


async def test_another_memory_with_the_same_sections_is_named_too(
    tmp_path: Path,
) -> None:
    app = app_on(story_path(), tmp_path, config=Config())
    async with app.run_test(size=(110, 30)) as pilot:
        screen = await quoted(pilot)
        names = dict(screen.memory_pane.view.names)
        await quoted(pilot)
        assert screen.memory_pane.view.names == names


async def test_a_section_without_a_gist_in_a_memory_in_own_words_is_named_too(
    tmp_path: Path,
) -> None:
    app = app_on(story_path(), tmp_path, config=Config())
    async with app.run_test(size=(110, 30)) as pilot:
        screen = await quoted(pilot, GistSource.EXTRACTIVE)
        pane = screen.memory_pane
        first = pane.memory.entry(1)
        own = replace(first.gist, text="Nora crosses.", source=GistSource.MODEL)
        pane.memory.entries[0] = replace(first, gist=own)
        await pilot.press(*["space"] * 4)
        await until(pilot, lambda: "Lucy" in str(pane.view.names))
        await until(
            pilot, lambda: "Nora crosses." in [block.text for block in pane.blocks]
        )
        start = next(
            start for start, names in pane.view.names.items() if "Lucy" in names.people
        )
        key = "page", pane.memory.page_at(start).number
        row = [block for block in pane.blocks if block.key == key]
        assert row[0].text == pane.view.names[start].title
        assert row[-1].tail == "no gist"
        assert "who comes in" not in text_of(app)


async def test_where_names_are_not_found_a_section_is_called_by_its_first_words(
    tmp_path: Path,
) -> None:
    german = tmp_path / "Buch.txt"
    sentence = (
        "Der alte Wächter ging am Abend langsam über die Brücke und sah den Fluss. "
    )
    german.write_text(f"Kapitel 1\n\n{sentence * 400}\n\nKapitel 2\n\n{sentence * 400}")
    app = app_on(german, tmp_path, config=Config())
    async with app.run_test(size=(110, 30)) as pilot:
        screen = await opened(pilot)
        assert screen.book is not None
        pane = screen.memory_pane
        pane.show_memory(with_source(memory_of(screen.book), GistSource.QUOTED))
        screen.redraw_lines()
        first = "“Der alte Wächter ging am Abend langsam über\u00a0…”"
        await until(pilot, lambda: first in [block.text for block in pane.blocks])
        assert "who comes in" not in text_of(app)


async def test_no_guide_is_shown_before_a_saved_memory_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_load = asyncio.Event()

    async def wait(_: Session) -> None:
        await may_load.wait()

    monkeypatch.setattr(Session, "show_saved_memory", wait)
    engine = SteppedEngine(says=lambda _: "Nora crosses.")
    engine.load_gate.clear()  # Without a model, an empty memory is hidden.
    app = app_on(story_path(), tmp_path, engine, Config())
    async with app.run_test(size=(110, 30)) as pilot:
        await until_shown(pilot, "Nora")
        await pilot.pause()
        assert "A model reads along" not in text_of(app)
        may_load.set()
        await until_shown(pilot, "A model reads along")


async def walk(pilot: Pilot[None], screen: ReadingScreen) -> int:
    """Read the book to its end; returns the most names shown. None may be ahead."""
    pane, book = screen.memory_pane, screen.book_pane
    text = pane.memory.book.text
    shown = most = 0
    while True:
        view = book.visible_range
        shown = max(shown, view[1])
        named = names_in(screen)
        most = max(most, len(named))
        seen = text[:shown]
        assert not [name for name in named if name.removeprefix("the ") not in seen]
        if view[1] >= len(text.rstrip()):
            return most
        await pilot.press("space")
        await until(pilot, lambda view=view: book.visible_range != view)
        await pilot.pause()


@pytest.mark.parametrize("size", [(80, 24), (160, 50)])
async def test_no_name_of_the_sample_is_told_ahead(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    app = app_on(story_path(), tmp_path, config=Config())
    async with app.run_test(size=size) as pilot:
        assert await walk(pilot, await quoted(pilot)) > 10


@needs_novels
@pytest.mark.slow
@pytest.mark.parametrize("name", ["wells_the-invisible-man", "austen_emma"])
async def test_no_name_of_a_novel_is_told_ahead(tmp_path: Path, name: str) -> None:
    app = app_on(novel(name), tmp_path, config=Config())
    async with app.run_test(size=(110, 30)) as pilot:
        assert await walk(pilot, await quoted(pilot)) > 30


async def test_a_section_in_which_nobody_enters_names_those_who_were_known(
    tmp_path: Path,
) -> None:
    app = app_on(story_path(), tmp_path, config=Config())
    async with app.run_test(size=(110, 30)) as pilot:
        screen = await quoted(pilot)
        pane = screen.memory_pane
        await pilot.press(*["space"] * 4)
        start = pane.memory.entry(2).page.start
        names = {start: SectionNames(known=("Nora Vell", "Amos"))}
        pane.change_view(names={**pane.view.names, **names})
        row = [block for block in pane.blocks if block.key == ("page", 2)]
        assert [block.text for block in row] == ["with Nora Vell, Amos"]
