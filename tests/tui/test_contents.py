"""The contents as a tree: filtered, browsed and clicked, with the share read."""

from pathlib import Path

import pytest
from textual import events

from gistread.book.model import Book, Chapter, Paragraph, ParagraphKind
from gistread.tui.screens.contents import ContentsScreen, ancestors, matches
from tests.tui.scripted import app_on, lines, opened, text_of, until, until_shown

NARROW = (80, 24)
SHAPE = (
    ("Preface", 1),
    ("Part One", 1),
    ("The Élan", 2),
    ("A Scene", 4),
    ("The Storm", 2),
    ("Part Two", 1),
    ("The Calm", 2),
)


def nested_book(repeat: int = 1) -> Book:
    text = ""
    paragraphs: list[Paragraph] = []
    chapters: list[Chapter] = []
    for title, level in SHAPE * repeat:
        begin = len(text)
        for words in (title, "word " * 499 + "word."):
            kind = ParagraphKind.HEADING if words == title else ParagraphKind.TEXT
            paragraphs.append(Paragraph(len(text), len(text) + len(words), kind))
            text += words + "\n\n"
        chapters.append(Chapter(title, begin, len(text), level))
    return Book(text, "Nested", tuple(paragraphs), tuple(chapters))


def test_chapters_are_nested_by_level() -> None:
    assert list(map(len, ancestors(nested_book()))) == [0, 0, 1, 2, 1, 0, 1]


@pytest.mark.parametrize(
    ("words", "titles"),
    [("elan", ["The Élan"]), ("part 2", ["Part Two"]), ("zebra", [])],
)
def test_a_filter_ignores_diacritics(words: str, titles: list[str]) -> None:
    assert [title for title, _ in SHAPE if matches(title, words)] == titles


def test_a_filter_reads_numbers() -> None:
    assert matches("XX", "chapter 20")
    assert not matches("XX", "chapter 21")


def roman_book() -> Book:
    titles = ("IV. The Storm", "V. The Calm", "VI. The Lamp")
    text, chapters = "", []
    for title in titles:
        start = len(text)
        text += f"{title}\n\n{'word ' * 200}\n\n"
        chapters.append(Chapter(title, start, len(text)))
    return Book(text, "Romans", (Paragraph(0, len(text)),), tuple(chapters))


async def test_a_number_finds_its_own_chapter_before_longer_ones(
    tmp_path: Path,
) -> None:
    app = app_on(roman_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        await opened(pilot)
        await pilot.press("t", "v")
        screen = app.screen
        assert isinstance(screen, ContentsScreen)
        await until(pilot, lambda: screen.chosen == 1)
        assert "Esc clear" in text_of(app)
        await pilot.press("escape")
        await until_shown(pilot, "Esc close")


async def test_keys_that_come_in_a_burst_act_in_their_order(tmp_path: Path) -> None:
    app = app_on(roman_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        await opened(pilot)
        await pilot.press("t")
        await until(pilot, lambda: isinstance(app.screen, ContentsScreen))
        screen = app.screen
        assert isinstance(screen, ContentsScreen)
        burst = ("x", "y", "backspace", "c", "a", "ctrl+u", "l", "a", "m", "p")
        for key in burst:
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await until(pilot, lambda: screen.typed == "lamp")


async def test_what_is_typed_leaves_the_chapters_with_those_above_them(
    tmp_path: Path,
) -> None:
    app = app_on(nested_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        await pilot.press("t", *"scene")
        await until(
            pilot, lambda: "Preface" not in text_of(app) and "Part One" in text_of(app)
        )
        await pilot.press("enter")
        await until(
            pilot, lambda: screen.book_pane.place == screen.book.chapters[3].start
        )


async def test_the_tree_shows_the_place_and_the_share_read(tmp_path: Path) -> None:
    app = app_on(nested_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        await pilot.press(*"]]]]")
        await until(
            pilot, lambda: screen.book_pane.place == screen.book.chapters[4].start
        )
        screen.controllers.context.position.read = ((0, screen.book.chapters[4].start),)
        await pilot.press("t")
        await until(
            pilot,
            lambda: isinstance(app.screen, ContentsScreen) and "← you" in text_of(app),
        )
        rows = {
            title: next(line for line in lines(app)[1:] if title in line)
            for title, _ in SHAPE
        }
        assert "← you" in rows["The Storm"]
        assert "read" in rows["Preface"]
        assert "75%" in rows["Part One"]
        assert "%" not in rows["Part Two"]
        assert "2 min" in rows["Preface"]


async def test_the_tree_works_by_mouse(tmp_path: Path) -> None:
    app = app_on(nested_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        await pilot.press("t")
        await until_shown(pilot, "Part One")
        row = next(n for n, line in enumerate(lines(app)) if "Part One" in line)
        await pilot.click(offset=(lines(app)[row].index("Part One"), row))
        await until(
            pilot, lambda: screen.book_pane.place == screen.book.chapters[1].start
        )
