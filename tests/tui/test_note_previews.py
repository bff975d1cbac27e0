"""A note is shown over the book: with a key, under the mouse, and gone with Esc or a turn."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from gistread.book.model import Book, Chapter, Link, Paragraph
from gistread.book.open import open_book
from gistread.config import Config
from gistread.tui.reading.layers import Layer
from gistread.tui.screens.reading import ReadingScreen
from gistread.tui.widgets.note_preview import NotePreview
from tests.book.make_docx import docx, p, r
from tests.book.make_epub import epub, package, page
from tests.tui.scripted import (
    app_on,
    lines,
    opened,
    text_of,
    until,
    until_gone,
    until_shown,
)
from tests.tui.test_linking import chosen, linked_book

NARROW, WIDE = (80, 24), (160, 40)
LONG_NOTE = "It was so. " * 400


def noted_book(paragraphs: int = 60, *, note: str = "") -> Book:
    """Each third paragraph has a note; all of them stand at the end."""
    texts = [f"Paragraph {number} goes on for a while." for number in range(paragraphs)]
    texts = [text + "*" * (number % 3 == 0) for number, text in enumerate(texts)]
    notes = [f"Note of {number}. {note}".strip() for number in range(0, paragraphs, 3)]
    parts, at = [], 0
    for text in (*texts, *notes):
        parts.append(Paragraph(at, at + len(text)))
        at += len(text) + 2
    signs = [part.end - 1 for part in parts[:paragraphs:3]]
    links = [
        Link(sign, sign + 1, part.start, part.end)
        for sign, part in zip(signs, parts[paragraphs:], strict=True)
    ]
    text = "\n\n".join((*texts, *notes))
    chapters = (Chapter("Noted", 0, len(text)),)
    return Book(
        text, "Noted", tuple(parts), chapters, ("A. Writer",), "en", links=tuple(links)
    )


def preview(screen: ReadingScreen) -> NotePreview:
    return screen.query_one(NotePreview)


def shown(screen: ReadingScreen) -> str:
    """The words of the note that is shown; empty without one."""
    frame = preview(screen)
    return " ".join(block.text for block in frame.blocks) if frame.display else ""


def frame_rows(pilot: Pilot[None]) -> range:
    drawn = [
        row
        for row, line in enumerate(lines(pilot.app))
        if "╭─ Note" in line or "╰──" in line
    ]
    assert len(drawn) == 2
    return range(drawn[0], drawn[1] + 1)


async def test_one_key_shows_the_nearest_note_at_the_foot_and_again_the_next(
    tmp_path: Path,
) -> None:
    app = app_on(noted_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        before = lines(app)
        await pilot.press(";")
        await until_shown(pilot, "Note of 0.")
        assert chosen(screen) == ["*"]
        rows = frame_rows(pilot)
        assert rows.stop == len(lines(app)) - 1
        assert lines(app)[2 : rows.start] == before[2 : rows.start]
        assert "Enter in the text · Esc close" in lines(app)[rows.stop - 1]
        await pilot.press(";")
        await until(pilot, lambda: shown(screen) == "Note of 3.")
        await pilot.press("escape")
        await until(pilot, lambda: not shown(screen))
        assert lines(app)[:-1] == before[:-1]


async def test_enter_opens_the_note_in_the_text(tmp_path: Path) -> None:
    app = app_on(noted_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        await pilot.press(";", "enter")
        await until_shown(pilot, "┊ ")
        assert not shown(screen)
        await pilot.press("escape")
        await until_gone(pilot, "┊ ")


async def test_the_nearest_is_the_one_at_the_caret(tmp_path: Path) -> None:
    app = app_on(noted_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        await pilot.press("V", *["down"] * 8, "escape", ";")
        await until(pilot, lambda: bool(shown(screen)))
        caret = screen.book_pane.pointed_at
        assert caret is not None
        nearest = next(link for link in screen.book.links if link.start >= caret)
        assert nearest != screen.book.links[0]
        assert shown(screen) == screen.book.text[nearest.target : nearest.target_end]


async def test_a_turn_closes_the_note_and_goes_on_with_what_it_covered(
    tmp_path: Path,
) -> None:
    app = app_on(noted_book(), tmp_path, config=Config(overlap=0))
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        pane = screen.book_pane
        whole = pane.visible_range
        await pilot.press(";")
        await until(pilot, lambda: pane.foot > 0)
        covered = pane.visible_range
        assert covered[1] < whole[1]
        await pilot.press("space")
        await until(pilot, lambda: not shown(screen))
        assert pane.foot == 0
        assert pane.place == covered[1]


async def test_a_reference_at_the_foot_has_its_note_at_the_top(tmp_path: Path) -> None:
    app = app_on(noted_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        before = lines(app)
        view = screen.book_pane.visible_range
        number = len([link for link in screen.book.links if link.start < view[1]])
        await pilot.press(*[";"] * number)
        await until(pilot, lambda: shown(screen) == f"Note of {3 * (number - 1)}.")
        await until(pilot, lambda: frame_rows(pilot).start == 2)
        rows = frame_rows(pilot)
        assert lines(app)[rows.stop : -1] == before[rows.stop : -1]
        assert screen.book_pane.foot == 0
        assert screen.book_pane.visible_range == view


async def test_the_mouse_on_a_reference_shows_its_note_and_beside_it_none(
    tmp_path: Path,
) -> None:
    app = app_on(noted_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        row = next(n for n, line in enumerate(lines(app)) if "Paragraph 0" in line)
        sign = lines(app)[row].index("*")
        await pilot.hover(offset=(sign, row))
        await until(pilot, lambda: shown(screen) == "Note of 0.")
        await pilot.hover(offset=(sign - 6, row))
        await until(pilot, lambda: not shown(screen))
        await pilot.hover(offset=(sign, row))
        await until(pilot, lambda: shown(screen) == "Note of 0.")
        await pilot.click(offset=(sign, row))
        await until(pilot, lambda: "┊ " in text_of(app) and not shown(screen))


async def test_a_note_shown_with_the_key_stays_when_the_mouse_moves(
    tmp_path: Path,
) -> None:
    app = app_on(noted_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        row = next(n for n, line in enumerate(lines(app)) if "Paragraph 3" in line)
        sign = lines(app)[row].index("*")
        await pilot.press(";")
        await until(pilot, lambda: shown(screen) == "Note of 0.")
        await pilot.hover(offset=(sign - 6, row))
        assert shown(screen) == "Note of 0."
        await pilot.hover(offset=(sign, row))
        await until(pilot, lambda: shown(screen) == "Note of 3.")
        await pilot.hover(offset=(sign - 6, row))
        await until(pilot, lambda: not shown(screen))


async def test_a_reference_in_a_shown_note_shows_its_note(tmp_path: Path) -> None:
    app = app_on(linked_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        await pilot.press(";")
        await until(pilot, lambda: "of whom more is known‡" in shown(screen))
        row = next(n for n, line in enumerate(lines(app)) if "known‡" in line)
        await pilot.click(offset=(lines(app)[row].index("‡"), row))
        await until(pilot, lambda: shown(screen) == "‡ From the log.")


async def test_a_long_note_takes_half_of_the_page_and_scrolls(tmp_path: Path) -> None:
    app = app_on(noted_book(note=LONG_NOTE), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        await pilot.press(";")
        await until(pilot, lambda: bool(shown(screen)))
        await until(pilot, lambda: preview(screen).size.height > 0)
        assert len(frame_rows(pilot)) == screen.book_pane.size.height // 2
        assert preview(screen).max_scroll_y > 0
        await pilot.resize_terminal(120, 40)
        await until(
            pilot, lambda: len(frame_rows(pilot)) == screen.book_pane.size.height // 2
        )


async def test_in_two_columns_the_note_stands_below_the_second(tmp_path: Path) -> None:
    app = app_on(noted_book(), tmp_path, config=Config(text_columns=2))
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        pane = screen.book_pane
        await pilot.press(";")
        await until_shown(pilot, "Note of 0.")
        await until_shown(pilot, "No model yet")  # Then the pane has its height.
        assert pane.foot > 0
        assert pane.spread.columns[0] == pane._uncovered.columns[0]
        rows = frame_rows(pilot)
        assert lines(app)[rows.start].index("╭") >= pane._column_cells(0)
        assert len(pane.spread.columns[1]) == pane.size.height - len(rows)


async def test_without_a_note_in_view_it_says_so(tmp_path: Path) -> None:
    book = noted_book()
    app = app_on(replace(book, links=()), tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        screen = await opened(pilot)
        await pilot.press(";")
        await until_shown(pilot, "No note on the screen.")
        assert not screen.controllers.context.layers.of(Layer.LINKS)


NOTE = "Only in the note."


def _epub(folder: Path) -> Path:
    path = folder / "noted.epub"
    text = '<p>Text<a epub:type="noteref" href="#n">1</a> goes on.</p><p>More.</p>'
    note = f'<aside epub:type="footnote" id="n"><p>{NOTE}</p></aside>'
    path.write_bytes(epub({"one.xhtml": page(text + note)}, package(["one.xhtml"])))
    return path


def _fb2(folder: Path) -> Path:
    path = folder / "noted.fb2"
    path.write_text(
        '<FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0" '
        'xmlns:l="http://www.w3.org/1999/xlink"><description><title-info><book-title>Noted'
        "</book-title></title-info></description><body><section><title><p>One</p></title>"
        '<p>Text<a l:href="#n" type="note">1</a> goes on.</p></section></body>'
        f'<body name="notes"><section id="n"><p>{NOTE}</p></section></body></FictionBook>'
    )
    return path


def _markdown(folder: Path) -> Path:
    path = folder / "noted.md"
    path.write_text(f"# One\n\nText[^1] goes on.\n\n[^1]: {NOTE}\n")
    return path


def _docx(folder: Path) -> Path:
    path = folder / "noted.docx"
    body = p(r("Text") + '<w:r><w:footnoteReference w:id="2"/></w:r>' + r(" goes on."))
    notes = f'<w:footnote w:id="2">{p(NOTE)}</w:footnote>'
    path.write_bytes(docx(body, parts={"footnotes": notes}))
    return path


@pytest.mark.parametrize("write", [_epub, _fb2, _markdown, _docx])
async def test_notes_of_every_format_are_shown(
    tmp_path: Path, write: Callable[[Path], Path]
) -> None:
    path = write(tmp_path)
    assert open_book(path).links
    app = app_on(path, tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        await pilot.press(";")
        await until(pilot, lambda: NOTE in shown(screen))


@pytest.mark.parametrize("paragraphs", ["indent", "gap"])
async def test_an_open_note_has_an_empty_row_above_and_below(
    tmp_path: Path, paragraphs: str
) -> None:
    config = Config(paragraphs=paragraphs)  # type: ignore[arg-type]
    app = app_on(linked_book(), tmp_path, config=config)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        rows = screen.book_pane.row_count
        await pilot.press(*"..", "enter")
        await until_shown(pilot, "† It went out once.")
        await pilot.press(",", "enter")
        await until_shown(pilot, "* Ada, of whom")
        row = next(n for n, line in enumerate(lines(app)) if "* Ada" in line)
        around = [line.strip(" ┊") for line in lines(app)[row - 2 : row + 5]]
        assert [bool(line) for line in around] == [
            True,
            False,
            True,
            False,
            True,
            False,
            True,
        ]
        await pilot.press("escape", "escape")
        await until(pilot, lambda: screen.book_pane.row_count == rows)
