"""Shared helpers for tests of marks.

A small book, its saved marks, selections and the clipboard.
"""

import base64
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from gistread.marking import Mark, MarkKind, new_mark, quote_at
from gistread.store.user_data import MarkStore
from gistread.tui.app import GistreadApp
from gistread.tui.screens.reading import ReadingScreen
from tests.tui.books import small_book
from tests.tui.scripted import opened, paths_in, until

WIDE, NARROW = (120, 40), (80, 24)
BOOK = small_book()


def store(folder: Path) -> MarkStore:
    return MarkStore(paths_in(folder))


def kept(folder: Path) -> list[Mark]:
    return store(folder).marks(BOOK.sha256)


def put(
    folder: Path, words: str, kind: MarkKind = MarkKind.HIGHLIGHT, **fields: Any
) -> Mark:
    start = BOOK.text.index(words)
    mark = new_mark(kind, quote_at(BOOK.text, start, start + len(words)), **fields)
    return store(folder).put(BOOK.sha256, mark)


async def marking(pilot: Pilot[None]) -> ReadingScreen:
    screen = await opened(pilot)
    await until(pilot, lambda: screen.controllers is not None)
    return screen


def selected(screen: ReadingScreen) -> str:
    chosen = screen.book_pane.selected_range
    return "" if chosen is None else screen.book.text[slice(*chosen)]


def copied(app: GistreadApp, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The text sent to the terminal's clipboard."""
    sent: list[str] = []
    write = app._driver.write

    def listen(data: str) -> None:
        if data.startswith("\x1b]52;c;"):
            sent.append(base64.b64decode(data[7:].rstrip("\a")).decode())
        write(data)

    monkeypatch.setattr(app._driver, "write", listen)
    return sent
