"""The reading place, the view, and the parts of the book that were read."""

from pathlib import Path

import pytest

from gistread.store.model import ReadingPlace, merged_ranges
from gistread.tui.reading.position import STAYED_S, ModelPlace, ReadingPosition
from gistread.tui.services import Opening
from tests.tui.books import long_book
from tests.tui.scripted import app_on, opened, text_of, until, until_shown

LENGTH = 10_000


def test_the_model_reads_where_the_person_has_stayed_for_a_while() -> None:
    book, now = long_book(20), 0.0
    position = ReadingPosition(ReadingPlace(), len(book.text))
    place = ModelPlace(position, book, lambda: now)
    second = book.chapters[1].start + 5
    position.moved(0, 1000)
    position.moved(second, second + 1000, turned=True)
    place.moved()
    now = STAYED_S - 1
    assert place.offset == 0
    now = STAYED_S
    assert place.offset == second
    place.set(7)
    assert place.offset == 7


def test_the_model_follows_at_once_where_the_user_reads_on_after_a_jump() -> None:
    book = long_book(20)
    position = ReadingPosition(ReadingPlace(), len(book.text))
    place = ModelPlace(position, book, lambda: 0.0)
    fifth = book.chapters[4].start
    position.moved(0, 1000)
    position.jump()
    position.moved(fifth, fifth + 1000)
    place.moved()
    assert place.offset == 0
    position.settle()
    assert place.offset == fifth


def test_adjacent_ranges_are_joined() -> None:
    assert merged_ranges([(5, 9), (0, 3), (3, 5), (20, 20), (12, 14)]) == (
        (0, 9),
        (12, 14),
    )


def test_reading_on_moves_the_place_and_marks_text_as_read() -> None:
    position = ReadingPosition(ReadingPlace(), LENGTH)
    for start in (0, 300, 900, 1500):
        position.moved(start, start + 1000)
    assert (position.place, position.end, position.read) == (1500, 2500, ((0, 1500),))
    assert position.share_read(1000, 2000) == 0.5
    position.moved(1400, 2400)  # A look at the line above takes nothing back
    assert (position.place, position.furthest) == (1400, 2500)
    position.jump()
    position.moved(0, 1000)
    assert (position.place, position.furthest, position.looking) == (1400, 2500, True)


def test_a_look_elsewhere_keeps_the_reading_place() -> None:
    position = ReadingPosition(ReadingPlace(1000, ((0, 1000),)), LENGTH)
    position.moved(1000, 2000)
    position.jump()
    position.moved(8000, 9000)
    assert (position.place, position.looking) == (1000, True)
    position.moved(8500, 9500)
    assert (position.place, position.looking) == (1000, True)
    position.jump()
    position.moved(900, 1900)  # near enough to see the place again
    assert (position.place, position.looking) == (1000, False)
    position.jump()
    position.moved(5000, 5000)  # The book is not on the screen
    assert (position.place, position.looking) == (1000, True)
    position.jump()
    position.moved(5000, 6000)
    for start in (5500, 6000, 6500):
        position.moved(start, start + 1000)
    assert (position.place, position.looking) == (6500, False)
    assert position.share_read(2000, 5000) == 0


def test_looks_move_neither_the_place_nor_the_bound_until_a_screen_is_turned() -> None:
    position = ReadingPosition(ReadingPlace(), LENGTH)
    position.moved(0, 1000)
    for start in (9000, 4000, 7000):
        position.jump()
        position.moved(start, start + 1000)
        position.moved(start + 500, start + 1500)  # half a screen is no reading on
    assert (position.place, position.read, position.furthest) == (0, (), 1000)
    position.moved(5000, 6000)  # the scrollbar is dragged
    position.moved(6500, 7500)
    assert (position.place, position.furthest, position.looking) == (0, 1000, True)


def test_settling_reads_on_and_going_back_is_a_look() -> None:
    position = ReadingPosition(ReadingPlace(), LENGTH)
    position.moved(0, 1000)
    position.jump()
    position.moved(8000, 9000)
    position.settle()
    assert (position.place, position.furthest, position.looking) == (8000, 9000, False)
    position.jump()
    position.moved(0, 1000)
    assert (position.place, position.furthest, position.looking) == (8000, 9000, True)


def test_reading_on_at_an_earlier_place_does_not_lower_what_was_read() -> None:
    position = ReadingPosition(ReadingPlace(), LENGTH)
    position.moved(7000, 8000)
    position.jump()
    position.moved(0, 1000)
    position.settle()
    assert (position.place, position.furthest) == (0, 8000)


def test_the_end_of_the_screen_at_the_place_is_restored() -> None:
    position = ReadingPosition(ReadingPlace(1000, end=1900), LENGTH)
    position.moved(1000, 1400)  # a smaller screen
    assert position.furthest == ReadingPlace(1000, end=1900).furthest == 1900


