"""Pictures of the screens, stored beside the tests (`pytest --snapshot-update` renews them)."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from gistread.book.open import open_book
from gistread.config import Config
from gistread.engine.catalogue import Machine
from gistread.engine.protocol import NO_USAGE
from gistread.errors import EngineError
from gistread.library.metadata import read_book_file
from gistread.marking import TextQuote
from gistread.readers.events import (
    AnswerDelta,
    Answered,
    Expanded,
    LookedUp,
    OpenedBy,
    Started,
    Stopped,
    StopReason,
)
from gistread.sample import story_path
from gistread.session.events import AskingState
from gistread.store.catalogue import Catalogue
from gistread.store.model import AskingChoice, BoundChoice, Citation, SavedQuestion
from gistread.store.user_data import UserData
from gistread.tui.app import GistreadApp
from gistread.tui.screens.contents import ContentsScreen
from gistread.tui.screens.help import HelpScreen
from gistread.tui.screens.reading import ReadingScreen
from tests.book.make_epub import epub, package, page
from tests.book.make_pdf import Sheet, column, pdf
from tests.tui.books import long_book, small_book
from tests.tui.scripted import (
    ScriptedReader,
    SteppedEngine,
    app_on,
    opened,
    paths_in,
    read_whole,
    text_of,
    type_text,
    until,
    until_shown,
)
from tests.tui.test_asking import STARTED, answered, citation
from tests.tui.test_choosing import model
from tests.tui.test_inline_pictures import illustrated
from tests.tui.test_marks_column import with_note
from tests.tui.test_note_previews import noted_book
from tests.tui.test_section_names import quoted
from tests.tui.test_steps import asking_app

WIDE = (160, 50)
NARROW = (80, 24)
SMALL = (60, 20)
Compare = Callable[..., bool]


async def still(pilot: Pilot[None]) -> None:
    """Wait until the screen stays as it is, with no blinking cursor on it."""
    seen = ""
    while seen != (seen := pilot.app.export_screenshot()):
        for field in pilot.app.screen.query(Input):
            field.cursor_blink = True
            # Hides the cursor, which comes back with the focus.
            field.cursor_blink = False
        # What is behind a panel is kept as it was drawn last, and `text_of` draws nothing there.
        pilot.app.screen.refresh()
        await pilot.pause(0.2)


def config(theme: str = "") -> Config:
    return Config(theme=theme, min_words=40, max_words=90)


def gists(text: str) -> str:
    return "The lamp, the boy and the storm are told of here."


async def ask(pilot: Pilot[None], reader: ScriptedReader) -> None:
    """A question with two look-ups and an answer with a source, to its end."""
    screen = await read_whole(pilot)
    words = "Finch relit it."
    start = screen.book.text.index(words)
    page = screen.memory_pane.memory.page_at(start).number
    await pilot.press("a", *"Who", "enter")
    reader.say(
        Started("readagent-s", 5, 5, True),
        LookedUp(3, 1, "because it tells of the boy"),
        Expanded(3, OpenedBy.AGENT),
    )
    await until(pilot, lambda: 3 in screen.memory_pane.view.opened)
    await still(pilot)
    reader.say(
        LookedUp(page, 2, "because it tells of the dark night"),
        Expanded(page, OpenedBy.AGENT),
        Stopped(StopReason.ENOUGH),
        AnswerDelta("Finch "),
        Answered(
            "Finch lit it again [1].",
            True,
            (Citation(page, start, start + len(words), words),),
            (3, page),
            (3, page),
            50.0,
            NO_USAGE,
        ),
    )
    await until(pilot, lambda: screen.session.activity.asking is AskingState.IDLE)
    await still(pilot)


@pytest.mark.parametrize("size", [NARROW, WIDE])
def test_the_second_day_with_a_model_that_quotes(
    tmp_path: Path, snap_compare: Compare, size: tuple[int, int]
) -> None:
    """Names stand beside the book, and no second copy of it."""
    book = open_book(story_path())
    place = round(len(book.text) * 0.45)
    user_data = UserData(paths_in(tmp_path))
    user_data.set_position(book.sha256, place, read=[(0, place)])
    user_data.choose_asking(book.sha256, AskingChoice("notes", "ask", 3))
    app = app_on(book, tmp_path, config=config("night"))

    async def show(pilot: Pilot[None]) -> None:
        await quoted(pilot)
        if size == NARROW:
            await pilot.press("tab")
        await still(pilot)

    assert snap_compare(app, terminal_size=size, run_before=show)


@pytest.mark.parametrize("theme", ["night", "sepia"])
def test_a_question_answered_on_a_wide_screen(
    tmp_path: Path, reader: ScriptedReader, snap_compare: Compare, theme: str
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=gists), config(theme))
    assert snap_compare(
        app, terminal_size=WIDE, run_before=lambda pilot: ask(pilot, reader)
    )


@pytest.mark.parametrize("pane", ["book", "memory", "answers"])
def test_each_pane_on_a_narrow_screen(
    tmp_path: Path, reader: ScriptedReader, snap_compare: Compare, pane: str
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=gists), config("paper"))

    async def show(pilot: Pilot[None]) -> None:
        await ask(pilot, reader)
        await pilot.press(
            *{"book": ["tab"], "memory": ["tab", "tab"], "answers": []}[pane]
        )
        # The rule under the header
        await until(pilot, lambda: pane == "answers" or "─┬─" in text_of(app))
        await still(pilot)

    assert snap_compare(app, terminal_size=NARROW, run_before=show)


def test_a_chapter_read_ahead_and_a_page_under_way(
    tmp_path: Path, snap_compare: Compare
) -> None:
    engine = SteppedEngine(says=gists)
    engine.stop_after = 3
    book = long_book(40)
    app = app_on(book, tmp_path, engine, config("night"))
    UserData(paths_in(tmp_path)).set_position(book.sha256, book.chapters[7].start)

    async def show(pilot: Pilot[None]) -> None:
        await opened(pilot)
        await engine.stopped.wait()
        await until_shown(pilot, "Chapter 8 ───")
        await still(pilot)

    assert snap_compare(app, terminal_size=WIDE, run_before=show)


@pytest.mark.parametrize("key", ["f1", "t"])
def test_help_and_contents(tmp_path: Path, snap_compare: Compare, key: str) -> None:
    app = app_on(small_book(), tmp_path, None, config("contrast"))

    async def show(pilot: Pilot[None]) -> None:
        await opened(pilot)
        await pilot.press(key)
        await until(pilot, lambda: isinstance(app.screen, (HelpScreen, ContentsScreen)))
        await still(pilot)

    assert snap_compare(app, terminal_size=NARROW, run_before=show)


@pytest.mark.parametrize("theme", ["night", "paper"])
def test_a_question_under_way(
    tmp_path: Path, reader: ScriptedReader, snap_compare: Compare, theme: str
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=gists), config(theme))

    async def show(pilot: Pilot[None]) -> None:
        await read_whole(pilot)
        await pilot.press("a", *"Who", "enter")
        reader.say(
            Started("readagent-s", 5, 5, True),
            LookedUp(3, 1, "because it tells of the boy"),
        )
        reader.say(
            Expanded(3, OpenedBy.AGENT),
            Stopped(StopReason.ENOUGH),
            AnswerDelta("It was Finch who "),
        )
        await until_shown(pilot, "It was Finch who")
        await still(pilot)

    assert snap_compare(
        app, terminal_size=WIDE if theme == "night" else NARROW, run_before=show
    )


def test_a_model_that_ends_twice(tmp_path: Path, snap_compare: Compare) -> None:
    def says(text: str) -> Exception:
        return EngineError("The model ended twice", "Choose another with m.")

    app = app_on(small_book(), tmp_path, SteppedEngine(says=says), config("night"))

    async def show(pilot: Pilot[None]) -> None:
        await opened(pilot)
        await until_shown(pilot, "Stopped: The model ended twice")
        app.clear_notifications()
        await still(pilot)

    assert snap_compare(app, terminal_size=NARROW, run_before=show)


def test_a_pdf(tmp_path: Path, snap_compare: Compare) -> None:
    path = tmp_path / "harbour.pdf"
    words = (
        "The bell rang once in the fog, and the men on the quay looked up from their nets and "
        "did not speak. "
    )
    sheets = [Sheet(column("\n".join([words * 3] * count))) for count in (6, 3)]
    path.write_bytes(pdf(sheets, metadata={"Title": "The Harbour Bell"}))
    app = app_on(path, tmp_path, None, config("sepia"))

    async def show(pilot: Pilot[None]) -> None:
        await opened(pilot)
        await until_shown(pilot, "No model yet")
        await still(pilot)

    assert snap_compare(app, terminal_size=NARROW, run_before=show)


PANELS = {"@": "mentions", "*": "You stopped at", "m": "Recommended"}


@pytest.mark.parametrize(
    ("key", "size"),
    [("@", (110, 30)), ("@", SMALL), ("*", NARROW), ("m", NARROW)],
    ids=["people", "people-small", "story", "models"],
)
def test_people_story_and_models(
    tmp_path: Path,
    snap_compare: Compare,
    monkeypatch: pytest.MonkeyPatch,
    key: str,
    size: tuple[int, int],
) -> None:
    monkeypatch.setattr(
        "gistread.tui.screens.model.each_model", lambda: iter((model("adder-3b"),))
    )
    monkeypatch.setattr(
        "gistread.tui.model_downloads.this_machine", lambda: Machine(8 * 10**9, 0, 4)
    )
    for name in ("available_bytes", "free_for_models"):
        monkeypatch.setattr(f"gistread.tui.screens.model.{name}", lambda: 8 * 10**9)
    app = app_on(small_book(), tmp_path, SteppedEngine(says=gists), config("night"))

    async def show(pilot: Pilot[None]) -> None:
        screen = await read_whole(pilot)
        screen.controllers.context.position.moved(
            0, 400 if key == "*" else len(screen.book.text) - 10
        )
        screen.redraw_lines()
        await still(pilot)
        # The memory is behind the panel.
        screen.controllers.pages.show_here(scroll=True)
        await pilot.press(key)
        await until(pilot, lambda: PANELS[key] in text_of(app))
        await still(pilot)

    assert snap_compare(app, terminal_size=size, run_before=show)


async def until_a_section_is_wanted(pilot: Pilot[None]) -> None:
    await read_whole(pilot)
    await pilot.press("a", *"who", "enter")
    await until_shown(pilot, "Waiting for your decision")
    await still(pilot)


@pytest.mark.parametrize("size", [NARROW, (110, 30)])
def test_a_section_that_the_model_wants(
    tmp_path: Path, snap_compare: Compare, size: tuple[int, int]
) -> None:
    app = asking_app(tmp_path)
    assert snap_compare(app, terminal_size=size, run_before=until_a_section_is_wanted)


def novel(folder: Path, steps: str) -> GistreadApp:
    """The sample, as far as the first sections read, asked over its passages."""
    engine = SteppedEngine(says=lambda _: "Nora came by the night train.")
    settings = Config(min_words=40, max_words=90, reader="gistread", steps=steps)  # type: ignore[arg-type]
    return app_on(story_path(), folder, engine, settings)


@pytest.mark.parametrize("size", [NARROW, WIDE])
def test_steering_in_a_novel(
    tmp_path: Path, snap_compare: Compare, size: tuple[int, int]
) -> None:
    app = novel(tmp_path, "ask")

    async def show(pilot: Pilot[None]) -> None:
        await ask_about_the_whole(pilot, "Who went up to the gallery with the key?")
        await until_shown(pilot, "Wants section")
        await pilot.press("x")
        await until_shown(pilot, "(2 of")
        await noted(pilot)

    assert snap_compare(app, terminal_size=size, run_before=show)


@pytest.mark.parametrize(
    ("size", "colours"),
    [(NARROW, True), (WIDE, True), ((100, 30), False)],
    ids=["narrow", "wide", "no-colour"],
)
def test_the_walk_of_the_steps(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    snap_compare: Compare,
    size: tuple[int, int],
    colours: bool,
) -> None:
    if not colours:
        monkeypatch.setenv("NO_COLOR", "1")
    app = novel(tmp_path, "alone")

    async def show(pilot: Pilot[None]) -> None:
        screen = await ask_about_the_whole(
            pilot, "Who went up to the gallery with the key?"
        )
        pane = screen.answers_pane
        await until(
            pilot, lambda: pane.exchanges[-1].answer and not screen.session.answering
        )
        await pilot.press(">", "x")
        await until(pilot, lambda: len(pane.exchanges) == 2)
        await until(
            pilot, lambda: pane.exchanges[-1].answer and not screen.session.answering
        )
        await pilot.press(">", ">")
        await until_shown(pilot, "Step 2 of")
        await noted(pilot)

    assert snap_compare(app, terminal_size=size, run_before=show)


async def noted(pilot: Pilot[None]) -> None:
    """Scroll the memory from its beginning to the note, whatever was in view before."""
    screen = await opened(pilot)
    await still(pilot)
    screen.memory_pane.scroll_home(animate=False)
    screen.memory_pane._show_noted()
    await still(pilot)


async def ask_about_the_whole(pilot: Pilot[None], question: str) -> ReadingScreen:
    screen = await read_whole(pilot)
    screen.controllers.line.choose_bound(BoundChoice(whole=True))
    await pilot.press("a")
    await type_text(pilot, question)
    await pilot.press("enter")
    return screen


@pytest.mark.parametrize("size", [SMALL, (100, 30)])
def test_a_section_that_is_not_read_after_a_jump(
    tmp_path: Path, snap_compare: Compare, size: tuple[int, int]
) -> None:
    """Older gists stand above it; on a narrow screen, in the memory."""
    app, engine = stopping_app(tmp_path, after=3)

    async def show(pilot: Pilot[None]) -> None:
        await opened(pilot)
        await engine.stopped.wait()
        await pilot.press("G", "pageup", "pagedown")
        if size == SMALL:
            await pilot.press("tab")
        await still(pilot)

    assert snap_compare(app, terminal_size=size, run_before=show)


def test_the_way_back_from_a_jump(tmp_path: Path, snap_compare: Compare) -> None:
    app, engine = stopping_app(tmp_path, after=3)

    async def show(pilot: Pilot[None]) -> None:
        await opened(pilot)
        await engine.stopped.wait()
        await pilot.press("G")
        await until_shown(pilot, "Looking")
        await still(pilot)

    assert snap_compare(app, terminal_size=(120, 36), run_before=show)


def stopping_app(folder: Path, after: int) -> tuple[GistreadApp, SteppedEngine]:
    """A long book whose model stops after so many gists."""
    engine = SteppedEngine(says=gists)
    engine.stop_after = after
    return app_on(long_book(40), folder, engine, config("night")), engine


def test_an_answer_with_rivals(
    tmp_path: Path, reader: ScriptedReader, snap_compare: Compare
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=gists), config("night"))

    async def show(pilot: Pilot[None]) -> None:
        screen = await read_whole(pilot)
        source = citation(screen, "Finch relit it.")
        rival = replace(citation(screen, "Ada called him Finch"), tells="Ada lit it.")
        await pilot.press("a", *"Who", "enter")
        reader.say(STARTED, answered("Finch lit it again.", source, rival))
        await until_shown(pilot, "Other passages say")
        await until(pilot, lambda: screen.session.activity.asking is AskingState.IDLE)
        await still(pilot)

    assert snap_compare(app, terminal_size=NARROW, run_before=show)


@pytest.mark.parametrize("size", [SMALL, (100, 30)])
def test_steering_without_colours(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    snap_compare: Compare,
    size: tuple[int, int],
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = asking_app(tmp_path)
    assert snap_compare(app, terminal_size=size, run_before=until_a_section_is_wanted)


@pytest.mark.parametrize("size", [NARROW, (110, 30)])
def test_the_tour_at_the_memory(
    tmp_path: Path, snap_compare: Compare, size: tuple[int, int]
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=gists), config("paper"))

    async def show(pilot: Pilot[None]) -> None:
        await read_whole(pilot)
        await pilot.press("f2", "enter")
        await until_shown(pilot, "2 of 4")
        await still(pilot)

    assert snap_compare(app, terminal_size=size, run_before=show)


@pytest.mark.parametrize("theme", ["night", "paper"])
def test_an_empty_library(tmp_path: Path, snap_compare: Compare, theme: str) -> None:
    app = app_on(None, tmp_path, None, config(theme))

    async def show(pilot: Pilot[None]) -> None:
        await until_shown(pilot, "The Ferry Bell")
        await still(pilot)

    assert snap_compare(app, terminal_size=SMALL, run_before=show)


@pytest.mark.parametrize(
    ("size", "theme"), [((160, 29), "night"), (NARROW, "sepia"), (SMALL, "paper")]
)
def test_a_library_with_books(
    tmp_path: Path, snap_compare: Compare, size: tuple[int, int], theme: str
) -> None:
    shelf(tmp_path)
    app = app_on(None, tmp_path, None, config(theme))

    async def show(pilot: Pilot[None]) -> None:
        await until(
            pilot, lambda: "Continue reading" in text_of(app) or "57%" in text_of(app)
        )
        await still(pilot)

    assert snap_compare(app, terminal_size=size, run_before=show)


def shelf(folder: Path) -> None:
    """Five books, the second of them begun; low screens do not name their paths."""
    paths = paths_in(folder)
    for number, title in enumerate(
        ("Emma", "The Strange Case of Dr. Jekyll and Mr. Hyde", "戦争と平和", "Gone")
    ):
        path = folder / f"{number}.epub"
        about = f"<dc:creator>Writer {number}</dc:creator>"
        words = package(["one.xhtml"], metadata=about).replace("A Book", title)
        path.write_bytes(epub({"one.xhtml": page(f"<p>{title}</p>")}, words))
        Catalogue(paths).add([read_book_file(path)])
    path.unlink()
    Catalogue(paths).add([read_book_file(illustrated(folder, 3, cover=True))])
    begun = folder / "1.epub"
    data = UserData(paths)
    data.record_opening(
        "a" * 64,
        title="Dr. Jekyll",
        authors=("R. L. Stevenson",),
        length=9000,
        path=begun,
    )
    quote = TextQuote(
        5130,
        5170,
        "the lawyer’s name was Utterson, and he was",
        "a man: ",
        " never lighted by a smile, co",
    )
    data.set_position("a" * 64, 5130, quote)
    data.add_question("a" * 64, SavedQuestion("Who is Mr. Hyde?", "", found=False))


@pytest.mark.parametrize(
    ("size", "theme"), [((120, 36), "night"), (WIDE, "paper")], ids=["night", "paper"]
)
def test_marks_beside_the_book(
    tmp_path: Path, snap_compare: Compare, size: tuple[int, int], theme: str
) -> None:
    with_note(
        tmp_path, "This is paragraph 2.", "Who walks here, and why is his day long?"
    )
    with_note(tmp_path, "This is paragraph 3.", "Again.")
    app = app_on(long_book(), tmp_path, config=Config(beside="marks", theme=theme))

    async def show(pilot: Pilot[None]) -> None:
        await opened(pilot)
        await until_shown(pilot, "Who walks here")
        await until_shown(pilot, "No model")
        await still(pilot)

    assert snap_compare(app, terminal_size=size, run_before=show)


@pytest.mark.parametrize(("size", "theme"), [(NARROW, "paper"), (WIDE, "night")])
def test_a_note_over_one_column_and_over_two(
    tmp_path: Path, snap_compare: Compare, size: tuple[int, int], theme: str
) -> None:
    book = noted_book(
        note="It was told by the boatman, who had it from the keeper herself."
    )
    app = app_on(book, tmp_path, config=Config(text_columns=2, theme=theme))

    async def show(pilot: Pilot[None]) -> None:
        await opened(pilot)
        await until_shown(pilot, "No model")
        await pilot.press(";")
        await until_shown(pilot, "told by the boatman")
        await still(pilot)

    assert snap_compare(app, terminal_size=size, run_before=show)
