"""Links are chosen, followed and returned from; notes open at their references."""

from pathlib import Path

import pytest
from textual.pilot import Pilot

from gistread.book.model import Book, Chapter, Link, Paragraph, ParagraphKind
from gistread.tui.reading.layers import Layer
from gistread.tui.screens.reading import ReadingScreen
from tests.tui.scripted import (
    app_on,
    lines,
    opened,
    text_of,
    until,
    until_gone,
    until_shown,
)

NARROW, WIDE = (80, 24), (120, 40)


def linked_book() -> Book:
    """A paragraph with two notes, the first of which has a note of its own.

    Links to the end and out of the book.
    """
    texts = [
        ("The Beginning", ParagraphKind.HEADING),
        (
            "The keeper* of the light† knew what the ending was, and told the newspaper.",
            ParagraphKind.TEXT,
        ),
        *(
            (
                (
                    f"Paragraph {n} says nothing but goes on for a while so that there is "
                    "something "
                    "to scroll."
                ),
                ParagraphKind.TEXT,
            )
            for n in range(60)
        ),
        ("* Ada, of whom more is known‡.", ParagraphKind.NOTE),
        ("† It went out once.", ParagraphKind.NOTE),
        ("‡ From the log.", ParagraphKind.NOTE),
        ("The Ending", ParagraphKind.HEADING),
        ("And so the lamp was lit again.", ParagraphKind.TEXT),
        *((f"Afterword {n}.", ParagraphKind.TEXT) for n in range(30)),
    ]
    text, paragraphs = "", []
    for words, kind in texts:
        paragraphs.append(Paragraph(len(text), len(text) + len(words), kind))
        text += words + "\n\n"
    text = text.rstrip()

    def note(sign: str, words: str) -> Link:
        start, target = text.index(sign), text.index(words)
        return Link(start, start + 1, target, target + len(words))

    ending, news = text.index("the ending"), text.index("newspaper")
    links = sorted(
        [
            note("*", "* Ada, of whom more is known‡."),
            note("†", "† It went out once."),
            note("‡", "‡ From the log."),
            Link(ending, ending + 10, text.index("The Ending")),
            Link(news, news + 9, address="https://news.example/lamp"),
        ],
        key=lambda link: link.start,
    )
    end = text.index("The Ending")
    chapters = (Chapter("The Beginning", 0, end), Chapter("The Ending", end, len(text)))
    return Book(text, "Linked", tuple(paragraphs), chapters, links=tuple(links))


def chosen(screen: ReadingScreen) -> list[str]:
    return [
        screen.book.text[mark.start : mark.end]
        for mark in screen.controllers.context.layers.of(Layer.LINKS)
    ]


async def test_links_are_chosen_in_turn_and_back_returns(tmp_path: Path) -> None:
    app = app_on(linked_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        for key, words in (
            (".", "*"),
            (".", "†"),
            (".", "the ending"),
            (".", "newspaper"),
            (".", "*"),
            (",", "newspaper"),
        ):
            await pilot.press(key)
            await until(pilot, lambda words=words: chosen(screen) == [words])
        await pilot.press(*"...", "enter")
        await until(
            pilot, lambda: screen.book_pane.place == screen.book.chapters[1].start
        )
        await pilot.press("backspace")
        await until(pilot, lambda: screen.book_pane.scroll_offset.y == 0)


async def test_a_note_opens_under_its_paragraph_and_the_same_key_closes_it(
    tmp_path: Path,
) -> None:
    app = app_on(linked_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        rows = screen.book_pane.row_count
        await pilot.press(".", "enter")
        await until_shown(pilot, "┊ ")
        note = next(
            n
            for n, line in enumerate(lines(app))
            if "* Ada, of whom more is known‡." in line
        )
        assert "Paragraph 0" in "".join(lines(app)[note:])
        assert "The keeper" in "".join(lines(app)[:note])
        assert screen.book_pane.place == 0
        await pilot.press("enter")
        await until_gone(pilot, "┊ ")
        assert screen.book_pane.row_count == rows


async def test_notes_stand_in_the_order_of_their_references_and_a_link_in_one_leads_on(
    tmp_path: Path,
) -> None:
    app = app_on(linked_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        rows = screen.book_pane.row_count
        await pilot.press(*"..", "enter")
        await until_shown(pilot, "† It went out once.")
        await pilot.press(",", "enter")
        await until_shown(pilot, "* Ada, of whom")
        shown = text_of(app)
        assert shown.index("* Ada") < shown.index("† It went out"), (
            "in the order in which they are cited"
        )
        await pilot.press(*"....", "enter")
        await until(
            pilot,
            lambda: (
                screen.book_pane.place
                >= screen.book.text.index("‡ From the log.") - 500
            ),
        )
        await pilot.press("backspace")
        await until_shown(pilot, "* Ada, of whom")
        await pilot.press("escape", "escape")
        await until(pilot, lambda: screen.book_pane.row_count == rows)


async def click_on(pilot: Pilot[None], words: str, at: int = 0) -> None:
    row = next(n for n, line in enumerate(lines(pilot.app)) if words in line)
    await pilot.click(offset=(lines(pilot.app)[row].index(words) + at, row))


async def test_links_and_notes_can_be_clicked(tmp_path: Path) -> None:
    app = app_on(linked_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        await click_on(pilot, "keeper*", 6)
        await until_shown(pilot, "* Ada, of whom")
        assert "┊" not in text_of(app)
        await click_on(pilot, "keeper*", 6)
        await until_shown(pilot, "┊ ")
        await click_on(pilot, "keeper*", 6)
        await until_gone(pilot, "* Ada, of whom")
        await click_on(pilot, "the ending", 3)
        await until(
            pilot, lambda: screen.book_pane.place == screen.book.chapters[1].start
        )


async def test_an_address_is_opened_only_after_a_second_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = app_on(linked_book(), tmp_path)
    went: list[str] = []
    monkeypatch.setattr(app, "open_url", went.append)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        await pilot.press(",", "enter")
        await until_shown(pilot, "https://news.example/lamp")
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is screen)
        assert app.clipboard == "https://news.example/lamp"
        assert went == []
        await pilot.press("enter", "down", "enter")
        await until(pilot, lambda: went == ["https://news.example/lamp"])
