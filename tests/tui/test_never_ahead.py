"""No gist beside the book tells what has not been on the screen yet."""

from pathlib import Path

import pytest
from textual.pilot import Pilot

from gistread.book.model import Book
from gistread.config import Config
from gistread.memory.front_matter import front_matter_entries
from gistread.memory.gaps import GapFiller
from gistread.memory.model import Gist, GistMemory, GistSource, MemoryEntry
from gistread.memory.sizes import choose_size
from gistread.sample import story_path
from gistread.tui.screens.reading import ReadingScreen
from tests.book.data import needs_novels, novel
from tests.tui.scripted import app_on, opened, until

_WINDOW = 8192  # Tokens of the model that would have read the book
_GISTS = ("gist", "own-words")  # Styles of gists in the pane


def memory_of(book: Book) -> GistMemory:
    """A memory of the whole book; each gist has the last words of its section."""
    size = choose_size(book.words, _WINDOW)
    memory = GistMemory(book, size, "fake")
    cut = front_matter_entries(book, 0, len(book.text), size.max_words)
    for entry in GapFiller(book, size).arranged(
        {entry.page.start: entry for entry in cut}
    ):
        gist = f"It ends with {memory.text_of(entry.page)[-80:]}"
        memory.entries.append(MemoryEntry(entry.page, Gist(gist, 10, GistSource.MODEL)))
    return memory


def ends_told(screen: ReadingScreen) -> list[int]:
    """Where the sections end whose gists stand in the pane."""
    pane = screen.memory_pane
    gists = [block for block in pane.blocks if block.style in _GISTS]
    pages = [pane.memory.entry(block.key[1]).page for block in gists]
    return [pane.memory.last_word_end(page) for page in pages]


async def walk(pilot: Pilot[None], screen: ReadingScreen) -> int:
    """Read the book to its end; returns the number of screens. Nothing told may be ahead."""
    pane, book = screen.memory_pane, screen.book_pane
    shown = screens = most_told = 0
    while True:
        view = book.visible_range
        shown = max(shown, view[1])
        screens += 1
        ends = ends_told(screen)
        most_told = max(most_told, len(ends))
        assert not [end - shown for end in ends if end > shown]
        known = screen.controllers.line.known_memory()
        gists = [
            entry for entry in known.entries if entry.gist.source is GistSource.MODEL
        ]
        assert not [entry for entry in gists if known.last_word_end(entry.page) > shown]
        if view[1] >= len(pane.memory.book.text.rstrip()):
            break
        await pilot.press("space")
        await until(pilot, lambda view=view: book.visible_range != view)
        await pilot.pause()
    assert most_told > 2
    return screens


async def walk_through(
    path: Path, folder: Path, size: tuple[int, int], *, columns: int = 1
) -> int:
    app = app_on(path, folder, config=Config(text_columns=columns))
    async with app.run_test(size=size) as pilot:
        screen = await opened(pilot)
        assert screen.book is not None
        screen.memory_pane.show_memory(memory_of(screen.book))
        screen.lines.show_place()
        return await walk(pilot, screen)


@pytest.mark.parametrize("size", [(110, 30), (160, 50)])
async def test_the_sample_is_never_told_ahead(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    assert await walk_through(story_path(), tmp_path, size) > 3


async def test_two_columns_tell_nothing_ahead(tmp_path: Path) -> None:
    assert await walk_through(story_path(), tmp_path, (160, 36), columns=2) > 2


@needs_novels
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["wells_the-invisible-man", "saki_short", "austen_emma"]
)
async def test_a_novel_is_never_told_ahead(tmp_path: Path, name: str) -> None:
    assert await walk_through(novel(name), tmp_path, (110, 30)) > 100