async def test_going_back_after_reading_on_keeps_what_was_read(tmp_path: Path) -> None:
    book = long_book()
    app = app_on(book, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await pilot.press(*":30%", "enter")
        await until(pilot, lambda: screen.controllers.context.position.looking)
        for _ in range(6):
            before = screen.book_pane.place
            await pilot.press("space")
            await until(pilot, lambda before=before: screen.book_pane.place > before)
        place, bound = screen.book_pane.place, screen.controllers.line.bound
        await pilot.press("backspace")
        await until(pilot, lambda: screen.book_pane.place < place)
        assert screen.controllers.context.position.looking
        assert screen.controllers.line.bound == bound
        await pilot.press("q")
    again = app_on(book, tmp_path)
    async with again.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: screen.book_pane.place == place)
        assert screen.controllers.line.bound == bound


@pytest.mark.parametrize(
    "size",
    [
        pytest.param((60, 20), marks=pytest.mark.slow),
        (80, 24),
        pytest.param((160, 50), marks=pytest.mark.slow),
    ],
)
async def test_a_reader_who_peeks_at_ten_places_and_quits_finds_their_place(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    book = long_book()
    app = app_on(book, tmp_path)
    async with app.run_test(size=size) as pilot:
        screen = await opened(pilot)
        await pilot.press("space", "space")
        await until(pilot, lambda: screen.book_pane.place > 0)
        place = screen.book_pane.place
        bound = screen.controllers.line.bound
        for peek in (
            ":50%",
            "G",
            ":30%",
            "]",
            ":60%",
            ":40%",
            ":10%",
            ":70%",
            ":20%",
            ":55%",
        ):
            before = screen.book_pane.place
            await pilot.press(*peek, *(["enter"] if peek[0] == ":" else []))
            await until(pilot, lambda before=before: screen.book_pane.place != before)
        assert screen.controllers.line.bound == bound
        await pilot.press(":", "enter")
        await until(pilot, lambda: screen.book_pane.place == place)
        assert not screen.controllers.context.position.looking
        await pilot.press("backspace", "q")
    again = app_on(book, tmp_path)
    async with again.run_test(size=size) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: screen.book_pane.place == place)
        assert not screen.controllers.navigation.jumps.behind, "the peeks are forgotten"


async def test_after_a_restart_the_reading_place_is_restored(tmp_path: Path) -> None:
    book = long_book()
    app = app_on(book, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await pilot.press(*":30%", "enter")
        await until(pilot, lambda: screen.book_pane.place > 0)
        await until(pilot, lambda: screen.controllers.context.position.looking)
        await pilot.press("enter")
        await until(pilot, lambda: not screen.controllers.context.position.looking)
        place = screen.book_pane.place
        await pilot.press("G")
        await until(pilot, lambda: screen.book_pane.place > 2 * place)
        await until_shown(pilot, "Backspace back")
        await pilot.press("t")
        await until_shown(pilot, "Chapter 20")
        assert "read" not in text_of(app).split("Enter")[1]
        await pilot.press("escape", "q")
    again = app_on(book, tmp_path)
    async with again.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: screen.book_pane.place == place)
        await pilot.press("backspace")
        await until(pilot, lambda: screen.book_pane.place == 0)


def test_a_turned_screen_is_no_jump_where_a_paragraph_ends_with_it() -> None:
    position = ReadingPosition(ReadingPlace(), LENGTH)
    position.moved(0, 1000)
    position.moved(1002, 2000)  # between them the break of a paragraph
    assert (position.place, position.looking) == (1002, False)
    position.moved(6000, 7000)  # the scroll bar
    assert (position.place, position.looking) == (1002, True)


def test_reading_on_is_a_turned_screen_whatever_number_of_words_it_has() -> None:
    position = ReadingPosition(ReadingPlace(), LENGTH)
    position.moved(0, 1000)
    position.jump()
    position.moved(5000, 5400)  # a heading with space around it
    position.moved(5200, 5900)
    assert position.looking
    position.moved(5350, 6350)  # all but two lines of it
    assert (position.place, position.looking) == (5350, False)
    assert position.read[-1] == (5000, 5350)


async def test_opening_at_a_place_only_looks(tmp_path: Path) -> None:
    book = long_book()
    app = app_on(book, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await pilot.press("space", "space")
        await until(pilot, lambda: screen.book_pane.place > 0)
        place, read = screen.book_pane.place, screen.controllers.context.position.read
        await pilot.press("q")
    offset = book.chapters[-2].start
    look = Opening(Path("book.txt"), (offset, offset))
    again = app_on(book, tmp_path, look_at=look)
    async with again.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: screen.book_pane.place == offset)
        position = screen.controllers.context.position
        await pilot.press("escape")
        assert (position.looking, position.place, position.read) == (True, place, read)
        await pilot.press("backspace")
        await until(pilot, lambda: screen.book_pane.place == place)
