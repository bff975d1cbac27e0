"""The people and places of a book on the screen, and the story so far.

Each row leads to its place.
"""

import asyncio
import threading
import time
from pathlib import Path

import pytest

from gistread.book.model import Book
from gistread.memory.model import (
    Gist,
    GistMemory,
    GistSource,
    MemoryEntry,
    Page,
    PageSize,
)
from gistread.people.index import Index
from gistread.readers.recap import recap
from gistread.tui.reading.so_far import story_rows
from gistread.tui.screens.listing import ListScreen
from gistread.tui.screens.people import CardScreen, PeopleScreen, name_groups
from gistread.units import ELLIPSIS
from tests.memory.books import make_book
from tests.tui.books import small_book
from tests.tui.scripted import (
    SteppedEngine,
    app_on,
    lines,
    opened,
    read_whole,
    text_of,
    until,
    until_gone,
    until_shown,
)


async def test_people_are_listed_up_to_the_place_and_lead_to_their_mentions(
    tmp_path: Path,
) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=(110, 36)) as pilot:
        screen = await opened(pilot)
        await pilot.press("@")
        await until(
            pilot,
            lambda: (
                isinstance(app.screen, PeopleScreen) and "Ada Brennan" in text_of(app)
            ),
        )
        await pilot.press("escape", "@")
        await until(
            pilot,
            lambda: (
                isinstance(app.screen, PeopleScreen) and "Ada Brennan" in text_of(app)
            ),
        )
        await pilot.press(*"tom")
        await until_shown(pilot, "1 name")
        await pilot.press("enter")
        await until(
            pilot,
            lambda: (
                isinstance(app.screen, CardScreen) and "Last seen at" in text_of(app)
            ),
        )
        assert "Tomas" in text_of(app)
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.screen is screen)
        assert screen.controllers.context.position.looking


async def test_a_cancelled_search_for_names_goes_on_and_takes_back_its_notice_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end = threading.Event()
    searches: list[Book] = []
    find_all = Index.from_book

    def from_book(book: Book) -> Index:
        searches.append(book)
        may_end.wait()
        return find_all(book)

    monkeypatch.setattr(Index, "from_book", from_book)
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=(110, 36), notifications=True) as pilot:
        screen = await opened(pilot)
        screen.notify("Another notice.", timeout=600)
        people = screen.controllers.people
        first = asyncio.create_task(people.names_so_far())
        await until(pilot, lambda: searches)
        first.cancel()
        await asyncio.wait({first})
        await pilot.press("@")
        try:
            await until_shown(pilot, "Collecting names")
        finally:
            may_end.set()
        await until(pilot, lambda: isinstance(app.screen, PeopleScreen))
        await until_gone(pilot, "Collecting names")
        await until_shown(pilot, "Another notice.")
    assert len(searches) == 1


def test_names_stand_in_groups_those_on_the_screen_first() -> None:
    paragraphs = [
        "Ada Brennan met Tomas Ferrand in Lisbon. Ada Brennan smiled. Tomas Ferrand bowed.",
        "He lives in Lisbon, said Ada Brennan. In Lisbon, Mrs. Quill waited for Ada Brennan.",
        "Mrs. Quill spoke to Tomas Ferrand.",
    ]
    book = make_book(paragraphs)
    view = Index.from_book(book).upto(len(book.text))
    names = list(zip(view.entities, view.strips, strict=True))
    last = book.paragraphs[-1]
    groups = name_groups(names, range(last.start, last.end))
    assert [
        (group.title, [entity.name for entity, _ in group.names]) for group in groups
    ] == [
        ("On this screen", ["Tomas Ferrand", "Mrs. Quill"]),
        ("People", ["Ada Brennan"]),
        ("Places", ["Lisbon"]),
    ]


async def test_where_each_name_was_mentioned_once_the_list_says_so(
    tmp_path: Path,
) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=(60, 20)) as pilot:
        await opened(pilot)
        await pilot.press("@")  # Only Ada Brennan and Tomas are in view, once each
        await until_shown(pilot, "no name mentioned twice up to here")
        await pilot.press("x")
        await until_shown(pilot, "no such name up to here")


