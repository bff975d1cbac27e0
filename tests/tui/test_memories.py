"""Choosing among memories of a book, other presets and tasks."""

from pathlib import Path

import pytest
from textual.pilot import Pilot

from gistread.config import Config
from gistread.engine.models import ModelSource
from gistread.memory.model import DEFAULT_FOCUS, GistFocus
from gistread.memory.store import MemoryHeader, MemoryRequest, MemoryStore
from gistread.presets import built_in_presets
from gistread.session.events import ReadingState
from gistread.tui.opening import BookModel, model_of, model_that_read
from gistread.tui.screens.listing import ListScreen
from gistread.tui.screens.reading import ReadingScreen
from tests.readers.memories import make_memory
from tests.tui.books import small_book
from tests.tui.scripted import (
    SteppedEngine,
    app_on,
    opened,
    paths_in,
    read_whole,
    text_of,
    type_text,
    until,
    until_read,
    until_shown,
)

SIZE = (110, 40)
TASK = "who minds the lamp?"


def kept(folder: Path) -> list[MemoryHeader]:
    return MemoryStore(paths_in(folder).memories).find(small_book())


def focus_on(screen: ReadingScreen) -> GistFocus | None:
    return screen.memory_pane.memory.focus if screen.memory_pane.memory else None


def engine_that(says: str) -> SteppedEngine:
    return SteppedEngine(says=lambda _: says)


async def read_for(pilot: Pilot[None], screen: ReadingScreen, focus: GistFocus) -> None:
    """Read the book to its end for this task."""
    assert screen.session is not None
    await screen.session.use_memory(focus)
    await until(pilot, lambda: focus_on(screen) == focus)
    await until_read(pilot, screen)


async def chooser(pilot: Pilot[None], key: str) -> None:
    await pilot.press(key)
    await until(pilot, lambda: isinstance(pilot.app.screen, ListScreen))
    await pilot.pause()


async def test_another_preset_makes_a_second_memory(tmp_path: Path) -> None:
    app = app_on(
        small_book(),
        tmp_path,
        engine := engine_that("The lamp and the boy are spoken of."),
    )
    async with app.run_test(size=SIZE) as pilot:
        screen = await read_whole(pilot)
        assert "as a meeting" not in text_of(app)
        await chooser(pilot, "D")
        shown = text_of(app)
        assert "● fiction or other prose   suggested" in shown
        assert "who proposes, who objects" in shown
        assert "this one is kept" in shown
        await pilot.press("down", "down", "down", "enter")
        await until(
            pilot, lambda: focus_on(screen) == GistFocus(built_in_presets()["meeting"])
        )
        await until_read(pilot, screen)
        await until_shown(pilot, "as a meeting")
    assert any(built_in_presets()["meeting"].keep in call.text for call in engine.calls)
    memories = kept(tmp_path)
    assert {memory.focus.preset.name for memory in memories} == {"fiction", "meeting"}
    assert all(memory.complete for memory in memories)


async def test_a_memory_for_a_question_is_chosen_and_left_by_keyboard(
    tmp_path: Path,
) -> None:
    app = app_on(small_book(), tmp_path, engine := SteppedEngine())
    async with app.run_test(size=SIZE) as pilot:
        screen = await read_whole(pilot)
        await chooser(pilot, "C")
        await type_text(pilot, TASK.replace(" ", "_"))
        await pilot.press("enter")
        await until(
            pilot, lambda: focus_on(screen) == GistFocus(task=TASK.replace(" ", "_"))
        )
        await until_read(pilot, screen)
        await until_shown(pilot, "to find out: who_minds")
        calls = len(engine.calls)
        await chooser(pilot, "C")
        shown = text_of(app)
        assert (
            "● fake, as fiction or other prose, to find out: who_minds_the_lamp?"
            in shown
        )
        assert "40 to 90 words a section · single-pass · just now" in shown
        await pilot.press(
            "up" if shown.index("●") > shown.index("fake, as fiction") else "down",
            "enter",
        )
        await until(pilot, lambda: focus_on(screen) == DEFAULT_FOCUS)
        await until_read(pilot, screen)
        assert "to find out" not in text_of(app)
        assert len(engine.calls) == calls
    assert {memory.focus.task for memory in kept(tmp_path)} == {
        "",
        "who_minds_the_lamp?",
    }


async def test_a_memory_for_a_question_resumes(tmp_path: Path) -> None:
    engine = SteppedEngine()
    app = app_on(small_book(), tmp_path, engine)
    async with app.run_test(size=SIZE) as pilot:
        screen = await read_whole(pilot)
        assert screen.session is not None
        engine.stop_after = len(engine.calls) + 3
        await screen.session.use_memory(GistFocus(task=TASK))
        await until(pilot, lambda: not engine.gate.is_set())
        read = next((memory.pages for memory in kept(tmp_path) if memory.focus.task), 0)
        assert read
        await chooser(pilot, "C")
        await until_shown(pilot, "of the book")
        await pilot.press("ctrl+home", "enter")
        await until(pilot, lambda: focus_on(screen) == DEFAULT_FOCUS)
        engine.gate.set()
        await chooser(pilot, "C")
        await pilot.press("ctrl+end", "enter")
        await until(pilot, lambda: focus_on(screen) == GistFocus(task=TASK))
        assert screen.memory_pane.memory is not None
        assert len(screen.memory_pane.memory.entries) >= read
        await until_read(pilot, screen)
    assert all(memory.complete for memory in kept(tmp_path))


