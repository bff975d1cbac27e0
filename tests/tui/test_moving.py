"""Moving in the book with jumps, history and "go to"."""

import threading
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from gistread.book.formats.epub_cfi import SourceText, open_source
from gistread.store.user_data import UserData
from gistread.tui.widgets.input_line import InputLine
from tests.book.make_epub import epub, page
from tests.tui.books import long_book
from tests.tui.scripted import app_on, lines, opened, paths_in, until, until_shown

NARROW, WIDE = (80, 24), (120, 40)


async def test_paragraphs_are_stepped_through(tmp_path: Path) -> None:
    app = app_on(long_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        starts = [paragraph.start for paragraph in screen.book.paragraphs]
        await pilot.press(*"}}}")
        await until(pilot, lambda: screen.book_pane.place == starts[3])
        await pilot.press("j", "j", "{")
        await until(pilot, lambda: screen.book_pane.place == starts[3])
        await pilot.press("{")
        await until(pilot, lambda: screen.book_pane.place == starts[2])


async def test_screens_turned_faster_than_they_are_drawn_are_read(
    tmp_path: Path,
) -> None:
    app = app_on(long_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        for _ in range(5):
            screen.book_pane.action_turn(1.0)
        assert screen.controllers is not None
        position = screen.controllers.context.position
        await until(pilot, lambda: position.place == screen.book_pane.place > 0)
        assert not position.looking
        assert position.read[-1] == (0, position.place)


async def test_turning_where_nothing_moves_does_not_make_the_next_scroll_a_turn(
    tmp_path: Path,
) -> None:
    app = app_on(long_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        assert screen.controllers is not None
        position = screen.controllers.context.position
        screen.book_pane.action_turn(-1.0)  # at the beginning
        screen.book_pane.scroll_to(y=500, animate=False)  # as the scroll bar does
        await until(pilot, lambda: screen.book_pane.place > 0 and position.looking)
        assert position.place == 0


async def test_back_and_forward_work_as_in_a_browser(tmp_path: Path) -> None:
    app = app_on(long_book(), tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        screen = await opened(pilot)
        chapters = [chapter.start for chapter in screen.book.chapters]

        async def arrives(place: int, *keys: str) -> None:
            await pilot.press(*keys)
            await until(pilot, lambda: screen.book_pane.place == place)

        await arrives(chapters[2], "]", "]")
        await arrives(chapters[4], *":chapter", "space", "5", "enter")
        await arrives(chapters[6], "t", "down", "down", "enter")
        await arrives(chapters[4], "ctrl+o")
        await arrives(chapters[2], "alt+left")
        await arrives(chapters[4], "alt+right")
        await arrives(chapters[6], "ctrl+i")
        await arrives(chapters[4], "backspace")
        await arrives(chapters[2], "backspace")
        await arrives(chapters[5], *"]]]")
        await pilot.press("alt+right")
        await until_shown(pilot, "No later place")
        assert screen.book_pane.place == chapters[5]


async def test_stepping_through_chapters_is_one_jump(tmp_path: Path) -> None:
    app = app_on(long_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        await pilot.press(*"jjjjj]")
        await pilot.pause()
        await pilot.press("]")
        await pilot.pause()
        await pilot.press("]")
        await until(
            pilot, lambda: screen.book_pane.place == screen.book.chapters[3].start
        )
        await pilot.press("backspace")
        await until(pilot, lambda: screen.book_pane.scroll_offset.y == 5)


async def test_there_is_no_next_chapter_after_the_last(tmp_path: Path) -> None:
    app = app_on(long_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        await pilot.press("G")
        await until(
            pilot, lambda: screen.book_pane.place > screen.book.chapters[-1].start
        )
        end = screen.book_pane.place
        await pilot.press("]", "}", "]")
        await pilot.pause()
        assert screen.book_pane.place == end


@pytest.mark.parametrize("jump", ["[", "g", ":0%\n"])
async def test_after_a_jump_to_where_the_reader_is_the_next_screen_is_read(
    jump: str, tmp_path: Path
) -> None:
    app = app_on(long_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        await pilot.press(*jump.replace("\n", ""), *(["enter"] if "\n" in jump else []))
        await pilot.pause()
        await pilot.press("space")
        await until(pilot, lambda: screen.book_pane.place > 0)
        await pilot.pause()
        assert screen.controllers.context.position.place == screen.book_pane.place


async def go_to(pilot: Pilot[None], words: str) -> None:
    await pilot.press("ctrl+g")
    pilot.app.screen.query_one("#input-line-input", Input).value = words
    await pilot.pause()


async def test_go_to_lists_destinations_while_typing(tmp_path: Path) -> None:
    app = app_on(long_book(), tmp_path)
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        # What it does not understand it says, and it stays open.
        for words, message in (
            ("zebra", "No such chapter"),
            ("page 300", "The book has pages 1 to"),
            ("140%", "Enter a number from 0 to 100"),
            ("@99999999", "The book ends at"),
        ):
            await go_to(pilot, words)
            await until_shown(pilot, message)
            await pilot.press("enter")
            await pilot.pause()
            assert screen.query_one(InputLine).is_open
            await pilot.press("escape")
            await until(pilot, lambda: not screen.query_one(InputLine).is_open)
        assert screen.book_pane.scroll_offset.y == 0
        await go_to(pilot, "chapter 1")
        await until_shown(pilot, "Chapter 10, 45%")
        await pilot.press("down", "enter")
        await until(
            pilot, lambda: screen.book_pane.place == screen.book.chapters[9].start
        )
        assert not screen.query_one(InputLine).is_open
        assert screen.focused is screen.book_pane
        await go_to(pilot, "chapter 1")
        await until_shown(pilot, "Chapter 11,")
        row = next(n for n, line in enumerate(lines(app)) if "Chapter 11," in line)
        await pilot.click(offset=(10, row))
        await until(
            pilot, lambda: screen.book_pane.place == screen.book.chapters[10].start
        )


async def test_an_epub_cfi_is_looked_up_on_enter_beside_the_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "book.epub"
    paragraphs = "".join(
        f"<p>The boat number {number} came in.</p>" for number in range(200)
    )
    path.write_bytes(epub({"a.xhtml": page(paragraphs)}))
    threads: list[threading.Thread] = []

    def open_noted(path: Path) -> SourceText:
        threads.append(threading.current_thread())
        return open_source(path)

    monkeypatch.setattr("gistread.book.formats.epub_cfi.open_source", open_noted)
    app = app_on(path, tmp_path)
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        await go_to(pilot, "epubcfi(/6/2!/4/900)")
        await pilot.press("enter")
        await until_shown(pilot, "no such place")
        assert screen.query_one(InputLine).is_open
        await go_to(pilot, "epubcfi(/6/2!/4/240)")
        await until_shown(pilot, "Enter looks it up.")
        assert len(threads) == 1
        await pilot.press("enter")
        place = screen.book.text.index("The boat number 119 ")
        await until(pilot, lambda: screen.book_pane.place == place)
        assert not screen.query_one(InputLine).is_open
    assert len(threads) == 2
    assert threading.main_thread() not in threads


async def test_the_place_is_kept_after_closing_at_every_width(tmp_path: Path) -> None:
    book = long_book()
    app = app_on(book, tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        await pilot.press(*":33%", "enter")
        await until(pilot, lambda: screen.controllers.context.position.looking)
        await pilot.press("enter")
        place = screen.book_pane.place
        await pilot.press("q")
    assert UserData(paths_in(tmp_path)).position(book.sha256) == place
    for size in ((47, 20), (200, 60)):
        again = app_on(book, tmp_path)
        async with again.run_test(size=size) as pilot:
            screen = await opened(pilot)
            await until(pilot, lambda screen=screen: screen.book_pane.place == place)
            await pilot.press("q")


async def test_at_the_end_all_is_read_also_behind_the_memory(tmp_path: Path) -> None:
    app = app_on(long_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        book = screen.controllers.context.book
        await pilot.press("G")
        await until(pilot, lambda: screen.book_pane.share_read(book) == 1.0)
        await pilot.press("tab")
        await until(pilot, lambda: not screen.book_pane.size.height)
        screen.redraw_lines()
        assert screen.book_pane.share_read(book) == 1.0
        await until(pilot, lambda: "100%" in lines(app)[0])


async def test_the_line_of_a_look_covers_no_row_at_the_end_of_a_book(
    tmp_path: Path,
) -> None:
    app = app_on(long_book(), tmp_path)
    async with app.run_test(size=(60, 20)) as pilot:
        screen = await opened(pilot)
        await until_shown(pilot, "No model")
        height = screen.book_pane.size.height
        await pilot.press("G")
        await until(pilot, lambda: screen.book_pane.size.height < height)
        await pilot.pause()
        assert screen.book_pane.rows_in_view[1] == screen.book_pane.row_count - 1
