"""The reading place, the view, and the parts of the book that were read."""

from pathlib import Path

from gistread.tui.reading.position import STAYED_S, ModelPlace, ReadingPosition, merged
from gistread.user_data import ReadingPlace
from tests.tui.books import long_book
from tests.tui.scripted import app_on, opened, text_of, until

LENGTH = 10_000


def test_the_model_reads_where_the_person_has_stayed_for_a_while() -> None:
    book, now = long_book(20), 0.0
    position = ReadingPosition(ReadingPlace(), len(book.text))
    place = ModelPlace(position, book, lambda: now)
    second = book.chapters[1].start + 5
    position.jump(look=False)
    position.moved(second, second + 1000)
    place.moved()
    now = STAYED_S - 1
    assert place.offset == 0
    now = STAYED_S
    assert place.offset == second
    place.set(7)
    assert place.offset == 7


def test_adjacent_ranges_are_joined() -> None:
    assert merged([(5, 9), (0, 3), (3, 5), (20, 20), (12, 14)]) == ((0, 9), (12, 14))


def test_reading_on_moves_the_place_and_marks_text_as_read() -> None:
    position = ReadingPosition(ReadingPlace(), LENGTH)
    for start in (0, 300, 900, 1500):
        position.moved(start, start + 1000)
    assert (position.place, position.end, position.read) == (1500, 2500, ((0, 1500),))
    assert position.share_read(1000, 2000) == 0.5
    position.moved(1400, 2400)  # A look at the line above takes nothing back
    assert (position.place, position.furthest) == (1400, 2500)
    position.jump(look=False)
    position.moved(0, 1000)
    assert position.furthest == 1500


def test_a_look_elsewhere_keeps_the_reading_place() -> None:
    position = ReadingPosition(ReadingPlace(1000, ((0, 1000),)), LENGTH)
    position.moved(1000, 2000)
    position.jump(look=True)
    position.moved(8000, 9000)
    assert (position.place, position.looking) == (1000, True)
    position.moved(8500, 9500)
    assert (position.place, position.looking) == (1000, True)
    position.jump(look=True)
    position.moved(900, 1900)  # near enough to see the place again
    assert (position.place, position.looking) == (1000, False)
    position.jump(look=True)
    position.moved(5000, 5000)  # The book is not on the screen
    assert (position.place, position.looking) == (1000, True)
    position.jump(look=True)
    position.moved(5000, 6000)
    for start in (5500, 6000, 6500):
        position.moved(start, start + 1000)
    assert (position.place, position.looking) == (6500, False)
    assert position.share_read(2000, 5000) == 0


def test_going_to_a_chapter_moves_the_place_without_marking_text_read() -> None:
    position = ReadingPosition(ReadingPlace(), LENGTH)
    position.moved(0, 1000)
    position.jump(look=False)
    position.moved(LENGTH - 1000, LENGTH)
    assert (position.place, position.read) == (LENGTH - 1000, ())


async def test_after_a_restart_the_reading_place_is_restored(tmp_path: Path) -> None:
    book = long_book()
    app = app_on(book, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await pilot.press("3", "0", "%")
        await until(pilot, lambda: screen.book_pane.place > 0)
        place = screen.book_pane.place
        await pilot.press("G")
        await until(pilot, lambda: screen.book_pane.place > 2 * place)
        await until(pilot, lambda: "Backspace: back to your place" in text_of(app))
        await pilot.press("t")
        await until(pilot, lambda: "Chapter 20" in text_of(app))
        assert "read" not in text_of(app).split("Enter")[1]
        await pilot.press("escape", "q")
    again = app_on(book, tmp_path)
    async with again.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: screen.book_pane.place == place)
        await pilot.press("backspace")
        await until(pilot, lambda: screen.book_pane.place == 0)
