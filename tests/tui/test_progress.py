"""The progress line: pages, chapter and time left, and how reading speed is measured."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from textual.app import App, ComposeResult

from gistread.book.builder import BookBuilder
from gistread.book.model import Book, Chapter, Paragraph, ParagraphKind
from gistread.config import Config
from gistread.store.pace import Pace, ReadingSpeed
from gistread.tui.progress import Meter, chapter_words, fitting, place_words
from gistread.tui.reading.pane_switcher import Pane
from gistread.tui.widgets.lines import HeaderLine, Tab
from tests.tui.books import long_book, small_book
from tests.tui.scripted import (
    app_on,
    filled,
    lines,
    opened,
    paths_in,
    text_of,
    until,
    until_shown,
)

ALL = frozenset({"title", "chapter", "chapter-left", "book-left", "page", "percent"})


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_print_pages_are_the_same_at_every_width_and_cover_the_book() -> None:
    book = long_book()
    count = book.page_count
    assert count == round(book.words / 250)
    assert book.page_at(0) == 1
    assert book.page_at(len(book.text)) == count
    for page in range(1, count + 1):
        start = book.page_start(page)
        assert book.page_at(start) == page
        assert start == 0 or book.page_at(start - 1) == page - 1


def test_a_book_of_a_few_words_has_one_page() -> None:
    assert small_book().page_count == 1
    assert small_book().page_start(9) == 0


def test_every_fact_about_a_place_is_shown() -> None:
    book = long_book()
    third = book.chapters[2]
    words = place_words(book, third.start, third.start / len(book.text), 230, ALL)
    assert words.title == "The Long Road · B. Walker"
    assert words.chapter == "Chapter 3"
    assert words.progress == ("chapter 2 min", "book 36 min left", "p. 4 of 37", "10%")


def test_only_configured_facts_are_shown() -> None:
    book = long_book()
    assert place_words(book, 0, 0.0, 230, frozenset({"percent"})).progress == ("0%",)
    words = place_words(book, 0, 0.0, 230, frozenset({"chapter", "page"}))
    assert (words.title, words.chapter) == ("", "Chapter 1")


def test_a_title_page_is_of_no_chapter() -> None:
    builder = BookBuilder()
    builder.add("By Howard Pyle")
    for title in ("FOREWORD.", "I. The Dragon’s House."):
        builder.chapter(title)
        builder.add(title, ParagraphKind.HEADING, 1)
        builder.add(
            "Between the far away past history of the world and today lies a great black gulf."
        )
    book = builder.build(title="Otto", source_format="text")
    heading = book.text.index("FOREWORD.")
    shown = [
        place_words(book, at, 0.0, 230, ALL).chapter
        for at in (0, heading, len(book.text) - 1)
    ]
    assert shown == ["", "FOREWORD.", "I. The Dragon’s House."]


def test_the_time_left_depends_on_speed_and_ends_at_zero() -> None:
    book = long_book()
    slow, fast = (
        place_words(book, 0, 0.0, pace, frozenset({"book-left"})).progress[0]
        for pace in (100, 400)
    )
    assert int(re.search(r"(\d+) min", slow)[1]) + 60 * ("1 h" in slow) > int(
        re.search(r"(\d+) min", fast)[1]
    )
    end = place_words(book, len(book.text) - 900, 1.0, 230, ALL)
    assert end.progress[-3:] == ("book <1 min left", "p. 37 of 37", "100%")


def test_the_right_edge_of_the_header_rarely_moves() -> None:
    book = long_book()
    widths = []
    for offset in range(0, len(book.text), 97):
        *_, page, percent = place_words(
            book, offset, offset / len(book.text), 230, ALL
        ).progress
        widths.append(len(f"{page} · {percent}"))
    assert sum(first != second for first, second in pairwise(widths)) <= 3


def test_a_numbered_chapter_is_named_with_its_part() -> None:
    text = "Book One\n\nPart Two\n\nXII\n\nWords."
    chapters = (
        Chapter("Book One", 0, 10, 1),
        Chapter("Part Two", 10, 20, 2),
        Chapter("XII", 20, len(text), 3),
    )
    book = Book(text, "T", (Paragraph(0, len(text)),), chapters)
    assert [chapter_words(book, index) for index in range(3)] == [
        "Book One",
        "Part Two",
        "Part Two · XII",
    ]


def test_the_least_important_fact_is_left_out_first() -> None:
    parts = ("chapter 4 min", "book 2 h 10 min", "p. 31 of 402", "31%")
    assert fitting(parts, 200) == "chapter 4 min · book 2 h 10 min · p. 31 of 402 · 31%"
    assert fitting(parts, 26) == "p. 31 of 402 · 31%"
    assert fitting(parts, 5) == "31%"
    assert fitting(parts, 2) == ""


def turned(
    meter: Meter, clock: Clock, seconds: float, pages: int = 6, characters: int = 1000
) -> None:
    for page in range(pages):
        meter.moved(page * characters, (page + 1) * characters + 50)
        clock.now += seconds


def test_turning_pages_measures_the_words_read() -> None:
    clock = Clock()
    meter = Meter(0.2, clock)
    turned(meter, clock, 60)
    assert len(meter.samples) == 5
    assert {round(sample.words_per_minute) for sample in meter.samples} == {200}


def test_scrolling_measures_the_words_read() -> None:
    clock = Clock()
    meter = Meter(0.2, clock)
    for row in range(60):
        meter.moved(row * 60, row * 60 + 1000)
        clock.now += 60 * 60 * 0.2 / 200
    assert meter.samples
    assert {round(sample.words_per_minute) for sample in meter.samples} == {200}


@pytest.mark.parametrize("seconds", [0.4, 4000])
def test_leafing_and_idling_measure_nothing(seconds: float) -> None:
    clock = Clock()
    meter = Meter(0.2, clock)
    turned(meter, clock, seconds)
    assert meter.samples == []


def test_a_jump_and_going_back_measure_nothing() -> None:
    clock = Clock()
    meter = Meter(0.2, clock)
    for start in (0, 50_000, 20_000, 90_000, 10):
        meter.moved(start, start + 1000)
        clock.now += 60
    assert meter.samples == []


async def test_the_header_says_pages_and_minutes_or_on_a_narrow_screen_the_page_and_reaches_the_end(
    tmp_path: Path,
) -> None:
    app = app_on(long_book(), tmp_path)
    async with app.run_test(size=(140, 40)) as pilot:
        await opened(pilot)
        assert "The Long Road · B. Walker" in lines(app)[0]
        assert (
            lines(app)[0]
            .rstrip()
            .endswith("chapter 2 min · book 40 min left · p. 1 of 37 · 0%")
        )
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: filled(app, 0) == "Book")
        assert lines(app)[0].rstrip().endswith("p. 1 of 37 · 0%")
        await pilot.resize_terminal(140, 40)
        await pilot.press("G")
        await until(
            pilot, lambda: "book <1 min left · p. 37 of 37 · 100%" in lines(app)[0]
        )


async def test_the_settings_say_what_the_header_shows(tmp_path: Path) -> None:
    app = app_on(long_book(), tmp_path, config=Config(progress="percent"))
    async with app.run_test(size=(140, 40)) as pilot:
        await opened(pilot)
        assert lines(app)[0].split() == ["≡", "0%"]


async def test_the_reading_speed_is_loaded_and_saved(tmp_path: Path) -> None:
    user_data = ReadingSpeed(paths_in(tmp_path))
    user_data.add("en", [Pace(200, 30)] * 20)
    app = app_on(long_book(), tmp_path)
    async with app.run_test(size=(140, 40)) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: "book 23 min left" in lines(app)[0])
        clock = Clock()
        screen.controllers.context.progress.meter._now = clock
        for _ in range(5):
            clock.now += 60
            await pilot.press("space")
            await pilot.pause()
        days, sha256 = app.services.user_data.reading_days, screen.book.sha256
        # Saved while reading: a kill loses a minute at most.
        await until(pilot, lambda: bool(days()))
        clock.now += 8 * 3600  # A night with the book open
        await pilot.press("space", "space")
        await pilot.press("ctrl+r")
        await until_shown(pilot, "Reading figures")
        assert re.search(r"Today: [1-4] min", text_of(app))
        await pilot.press("escape", "q")
    assert len(user_data.samples("en")) > 20
    (day,) = days()[sha256]
    assert 60 <= day.seconds <= 300


async def test_browsing_the_memory_measures_nothing(tmp_path: Path) -> None:
    app = app_on(long_book(), tmp_path)
    async with app.run_test(size=(140, 40)) as pilot:
        screen = await opened(pilot)
        clock = Clock()
        screen.controllers.context.progress.meter._now = clock
        screen.panes.show(Pane.MEMORY)
        await pilot.pause()
        for offset in range(0, 9000, 1500):
            clock.now += 60
            screen.book_pane.scroll_to_offset(offset)
            await pilot.pause()
        assert screen.controllers.context.progress.meter.samples == []


TABS = (Tab("Book", True, ""), Tab("Memory", False, ""), Tab("Answers", False, ""))


class HeaderAlone(App[None]):
    def compose(self) -> ComposeResult:
        yield HeaderLine()


async def test_a_narrow_header_moves_its_tabs_for_the_page_and_the_share() -> None:
    app = HeaderAlone()
    async with app.run_test(size=(80, 24)) as pilot:
        app.query_one(HeaderLine).show_place(
            "War and Peace", "Book One", ("p. 1,200 of 2,261", "53%"), TABS
        )
        await pilot.pause()
        assert lines(app)[0].rstrip().endswith("p. 1,200 of 2,261 · 53%")
        assert "Memory" in lines(app)[0]


async def test_a_narrow_header_shows_the_book_beside_a_chapter_that_is_a_bare_number() -> (
    None
):
    app = HeaderAlone()
    async with app.run_test(size=(80, 24)) as pilot:
        for chapter, shown in (
            ("XVII", "A Tale of Two… · XVII"),
            ("Book One", "Book One"),
        ):
            app.query_one(HeaderLine).show_place(
                "A Tale of Two Cities", chapter, ("p. 12 of 261", "5%"), TABS
            )
            await pilot.pause()
            assert lines(app)[0].split("  Book  ")[0].strip("≡ ").rstrip() == shown
        app.query_one(HeaderLine).show_place(
            "Emma · Jane Austen", "II", ("p. 20 of 630", "3%"), TABS
        )
        await pilot.pause()
        assert "≡ Emma · II " in lines(app)[0], (
            "the author makes room, not half of the name"
        )
        app.query_one(HeaderLine).show_place(
            "Emma · The Author of Two Others", "I. A Chapter", ("p. 20 of 630", "3%")
        )
        await pilot.pause()
        assert "≡ Emma  " in lines(app)[0], "nor half of the author"
