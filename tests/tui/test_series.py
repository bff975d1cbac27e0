"""A series on the screen: volumes in contents, header, memory and sources."""

import re
from dataclasses import replace
from pathlib import Path

from gistread.book.series import join_books
from gistread.engine.protocol import NO_USAGE
from gistread.readers.events import Answered, Started
from gistread.store.model import Citation
from gistread.tui.progress import chapter_words
from tests.tui.books import long_book, small_book
from tests.tui.scripted import (
    ScriptedReader,
    SteppedEngine,
    app_on,
    lines,
    read_whole,
    until,
    until_shown,
)

WIDE = (130, 44)
SAGA = join_books(
    "The Whole Saga", (), [small_book(), replace(long_book(20), title="The Long Road")]
)


def says(text: str) -> str:
    numbers = re.findall(r"paragraph (\d+)", text)
    if numbers:
        return f"This is paragraph {numbers[-1]}. The road went on along the river."
    return "The lamp and the boy."


async def test_the_contents_and_the_line_above_the_text_name_the_volumes(
    tmp_path: Path,
) -> None:
    app = app_on(SAGA, tmp_path)
    async with app.run_test(size=WIDE) as pilot:
        await until_shown(pilot, "The Whole Saga")
        await pilot.press("t")
        await until_shown(pilot, "Chapter 2", "The Long Road")
        at = next(
            index
            for index, line in enumerate(lines(app))
            if "The Lamp at Skerry Point" in line and "min" in line
        )
        assert "I. The Lamp" in lines(app)[at + 1]
        await pilot.press("escape")
        await pilot.press("]", "]")
        await until(
            pilot, lambda: "The Lamp at Skerry Point · II. The Boy" in lines(app)[0]
        )
    last = len(SAGA.chapters) - 1
    assert chapter_words(SAGA, last) == "The Long Road · Chapter 20"


async def test_sources_name_their_volume(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    app = app_on(SAGA, tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE) as pilot:
        await read_whole(pilot)
        await pilot.press("a", *"who", "enter")
        await until(pilot, lambda: reader.questions)
        start = SAGA.text.index("This is paragraph 7.")
        citation = Citation(5, start, start + 20, SAGA.text[start : start + 20])
        reader.say(
            Started("readagent-s", 3, 3, True),
            Answered("Seven.", True, (citation,), (), (), 80.0, NO_USAGE),
        )
        await until_shown(pilot, "The Long Road  “This is paragraph 7.”")
