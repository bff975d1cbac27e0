"""Choosing a model, a book, a theme, a command."""

from pathlib import Path

import pytest

from gistread.config import Config, load_config
from gistread.engine.model_search import ModelFile
from gistread.errors import BookError, EngineError
from gistread.readers.registry import METHODS
from gistread.session.events import ReadingState
from gistread.tui.app import GistreadApp
from gistread.tui.screens.choosing import USUAL
from gistread.tui.screens.model import ModelScreen
from gistread.tui.screens.reading import ReadingScreen
from tests.engine.test_models import gguf
from tests.tui.books import long_book, small_book
from tests.tui.scripted import (
    SteppedEngine,
    app_on,
    lines,
    opened,
    paths_in,
    read_whole,
    text_of,
    type_text,
    until,
    until_shown,
)

SIZE = (110, 40)


def model(name: str, *, usable: bool = True) -> ModelFile:
    return ModelFile(
        path=Path("/models") / f"{name}.gguf",
        name=name,
        size_bytes=98_000_000,
        quantization="Q4_1",
        architecture="llama",
        context_length=8192,
        parameters=135_000_000,
        licence="apache-2.0",
        problem="" if usable else "the file is cut off",
    )


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> list[ModelFile]:
    """Two models on this machine, one of them broken."""
    models_here = [model("small-model"), model("broken-model", usable=False)]
    monkeypatch.setattr(
        "gistread.tui.screens.model.each_model", lambda: iter(list(models_here))
    )

    def starter() -> Path | None:
        return models_here[0].path if models_here else None

    monkeypatch.setattr("gistread.tui.screens.model.starter_path", starter)
    return models_here


async def test_models_are_listed_with_facts_and_the_choice_is_saved(
    tmp_path: Path, models: list[ModelFile]
) -> None:
    engine = SteppedEngine()
    asked_for: list[str] = []

    def make(name: str) -> SteppedEngine:
        asked_for.append(name)
        return engine

    app = GistreadApp(
        small_book(), paths=paths_in(tmp_path), config=Config(), make_engine=make
    )
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("m")
        await until_shown(pilot, "small-model  (starter)")
        shown = text_of(app)
        assert "98 MB · Q4_1 · 135 M parameters" in shown
        assert "reads up to about 6,100 words at once · apache-2.0" in shown
        assert shown.index("Without a model") < shown.index("Read without a model")
        assert "cannot be used" not in shown
        await pilot.press(*"broken")
        await until_shown(pilot, "cannot be used: the file is cut off")
        await pilot.press("escape", *"small", "enter")
        await until_shown(pilot, "memory is complete")
        assert asked_for == [str(models[0].path)]
        await until(
            pilot,
            lambda: (
                load_config(paths_in(tmp_path).config_file).model == str(models[0].path)
            ),
        )


async def test_without_models_the_screen_says_how_to_get_the_starter(
    tmp_path: Path, models: list[ModelFile]
) -> None:
    models.clear()
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("m")
        await until_shown(pilot, "gistread models get starter")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ReadingScreen))


async def test_a_path_to_a_model_can_be_typed(
    tmp_path: Path, models: list[ModelFile]
) -> None:
    asked_for: list[str] = []

    def make(name: str) -> SteppedEngine:
        asked_for.append(name)
        return SteppedEngine()

    path = gguf(tmp_path / "q.gguf")
    app = GistreadApp(
        small_book(), paths=paths_in(tmp_path), config=Config(), make_engine=make
    )
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("m")
        await until_shown(pilot, "small-model")
        await type_text(pilot, str(path))
        await pilot.press("enter")
        await until(pilot, lambda: asked_for == [str(path)])