async def test_a_click_on_a_name_opens_its_card_where_it_is_corrected(
    tmp_path: Path,
) -> None:
    gist = "Ada keeps the lamp, and Tomas comes with the boat."
    app = app_on(small_book(), tmp_path, SteppedEngine(says=lambda _: gist))
    async with app.run_test(size=(130, 36)) as pilot:
        screen = await read_whole(pilot)

        def titles() -> list[str]:
            """Of the card that is shown. None while it is composed."""
            panels = (
                app.screen.query(".panel") if isinstance(app.screen, CardScreen) else ()
            )
            return [str(panel.border_title) for panel in panels]

        rows = lines(app)
        first = next(y for y, row in enumerate(rows) if "Ada" in row)
        await pilot.click(offset=(rows[first].index("Ada"), first))
        await until(pilot, lambda: titles() == ["Ada Brennan"])
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        rows = lines(app)
        last = max(y for y, row in enumerate(rows) if "Tomas" in row)
        await pilot.click(offset=(rows[last].rindex("Tomas"), last))
        await until(pilot, lambda: titles() == ["Tomas"])
        await pilot.press("m")
        await until(pilot, lambda: isinstance(app.screen, PeopleScreen))
        await pilot.press(*"ada", "enter")
        await until(pilot, lambda: titles() and "also" in text_of(app))
        await pilot.press("U")
        await until(pilot, lambda: titles() and "also" not in text_of(app))
        assert titles() == ["Tomas"]
        await pilot.press("x")
        await until(
            pilot,
            lambda: app.screen is screen and screen.controllers.context.corrections,
        )
        saved = app.services.user_data.name_corrections(screen.book.sha256)
        (correction,) = saved
        assert (correction.verb, correction.forms[0]) == ("hide", "Tomas")


def test_the_story_so_far_stands_in_paragraphs_that_lead_to_their_pages() -> None:
    gists = [
        f"The keeper of lamp {name} rowed to the reef and brought a sailor home to his fire."
        for name in "abcdef"
    ]
    book = make_book(gists)
    entries = [
        MemoryEntry(
            Page(number, paragraph.start, paragraph.end, 17),
            Gist(gist, 17, GistSource.MODEL),
        )
        for number, (gist, paragraph) in enumerate(
            zip(gists, book.paragraphs, strict=True), 1
        )
    ]
    memory = GistMemory(book, PageSize(5, 50), "m", entries)
    title, *paragraphs = story_rows(recap(memory), memory, book, ends_here=False)
    assert title.key is None
    assert [row.key for row in paragraphs] == [
        entries[0].page.start,
        entries[3].page.start,
    ]
    assert [row.text for row in paragraphs] == [
        " ".join(gists[:3]),
        " ".join(gists[3:]),
    ]


def test_the_story_so_far_ends_with_the_last_word_read() -> None:
    book = make_book(
        ["The keeper slept. A man will tell you that the lamp went out at nine."]
    )
    memory = GistMemory(book, PageSize(5, 50), "m").upto(book.text.index(" that"))
    *_, title, last = story_rows(recap(memory), memory, book, ends_here=True)
    assert (title.text, last.text) == (
        "You stopped at",
        f"A man will tell you{ELLIPSIS}",
    )


async def test_the_story_so_far_leads_to_its_pages(tmp_path: Path) -> None:
    app = app_on(
        small_book(),
        tmp_path,
        SteppedEngine(
            says=lambda text: "The lamp, the boy and the storm are told of here."
        ),
    )
    async with app.run_test(size=(110, 36)) as pilot:
        screen = await read_whole(pilot)
        screen.controllers.context.position.moved(0, 400)
        screen.controllers.recap.set_last_opened(time.time() + 3.2 * 24 * 3600)
        assert not screen.controllers.recap.offer, "of a clock that was set back"
        screen.controllers.recap.set_last_opened(time.time() - 3.2 * 24 * 3600)
        screen.redraw_lines()
        await until_shown(pilot, "Away for 3 days: * for the story so far")
        await pilot.press("*")
        await until(pilot, lambda: isinstance(app.screen, ListScreen))
        shown = text_of(app)
        assert "The story so far" in shown
        assert "from the gists of" in shown
        assert "You stopped at" in shown
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is screen)
        assert not screen.controllers.recap.offer
        # Of the whole book
        await pilot.press(
            "a", "ctrl+t", *"all", "enter", "down", "enter", "escape", "*"
        )
        await until(pilot, lambda: isinstance(app.screen, ListScreen))
        assert "You stopped at" not in text_of(app)