async def test_a_memory_of_another_model_is_shown_until_this_one_reads(
    tmp_path: Path,
) -> None:
    first = app_on(
        small_book(), tmp_path, SteppedEngine(name="large", fingerprint="large-1")
    )
    async with first.run_test(size=SIZE) as pilot:
        screen = await read_whole(pilot)
        await read_for(pilot, screen, GistFocus(built_in_presets()["code"]))
    small = SteppedEngine(name="small", fingerprint="small-1")
    second = app_on(small_book(), tmp_path, small)
    async with second.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        await until(
            pilot,
            lambda: (
                screen.session
                and screen.session.activity.reading is ReadingState.OFFERED
            ),
        )
        await chooser(pilot, "C")
        await pilot.press("down", "enter")
        await until(pilot, lambda: isinstance(second.screen, ReadingScreen))
        await until(
            pilot,
            lambda: (
                screen.session
                and screen.session.activity.reading is ReadingState.OFFERED
            ),
        )
        assert not small.calls
        await pilot.press("r")
        await until_read(pilot, screen)
        assert screen.memory_pane.memory is not None
        assert screen.memory_pane.memory.model_name == "small"


@pytest.mark.parametrize(("here", "offered"), [("large-1", "large"), ("another", "")])
def test_the_model_that_has_read_a_book_is_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: str, offered: str
) -> None:
    read = make_memory(3)
    with MemoryStore(tmp_path).open(
        read.book, MemoryRequest("large", "large-1", read.size)
    ) as kept_by_large:
        kept_by_large.add(read.entries[0])
    monkeypatch.setattr(
        "gistread.engine.models.find_source", lambda name: ModelSource(name, Path(name))
    )
    monkeypatch.setattr("gistread.engine.models.fingerprint_of", lambda source: here)
    assert model_that_read(read.book, tmp_path) == offered
    assert model_that_read(small_book(), tmp_path) == ""


@pytest.mark.parametrize("usual", ["", "small"])
def test_a_model_that_has_begun_a_book_goes_on_until_the_user_pauses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, usual: str
) -> None:
    book = make_memory(3).book
    services = app_on(book, tmp_path, config=Config(model=usual)).services
    monkeypatch.setattr(
        "gistread.engine.models.find_source", lambda name: ModelSource(name, Path(name))
    )
    monkeypatch.setattr(
        "gistread.engine.models.fingerprint_of", lambda source: "small-1"
    )
    assert not model_of(book, services).along
    store, read = MemoryStore(services.paths.memories), make_memory(8)
    with store.open(book, MemoryRequest("small", "small-1", read.size)) as memory:
        memory.add(read.entries[0])
        assert model_of(book, services) == BookModel("small", along=True)
        services.user_data.set_reading_along(book.sha256, "small", along=False)
        assert model_of(book, services) == BookModel("small", along=False, paused=True)
        services.user_data.set_reading_along(book.sha256, "small", along=True)
        assert model_of(book, services) == BookModel("small", along=True)


def test_a_book_that_is_read_to_its_end_loads_no_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = make_memory(8)
    services = app_on(read.book, tmp_path).services
    monkeypatch.setattr(
        "gistread.engine.models.find_source", lambda name: ModelSource(name, Path(name))
    )
    monkeypatch.setattr(
        "gistread.engine.models.fingerprint_of", lambda source: "small-1"
    )
    request = MemoryRequest("small", "small-1", read.size)
    with MemoryStore(services.paths.memories).open(read.book, request) as memory:
        for entry in read.entries:
            memory.add(entry)
    assert model_of(read.book, services) == BookModel("small", along=False)


async def test_the_choice_for_a_book_is_remembered(tmp_path: Path) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine())
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: screen.session.has_model)
        await chooser(pilot, "D")
        await pilot.press("down", "enter")

        def complete_presets() -> set[str]:
            return {
                memory.focus.preset.name for memory in kept(tmp_path) if memory.complete
            }

        await until(pilot, lambda: "code" in complete_presets())
    begun = [memory.path for memory in kept(tmp_path) if memory.focus == DEFAULT_FOCUS]
    for path in begun:
        path.unlink()
    again = app_on(small_book(), tmp_path, SteppedEngine())
    async with again.run_test(size=SIZE) as pilot:
        screen = await read_whole(pilot)
        assert focus_on(screen) == GistFocus(built_in_presets()["code"])
