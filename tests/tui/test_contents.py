"""The contents as a tree: folded, filtered, browsed and clicked, with the share read."""

from pathlib import Path

from gistread.book.model import Book, Chapter, Paragraph, ParagraphKind
from gistread.tui.screens.contents import ContentsScreen, ContentsTree
from tests.tui.scripted import app_on, lines, opened, text_of, until

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
    text, paragraphs, chapters = "", [], []
    for title, level in SHAPE * repeat:
        begin = len(text)
        for words in (title, "word " * 499 + "word."):
            kind = ParagraphKind.HEADING if words == title else ParagraphKind.TEXT
            paragraphs.append(Paragraph(len(text), len(text) + len(words), kind))
            text += words + "\n\n"
        chapters.append(Chapter(title, begin, len(text), level))
    return Book(text, "Nested", tuple(paragraphs), tuple(chapters))


def shown(tree: ContentsTree, wanted: str = "") -> list[str]:
    return [f"{'-' * node.depth}{tree.book.chapters[node.index].title}" for node in tree.nodes(wanted)]


def test_chapters_are_nested_by_level() -> None:
    tree = ContentsTree(nested_book())
    assert shown(tree) == [
        "Preface",
        "Part One",
        "-The Élan",
        "--A Scene",
        "-The Storm",
        "Part Two",
        "-The Calm",
    ]
    tree.toggle(1)
    assert shown(tree) == ["Preface", "Part One", "Part Two", "-The Calm"]
    tree.toggle(0)
    assert shown(tree) == ["Preface", "Part One", "Part Two", "-The Calm"], "what has nothing under it does not fold"


def test_filtering_keeps_ancestors_and_ignores_diacritics() -> None:
    tree = ContentsTree(nested_book())
    tree.toggle(1)
    assert shown(tree, "elan") == ["Part One", "-The Élan"]
    assert shown(tree, "the o") == ["Part One", "-The Storm"]
    assert shown(tree, "part 2") == ["Part Two"]
    assert shown(tree, "zebra") == []


async def test_the_tree_shows_the_place_and_the_share_read(tmp_path: Path) -> None:
    app = app_on(nested_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        await pilot.press("4", "]")
        await until(pilot, lambda: screen.book_pane.place == screen.book.chapters[4].start)
        screen.controllers.context.position.read = ((0, screen.book.chapters[4].start),)
        await pilot.press("t")
        await until(pilot, lambda: isinstance(app.screen, ContentsScreen) and "← you" in text_of(app))
        rows = {title: next(line for line in lines(app)[1:] if title in line) for title, _ in SHAPE}
        assert "← you" in rows["The Storm"]
        assert "read" in rows["Preface"]
        assert "75%" in rows["Part One"]
        assert "%" not in rows["Part Two"]
        assert "2 min" in rows["Preface"]
        assert all("▾" in rows[title] for title in ("Part One", "Part Two", "The Élan"))


async def test_arrows_fold_and_move_and_folds_are_kept(tmp_path: Path) -> None:
    app = app_on(nested_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        await pilot.press("t", "down", "left")
        await until(pilot, lambda: "▸ Part One" in text_of(app) and "A Scene" not in text_of(app))
        await pilot.press("escape", "t")
        await until(pilot, lambda: "▸ Part One" in text_of(app))
        await pilot.press("down", "right", "right", "right")
        await until(pilot, lambda: "A Scene" in text_of(app))
        await pilot.press("enter")
        await until(pilot, lambda: screen.book_pane.place == screen.book.chapters[3].start)
        await pilot.press("t", "left")
        await pilot.press("left", "enter")
        await until(pilot, lambda: screen.book_pane.place == screen.book.chapters[2].start)


async def test_the_tree_works_by_mouse(tmp_path: Path) -> None:
    app = app_on(nested_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        await pilot.press("t")
        await until(pilot, lambda: "Part One" in text_of(app))
        row = next(n for n, line in enumerate(lines(app)) if "Part One" in line)
        column = lines(app)[row].index("▾")
        await pilot.click(offset=(column, row))
        await until(pilot, lambda: "▸ Part One" in text_of(app))
        await pilot.click(offset=(column + 3, row))
        await until(pilot, lambda: screen.book_pane.place == screen.book.chapters[1].start)
