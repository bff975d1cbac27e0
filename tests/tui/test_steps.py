"""A say in every look-up on the screen: by keyboard and mouse, in a wide and a narrow terminal."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from gistread.config import Config
from gistread.readers.events import OpenedBy, WantedSection
from gistread.readers.registry import METHODS
from gistread.store.model import AnswerStep, BoundChoice, Citation, SavedQuestion
from gistread.store.user_data import UserData
from gistread.tui.answer_blocks import Exchange
from gistread.tui.app import GistreadApp
from gistread.tui.reading.pane_switcher import Pane
from gistread.tui.screens.reading import ReadingScreen
from tests.tui.books import long_book
from tests.tui.scripted import (
    SteppedEngine,
    app_on,
    lines,
    opened,
    paths_in,
    read_whole,
    text_of,
    until,
    until_gone,
    until_shown,
)
from tests.tui.test_asking import ask, says

WIDE, NARROW = (160, 50), (80, 24)
OFFERS_QUICKER = {"graphreader"}
"""Methods that take so long that a quicker one is offered first."""


def looks_up(prompt: str, options: Sequence[str]) -> int:
    """The first page, twice; then enough.

    Questions about the model itself are answered with the first option.
    """
    return (
        len(options) - 1 if prompt.count(", in full)") >= 2 and "STOP" in options else 0
    )


def asking_app(folder: Path, steps: str = "ask") -> GistreadApp:
    config = Config(min_words=40, max_words=90, reader="readagent-s", steps=steps)  # type: ignore[arg-type]
    return app_on(
        long_book(20), folder, SteppedEngine(says=says, chooses=looks_up), config
    )


def keys_beside(screen: ReadingScreen) -> bool:
    """Whether the memory shows what can be done with the wanted section."""
    x, y, width, height = screen.memory_pane.content_region
    rows = (line[x : x + width] for line in lines(screen.app)[y : y + height])
    return "Enter open, x no, I another, & all" in " ".join(" ".join(rows).split())


async def asked_about_the_road(pilot: Pilot[None]) -> ReadingScreen:
    """The screen of a question about the whole book that has just been asked."""
    screen = await opened(pilot)
    await until(pilot, lambda: not screen.controllers.context.opening)
    screen.controllers.line.choose_bound(BoundChoice(whole=True))
    await ask(pilot, "which paragraph is about the road?")
    return screen


async def second_section_named(pilot: Pilot[None], screen: ReadingScreen) -> int:
    """Names the second wanted section while the first is asked about; returns its number."""
    await until_shown(pilot, "(1 of ")
    review = screen.controllers.steps.waiting()
    assert review is not None
    (second,) = review.sections[1].pages
    await pilot.press("I", *f"+{screen.controllers.questions.in_pane(second)}", "enter")
    await until_shown(pilot, "(3 of ")
    return second


async def click(pilot: Pilot[None], words: str) -> None:
    """On these words of the line of the proposal."""
    top = pilot.app.screen.query_one("#step").region.y
    row, line = next(
        (row, line)
        for row, line in enumerate(lines(pilot.app))
        if words in line and row >= top
    )
    await pilot.click(offset=(line.index(words), row))


@pytest.mark.parametrize("size", [pytest.param(WIDE, marks=pytest.mark.slow), NARROW])
async def test_each_look_up_is_decided_by_key_or_click(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    app = asking_app(tmp_path)
    async with app.run_test(size=size) as pilot:
        screen = await read_whole(pilot)
        # The whole book
        await pilot.press("a", "ctrl+t", *"all", "enter", "down", "enter", "escape")
        await ask(pilot, "who")
        await until_shown(pilot, "Wants section 1")
        assert "Enter open" in text_of(app)
        assert "Waiting for your decision" in text_of(app)
        if size == WIDE:
            await until(pilot, lambda: keys_beside(screen))
        assert screen.panes.shows_memory, (
            "it is marked where it stands, also in one pane"
        )
        await pilot.press("x")
        await until_shown(pilot, "Wants section 2")
        assert screen.memory_pane.view.refused == {1}
        await click(pilot, "another")
        await until(pilot, lambda: screen.input_line.is_open)
        await pilot.press("9", "9", "enter")
        await until_shown(pilot, "Only sections 1 to 20 can be opened.")
        await pilot.press("backspace", "backspace", "7", "enter")
        await until(
            pilot,
            lambda: (
                7 in screen.memory_pane.view.opened
                and "Wants section 3" in text_of(app)
            ),
        )
        await pilot.press("enter")
        await until(pilot, lambda: 3 in screen.memory_pane.view.opened)
        await pilot.press("s")
        await until(
            pilot,
            lambda: (
                screen.answers_pane.exchanges[-1].answer
                and not screen.session.answering
            ),
        )
        assert not screen.query_one("#step").display
        steps = " ".join(
            map(
                str, screen.answers_pane.exchanges[-1].steps(screen.answers_pane.places)
            )
        )
        for step in (
            "× section 1 refused by you",
            "× section 2 refused by you, section 7 instead",
        ):
            assert step in steps


async def test_who_decides_is_switched_while_asking(tmp_path: Path) -> None:
    app = asking_app(tmp_path, "alone")
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        await ask(pilot, "who")
        await until(
            pilot,
            lambda: (
                screen.answers_pane.exchanges[-1].answer
                and not screen.session.answering
            ),
        )
        assert screen.memory_pane.view.opened[1].by is OpenedBy.AGENT
        await pilot.press("ctrl+y")
        await until_shown(pilot, "Ctrl+Y ask me")
        await ask(pilot, "where")
        await until_shown(pilot, "Wants section 1")
        await pilot.press("ctrl+y")  # by itself: accepted
        await until(
            pilot,
            lambda: (
                len(screen.answers_pane.exchanges) == 2 and not screen.session.answering
            ),
        )
        assert screen.answers_pane.exchanges[-1].answer
        assert "Ctrl+Y auto" in text_of(app), "it can be switched back by mouse"
    book = long_book(20).sha256
    assert UserData(paths_in(tmp_path)).asking_choice(book).steps == "alone"
    assert not paths_in(tmp_path).config_file.exists(), (
        "other books are asked as before"
    )


async def test_the_settings_of_a_question_take_one_row_of_a_small_terminal(
    tmp_path: Path,
) -> None:
    app = asking_app(tmp_path)
    async with app.run_test(size=(60, 20)) as pilot:
        screen = await read_whole(pilot)
        record = SavedQuestion("Where?", "On.", True)
        screen.answers_pane.show_exchanges([Exchange.saved(record)])
        await pilot.press("v")
        await one_row(pilot, "? Ask ", "Ctrl+T up to", "A readagent-s", "Ctrl+Y ask me")
        assert not screen.query_one("#question-chips").display
        await pilot.press("a", *"who")
        await one_row(pilot, "Ctrl+T up to", "readagent-s", "Ctrl+Y ask me")
        await until(pilot, lambda: screen.query_one("#question-chips").size.height == 1)


async def one_row(pilot: Pilot[None], *words: str) -> None:
    """Wait until all of these stand in one row."""

    def is_there() -> bool:
        return any(all(word in row for word in words) for row in lines(pilot.app))

    await until(pilot, is_there)


async def test_the_key_that_saves_a_note_names_the_one_for_sections(
    tmp_path: Path,
) -> None:
    app = asking_app(tmp_path)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        screen = await read_whole(pilot)
        before = screen.controllers.asking.config.steps
        await pilot.press("ctrl+s")
        await until(pilot, lambda: warned(app, "Ctrl+Y decides who opens sections"))
        assert screen.controllers.asking.config.steps == before


async def test_a_small_terminal_says_once_what_is_wanted(tmp_path: Path) -> None:
    app = passages_app(tmp_path)
    async with app.run_test(size=(60, 20)) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: not screen.controllers.context.opening)
        await ask(pilot, "which paragraph is about the road?")
        await until_shown(pilot, "Wants section")
        await until(pilot, lambda: screen.query_one("#strip").size.height == 1)
        review = screen.controllers.steps.waiting()
        assert review is not None
        assert text_of(app).count(review.current.reason) <= 1
        assert text_of(app).count("& all") == 1


async def test_the_key_that_opens_what_is_wanted_is_named_once(tmp_path: Path) -> None:
    app = passages_app(tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: not screen.controllers.context.opening)
        await ask(pilot, "which paragraph is about the road?")
        await until_shown(pilot, "Wants section", "Enter open")
        screen.panes.show(Pane.MEMORY)
        screen.redraw_lines()
        await until_shown(pilot, "p pin")
        assert text_of(app).count("Enter open") == 1


@pytest.mark.parametrize(
    ("size", "keys", "method"),
    [(WIDE, (), "A Careful"), (NARROW, ("a", *"who"), "method: Careful")],
)
async def test_how_a_question_is_asked_stands_in_one_line(
    tmp_path: Path, size: tuple[int, int], keys: Sequence[str], method: str
) -> None:
    config = Config(min_words=40, max_words=90, steps="ask")
    app = app_on(long_book(20), tmp_path, SteppedEngine(says=says), config)
    async with app.run_test(size=size) as pilot:
        screen = await opened(pilot)
        screen.controllers.line.choose_bound(BoundChoice(at=len(screen.book.text) // 2))
        await pilot.press(*keys)
        chips = ("Ctrl+T up to 50%", method, "Ctrl+Y ask me")
        await until_shown(pilot, *chips)
        assert [row for row in lines(app) if all(chip in row for chip in chips)]


@pytest.mark.parametrize("size", [(100, 30), (110, 30), (160, 30)])
async def test_a_wanted_section_stays_in_view_with_its_keys_until_it_is_decided(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    engine = SteppedEngine(
        says=lambda _: "The lamp and the boy. " * 30,
        chooses=lambda _, options: max(0, len(options) - 6),
    )
    app = app_on(
        long_book(20),
        tmp_path,
        engine,
        Config(min_words=40, max_words=90, reader="readagent-s", steps="ask"),
    )

    async with app.run_test(size=size) as pilot:
        screen = await read_whole(pilot)
        pane = screen.memory_pane
        screen.controllers.line.choose_bound(BoundChoice(whole=True))
        await ask(pilot, "who")
        await until(
            pilot, lambda: "Wants section" in text_of(app) and keys_beside(screen)
        )
        here = pane.view.here
        await pilot.press("space", "space")
        await until(pilot, lambda: pane.view.here != here)
        await pilot.pause()
        assert keys_beside(screen), "the book has moved"
        await pilot.resize_terminal(size[0], size[1] - 4)
        await until(pilot, lambda: screen.size.height == size[1] - 4)
        await pilot.pause()
        assert keys_beside(screen), "the pane has lost rows"
        await pilot.press("s")
        await until(
            pilot, lambda: not screen.session.answering and pane.view.note is None
        )
        await until(
            pilot,
            lambda: pane._in_view(
                pane._index.find_key(("page", pane.view.here)) or 0, pane.size.height
            ),
        )


def passages_app(folder: Path, steps: str = "ask") -> GistreadApp:
    """On a long book that the model has not read, asked for its nearest passages."""
    config = Config(min_words=40, max_words=90, reader="one-by-one", steps=steps)  # type: ignore[arg-type]
    return app_on(
        long_book(20), folder, SteppedEngine(says=lambda _: "The road went on."), config
    )


@pytest.mark.parametrize("size", [pytest.param(WIDE, marks=pytest.mark.slow), NARROW])
async def test_sections_without_gists_are_decided_one_by_one(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    app = passages_app(tmp_path)
    async with app.run_test(size=size) as pilot:
        screen = await asked_about_the_road(pilot)
        await until_shown(pilot, "Wants section")
        review = screen.controllers.steps.waiting()
        assert review is not None
        assert len(review.sections) > 1
        assert "because it has" in text_of(app)
        await until_shown(pilot, f"(1 of {len(review.sections)})")
        await pilot.press("x")
        await until_shown(pilot, f"(2 of {len(review.sections)})")
        await click(pilot, "back")
        await until_shown(pilot, "left out")
        await pilot.press(">")
        await until_shown(pilot, f"(2 of {len(review.sections)})")
        await pilot.press("enter", "<")
        await until_shown(pilot, "accepted")
        await pilot.press("&")
        await until(
            pilot,
            lambda: (
                screen.answers_pane.exchanges[-1].answer
                and not screen.session.answering
            ),
        )
        (refused,) = screen.session.steering.refused
        assert refused == review.sections[0].pages[0]
        assert not screen.query_one("#step").display
        pane = screen.memory_pane
        marked = [block.key[1] for block in pane.blocks if block.tail == "refused"]
        assert marked == [screen.controllers.questions.in_pane(refused)]


async def test_the_text_of_a_wanted_section_is_quoted_without_its_heading(
    tmp_path: Path,
) -> None:
    app = passages_app(tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await asked_about_the_road(pilot)
        await until_shown(pilot, "Wants section")
        review = screen.controllers.steps.waiting()
        assert review is not None
        book = screen.book
        chapter = book.chapters[3]
        begins_chapter = WantedSection((1,), chapter.start, chapter.end, "")
        review.proposal = replace(review.proposal, sections=(begins_chapter,))
        quote = screen.controllers.steps._about(review)[-1][1]
        assert not quote.startswith(f"“{chapter.title}")
        assert book.text[chapter.start :].startswith(chapter.title)


async def test_a_wanted_section_that_was_named_is_not_asked_for_again(
    tmp_path: Path,
) -> None:
    app = passages_app(tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await asked_about_the_road(pilot)
        second = await second_section_named(pilot, screen)
        review = screen.controllers.steps.waiting()
        assert review is not None
        assert review.accepted == {0, 1}
        await pilot.press("&")
        await until(pilot, lambda: not screen.session.answering)
        assert second in screen.session.steering.pinned


async def test_a_section_that_was_named_is_not_opened_once_it_is_refused(
    tmp_path: Path,
) -> None:
    app = passages_app(tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await asked_about_the_road(pilot)
        second = await second_section_named(pilot, screen)
        await pilot.press("<")
        await until_shown(pilot, "accepted")
        await pilot.press("x")
        await until_shown(pilot, "(3 of ")
        await pilot.press("s")
        await until(pilot, lambda: not screen.session.answering)
        assert second in screen.session.steering.refused
        assert second not in screen.session.steering.pinned


async def answered(
    pilot: Pilot[None], screen: ReadingScreen, count: int
) -> list[Exchange]:
    """The exchanges, once there are this many and the last one is answered."""
    pane = screen.answers_pane
    await until(pilot, lambda: len(pane.exchanges) == count)
    await until(pilot, lambda: pane.exchanges[-1].answer)
    await until(pilot, lambda: not screen.session.answering)
    return pane.exchanges


def warned(app: GistreadApp, words: str) -> bool:
    return any(words in notification.message for notification in app._notifications)


@pytest.mark.parametrize("size", [pytest.param(WIDE, marks=pytest.mark.slow), NARROW])
async def test_steps_are_walked_and_left_out_and_taken_back(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    app = asking_app(tmp_path, "alone")
    async with app.run_test(size=size) as pilot:
        screen = await read_whole(pilot)
        screen.controllers.line.choose_bound(BoundChoice(whole=True))
        await ask(pilot, "who")
        await answered(pilot, screen, 1)
        await pilot.press(">")
        await until_shown(pilot, "Step 1 of")
        first = screen.memory_pane.view.note.number
        await pilot.press(">")
        await until_shown(pilot, "Step 2 of")
        assert screen.memory_pane.view.note.number != first
        await pilot.press("<")
        await until_shown(pilot, "Step 1 of")
        await click(pilot, "leave out")
        old, new = await answered(pilot, screen, 2)
        assert old.folded
        assert old.answer
        assert new.record.beside == old.record.asked_at
        assert new.record.left_out == (first,)
        assert first not in new.record.lookups
        await pilot.press("<")
        await until_shown(pilot, "take back")
        await pilot.press("x")
        *_, last = await answered(pilot, screen, 3)
        assert last.record.left_out == ()
        assert last.record.lookups == old.record.lookups
        assert len(screen.controllers.line.thread.exchanges) == 1
        await pilot.press(">")
        await until_shown(pilot, "Step 1 of")
        await pilot.press("escape")
        await until_gone(pilot, "Step 1 of")
        assert screen.memory_pane.view.note is None


async def test_a_walk_ends_when_its_answer_is_gone_or_another_question_is_asked(
    tmp_path: Path,
) -> None:
    app = asking_app(tmp_path, "alone")
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        screen.controllers.line.choose_bound(BoundChoice(whole=True))
        await ask(pilot, "who")
        await answered(pilot, screen, 1)
        await pilot.press(">")
        await until_shown(pilot, "Step 1 of")
        await ask(pilot, "who else")
        await answered(pilot, screen, 2)
        assert not screen.controllers.walk.is_open
        await pilot.press(">")
        await until_shown(pilot, "Step 1 of")
        screen.answers_pane.show_exchanges([])
        screen.controllers.context.refresh()
        await until_gone(pilot, "Step 1 of")
        assert screen.memory_pane.view.note is None


async def test_a_follow_up_goes_on_from_the_answer_that_was_written_anew(
    tmp_path: Path,
) -> None:
    app = asking_app(tmp_path, "alone")
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        screen.controllers.line.choose_bound(BoundChoice(whole=True))
        await ask(pilot, "who")
        first = (await answered(pilot, screen, 1))[0].record
        screen.controllers.line.thread.follows = False
        await ask(pilot, "where")
        second = (await answered(pilot, screen, 2))[1].record
        assert second.thread == 0.0, "a thread of its own"
        screen.controllers.walk.begin(0)
        await until_shown(pilot, "Step 1 of")
        await pilot.press("x")
        *_, anew = await answered(pilot, screen, 3)
        assert anew.record.thread == first.asked_at
        assert screen.controllers.line.thread.id == first.asked_at
        (exchange,) = screen.controllers.line.thread.exchanges
        assert exchange.question == first.question


async def test_the_walk_begins_with_a_click_below_the_answer(tmp_path: Path) -> None:
    app = asking_app(tmp_path, "alone")
    async with app.run_test(size=NARROW) as pilot:
        screen = await read_whole(pilot)
        screen.controllers.line.choose_bound(BoundChoice(whole=True))
        await pilot.press("<")
        await until(pilot, lambda: warned(app, "No answer with steps to walk."))
        await ask(pilot, "who")
        await answered(pilot, screen, 1)
        await until_shown(pilot, "walk the steps")
        row, line = next(
            (row, line)
            for row, line in enumerate(lines(app))
            if "walk the steps" in line
        )
        await pilot.click(offset=(line.index("walk the steps"), row))
        await until_shown(pilot, "Step 1 of")
        await click(pilot, "next step")
        await until_shown(pilot, "Step 2 of")
        await click(pilot, "close")
        await until_gone(pilot, "Step 2 of")


async def test_an_older_answer_is_walked_by_its_sources(tmp_path: Path) -> None:
    app = passages_app(tmp_path, "alone")
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: not screen.controllers.context.opening)
        start = screen.book.text.index("The road went on")
        source = Citation(0, start, start + 16, "The road went on")
        record = SavedQuestion("Where?", "On.", True, (source,))
        screen.answers_pane.show_exchanges([Exchange.saved(record)])
        await pilot.press(">")
        await until_shown(pilot, "cited: “The road went on”")
        await pilot.press("x")
        await until(pilot, lambda: warned(app, "This answer is older"))


async def test_an_answer_of_an_earlier_session_is_walked_and_written_anew(
    tmp_path: Path,
) -> None:
    async with asking_app(tmp_path, "alone").run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        screen.controllers.line.choose_bound(BoundChoice(whole=True))
        await ask(pilot, "who")
        (fresh,) = await answered(pilot, screen, 1)
        await pilot.press(">")
        await until_shown(pilot, "Step 1 of")
        steps = screen.controllers.walk._steps
        await screen.close()
    app = asking_app(tmp_path, "alone")
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        await until(pilot, lambda: screen.answers_pane.exchanges)
        (restored,) = screen.answers_pane.exchanges
        assert restored.record == fresh.record
        await until_shown(pilot, "walk the steps")
        await pilot.press(">")
        await until_shown(pilot, "Step 1 of")
        assert screen.controllers.walk._steps == steps
        assert any(step.reason for step in steps)
        first = screen.memory_pane.view.note.number
        await pilot.press("x")
        old, new = await answered(pilot, screen, 2)
        assert old.folded
        assert new.record.left_out == (first,)
        assert first not in new.record.lookups
        await until_shown(pilot, f"without section {first}")
        await screen.close()
    app = asking_app(tmp_path, "alone")
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        await until(pilot, lambda: len(screen.answers_pane.exchanges) == 2)
        await until_shown(pilot, f"without section {first}")
        await pilot.press("<")
        await until_shown(pilot, "take back")
        await pilot.press("x")
        *_, last = await answered(pilot, screen, 3)
        assert last.record.left_out == ()
        assert last.record.lookups == fresh.record.lookups


async def test_the_steps_of_an_earlier_session_are_listed(tmp_path: Path) -> None:
    app = passages_app(tmp_path, "alone")
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: not screen.controllers.context.opening)
        start = screen.book.text.index("The road went on")
        kept = (
            AnswerStep(start, start + 40, "because it has “road”"),
            AnswerStep(start + 900, start + 950, is_left_out=True),
        )
        record = SavedQuestion("Where?", "On.", True, steps=kept)
        screen.answers_pane.show_exchanges([Exchange.saved(record)])
        screen.panes.show(Pane.ANSWERS)
        await pilot.press("W")
        await until_shown(pilot, "because it has “road”")
        await until_shown(pilot, "left out")


@pytest.mark.slow
@pytest.mark.parametrize("reader", sorted(METHODS.keys() - {"longagent", "notes"}))
async def test_every_method_asks_on_the_screen_and_is_walked(
    tmp_path: Path, reader: str
) -> None:
    config = Config(min_words=40, max_words=90, reader=reader, steps="ask")
    engine = SteppedEngine(
        says=lambda _: "The road went on along the river.", chooses=looks_up
    )
    app = app_on(long_book(20), tmp_path, engine, config)
    async with app.run_test(size=NARROW) as pilot:
        screen = await read_whole(pilot)
        screen.controllers.line.choose_bound(BoundChoice(whole=True))
        await ask(pilot, "Where does the road go?")
        if reader in OFFERS_QUICKER:
            await until_shown(pilot, "Ask all the same")
            await pilot.press("enter")
        await until_shown(pilot, "Wants section")
        assert screen.memory_pane.view.note.text.startswith("wanted")
        await pilot.press("&")
        await answered(pilot, screen, 1)
        await pilot.press(">")
        await until_shown(pilot, "Step 1 of")
        assert screen.memory_pane.view.note.text.startswith("step 1 of")
