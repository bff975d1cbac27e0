"""The model of a new book loads while the book is being opened."""

import threading
from pathlib import Path

import pytest
from textual.pilot import Pilot

from gistread.config import Config
from gistread.engine.protocol import Phase
from gistread.errors import BookError
from gistread.tui.app import GistreadApp
from gistread.tui.opening import read_book
from tests.tui.scripted import SteppedEngine, paths_in, read_whole, until

_SIZE = (80, 24)
_LONGEST_S = 20.0  # For which a book is held up


@pytest.fixture
def story(tmp_path: Path) -> Path:
    path = tmp_path / "story.txt"
    path.write_text(
        "The Keeper\n\n" + "\n\n".join(["The keeper counted the stairs."] * 40)
    )
    return path


class _Opening:
    """Holds up the opening of books."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, fails: bool = False) -> None:
        self.may_go_on = threading.Event()
        self._fails = fails
        monkeypatch.setattr("gistread.tui.screens.reading.read_book", self._read)

    def _read(self, *arguments: object) -> object:
        was_let_go = self.may_go_on.wait(_LONGEST_S)
        if self._fails or not was_let_go:
            raise BookError("It cannot be read.")
        return read_book(*arguments)  # type: ignore[arg-type]


class _Engines:
    """Makes engines and keeps them."""

    def __init__(self) -> None:
        self.made: list[SteppedEngine] = []

    def make(self, _: str) -> SteppedEngine:
        self.made.append(SteppedEngine())
        return self.made[-1]


def _app(story: Path, engines: _Engines) -> GistreadApp:
    return GistreadApp(
        story,
        paths=paths_in(story.parent),
        config=Config(min_words=40, max_words=90),
        model="fake",
        make_engine=engines.make,
    )


async def _until_loaded(pilot: Pilot[None], engines: _Engines) -> None:
    await until(
        pilot, lambda: engines.made and engines.made[0].state.phase is Phase.IDLE
    )


async def test_it_is_loaded_before_the_book_is_open_and_then_reads_it(
    story: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening, engines = _Opening(monkeypatch), _Engines()
    async with _app(story, engines).run_test(size=_SIZE) as pilot:
        await _until_loaded(pilot, engines)
        opening.may_go_on.set()
        await read_whole(pilot)
        assert len(engines.made) == 1
        assert engines.made[0].calls
        assert not engines.made[0].closed


async def test_a_book_that_was_open_before_is_asked_for_its_model_first(
    story: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with _app(story, _Engines()).run_test(size=_SIZE) as pilot:
        await read_whole(pilot)
    opening, engines = _Opening(monkeypatch), _Engines()
    async with _app(story, engines).run_test(size=_SIZE) as pilot:
        await pilot.pause(0.3)
        assert not engines.made
        opening.may_go_on.set()
        await until(pilot, lambda: engines.made)


@pytest.mark.parametrize("fails", [True, False], ids=["cannot be opened", "is closed"])
async def test_it_is_unloaded_if_the_book_does_not_open(
    story: Path, monkeypatch: pytest.MonkeyPatch, *, fails: bool
) -> None:
    opening, engines = _Opening(monkeypatch, fails=fails), _Engines()
    async with _app(story, engines).run_test(size=_SIZE) as pilot:
        await _until_loaded(pilot, engines)
        if not fails:
            await pilot.press("q")
        opening.may_go_on.set()
        await until(pilot, lambda: engines.made[0].closed)
    assert len(engines.made) == 1