async def test_a_typed_name_without_a_model_is_refused_and_not_saved(
    tmp_path: Path, models: list[ModelFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gistread.engine.models.found_models", lambda extra=(): [])
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await opened(pilot)
        await pilot.press("m")
        await until_shown(pilot, "small-model")
        await pilot.press(*"llama3", "enter")
        await until_shown(pilot, "No such file or model: 'llama3'")
        assert isinstance(app.screen, ModelScreen)
    assert not load_config(paths_in(tmp_path).config_file).model


async def test_the_installed_starter_is_used_while_no_model_is_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_for: list[str] = []

    def make(name: str) -> SteppedEngine:
        asked_for.append(name)
        return SteppedEngine()

    monkeypatch.setattr(
        "gistread.engine.model_search.starter_path", lambda: tmp_path / "starter.gguf"
    )
    app = GistreadApp(
        small_book(), paths=paths_in(tmp_path), config=Config(), make_engine=make
    )
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await opened(pilot)
        await until_shown(pilot, "memory is complete")
    assert asked_for == ["starter"]


async def test_a_model_that_cannot_be_used_is_one_line_and_the_book_stays_readable(
    tmp_path: Path,
) -> None:
    def make(name: str) -> SteppedEngine:
        raise EngineError("missing.gguf does not exist.", "Choose another.")

    app = GistreadApp(
        small_book(),
        paths=paths_in(tmp_path),
        config=Config(),
        model="missing.gguf",
        make_engine=make,
    )
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await until_shown(pilot, "missing.gguf does not exist.")
        await pilot.press("space", "g")
        assert "Ada Brennan" in text_of(app)


async def test_switching_to_no_model_closes_the_engine_and_keeps_the_memory(
    tmp_path: Path, models: list[ModelFile]
) -> None:
    engine = SteppedEngine(says=lambda _: "The lamp and the boy are spoken of.")
    app = app_on(small_book(), tmp_path, engine)
    async with app.run_test(size=SIZE) as pilot:
        await read_whole(pilot)
        await pilot.press("m")
        await until(
            pilot,
            lambda: (
                isinstance(app.screen, ModelScreen) and "Read without" in text_of(app)
            ),
        )
        await pilot.press("ctrl+end", "enter")
        await until_shown(pilot, "No model")
        await until(pilot, lambda: engine.closed)
        assert "The lamp and the boy are spoken" in text_of(app)


async def test_the_engine_is_closed_on_quitting(tmp_path: Path) -> None:
    engine = SteppedEngine()
    app = app_on(small_book(), tmp_path, engine)
    async with app.run_test(size=SIZE) as pilot:
        await read_whole(pilot)
        await pilot.press("q")
    assert engine.closed
    assert app.return_code == 0


async def test_a_book_that_was_named_and_cannot_be_read_ends_the_app_with_that_error(
    tmp_path: Path,
) -> None:
    app = app_on(tmp_path / "nothing.txt", tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.failure is not None)
    assert isinstance(app.failure, BookError)
    assert app.return_code == BookError.exit_status


async def test_themes_change_at_once_and_are_remembered(tmp_path: Path) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        before = app.theme
        # Another start takes it from the settings: test_themes.py
        await pilot.press("T", "down", "down")
        await until(pilot, lambda: app.theme != before)
        chosen = app.theme
        assert app.screen is not app.reading
        await pilot.press("enter")
        await until(
            pilot, lambda: load_config(paths_in(tmp_path).config_file).theme == chosen
        )


async def test_a_broken_theme_of_the_person_is_a_notice(tmp_path: Path) -> None:
    folder = paths_in(tmp_path).themes
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text("name = 'mine'\n[colors]\nbackground = 'red'\n")
    app = app_on(small_book(), tmp_path, config=Config(theme="mine"))
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await opened(pilot)
        await until_shown(pilot, "mine.toml")
        assert "There is no theme 'mine'" in text_of(app)


async def test_keys_are_changed_by_the_settings_and_wrong_ones_are_named(
    tmp_path: Path,
) -> None:
    config = Config(keys={"page-down": "z", "no-such-thing": "y"})
    app = app_on(small_book(), tmp_path, config=config)
    async with app.run_test(size=(80, 12), notifications=True) as pilot:
        screen = await opened(pilot)
        assert "no-such-thing" in text_of(app)
        await pilot.press("z")
        await until(pilot, lambda: screen.book_pane.scroll_offset.y > 0)
        at = screen.book_pane.scroll_offset.y
        await pilot.press("space")
        assert screen.book_pane.scroll_offset.y == at


def question_rows(app: GistreadApp) -> str:
    """The question line and what stands below it."""
    shown = lines(app)
    first = next(row for row, line in enumerate(shown) if "? Ask the book" in line)
    return "\n".join(shown[first:])


async def test_a_reader_is_chosen_and_kept_for_the_book(tmp_path: Path) -> None:
    paths = paths_in(tmp_path)
    app = GistreadApp(
        small_book(),
        paths=paths,
        config=Config(),
        make_engine=lambda _: SteppedEngine(),
    )
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("A")
        await until_shown(pilot, "● Careful")
        assert "Quick" in text_of(app)
        assert "Reads everything up to where answers stop" in text_of(app), (
            "of Thorough"
        )
        assert "memwalker" not in text_of(app)
        await pilot.press("G", "enter")  # the methods
        await until_shown(pilot, "memwalker")
        assert "needs no memory" in text_of(app)
        await pilot.press("enter")
        session = app.reading.session if app.reading else None
        assert session is not None
        chosen = next(name for name in METHODS if name not in USUAL)
        await until(pilot, lambda: session.reader == chosen)
        await until(pilot, lambda: chosen in question_rows(app))

    for book, reader, words in (
        (small_book(), chosen, chosen),
        (long_book(20), "notes", "Thorough"),
    ):
        later = GistreadApp(book, paths=paths, config=Config(reader="notes"))
        async with later.run_test(size=SIZE) as pilot:
            screen = await opened(pilot)
            assert screen.session is not None
            assert screen.session.reader == reader
            await until(pilot, lambda: words in question_rows(later))  # noqa: B023 - at once
    assert not paths.config_file.exists(), "the settings are as they were"


async def test_sections_are_set_in_the_panel_for_the_book_by_key_and_by_click(
    tmp_path: Path,
) -> None:
    app = GistreadApp(small_book(), paths=paths_in(tmp_path), config=Config())

    async def click(sign: str, words: str) -> None:
        row, line = next(
            (n, line) for n, line in enumerate(lines(app)) if words in line
        )
        await pilot.click(offset=(line.index(sign), row))

    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        assert "sections: automatic" in question_rows(app)
        assert "up to" not in question_rows(app), "nothing was chosen for this book"
        await pilot.press("A")
        await until_shown(pilot, "For this book.")
        await pilot.press("down", "down", "right", "down", "left", "left")
        await until_shown(pilot, "up to 3", "ask me")
        await click("▸", "up to 3")
        await until_shown(pilot, "up to 4")
        await click("◂", "ask me")
        await until_shown(pilot, "◂    automatic")
        await click("automatic", "◂    automatic")
        await until_shown(pilot, "◂      ask me")
        await pilot.press("escape")
        await until(pilot, lambda: "sections: ask me, up to 4" in question_rows(app))
        assert screen.session is not None
        assert screen.session.question("who").options.max_pages == 4
    later = GistreadApp(long_book(20), paths=paths_in(tmp_path), config=Config())
    async with later.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await until(pilot, lambda: "sections: automatic" in question_rows(later))
    again = GistreadApp(small_book(), paths=paths_in(tmp_path), config=Config())
    async with again.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: "sections: ask me, up to 4" in question_rows(again))
        assert screen.session is not None
        assert screen.session.question("who").options.max_pages == 4


async def test_from_the_library_the_method_is_chosen_for_books_without_their_own(
    tmp_path: Path,
) -> None:
    paths = paths_in(tmp_path)
    app = GistreadApp(None, paths=paths, config=Config())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("A")
        await until_shown(pilot, "For all books without their own choice.")
        await pilot.press("down", "enter")
        await until(pilot, lambda: load_config(paths.config_file).reader == "notes")


async def test_reading_along_and_its_pause_are_remembered_for_each_book(
    tmp_path: Path,
) -> None:
    engines: list[SteppedEngine] = []

    def app_with_default(named: str) -> GistreadApp:
        def make(name: str) -> SteppedEngine:
            engines.append(SteppedEngine())
            engines[-1].stop_after = 5
            return engines[-1]

        config = Config(model="fake", min_words=40, max_words=90)
        return GistreadApp(
            long_book(40),
            paths=paths_in(tmp_path),
            config=config,
            model=named,
            make_engine=make,
        )

    async def states(*steps: tuple[str, ReadingState], named: str = "") -> None:
        """Open the book, press each key and wait for its state.

        `named`: a model of the command line.
        """
        app = app_with_default(named)
        async with app.run_test(size=SIZE) as pilot:
            screen = await opened(pilot)
            await until(pilot, lambda: screen.session and screen.session.has_model)
            for key, state in steps:
                await pilot.press(*key)
                await until(
                    pilot, lambda state=state: screen.session.activity.reading is state
                )

    await states(
        ("", ReadingState.IDLE), ("r", ReadingState.RUNNING), ("r", ReadingState.PAUSED)
    )
    await states(("", ReadingState.IDLE), named="fake")
    await states(("", ReadingState.IDLE), ("r", ReadingState.RUNNING))
    assert engines[-1].calls
    await states(("", ReadingState.RUNNING))
