"""The list of a book's memories, and a line to read it for something else."""

import time
from collections.abc import Sequence

from textual.widgets import Input

from gistread.book.model import Book
from gistread.library.text import describe_memory
from gistread.memory.model import GistMemory
from gistread.memory.writer import MemoryHeader
from gistread.tui.screens.listing import ListScreen, Row


class MemoriesScreen(ListScreen):
    """Dismissed with the path of a memory's file, or with what was typed."""

    def __init__(
        self, book: Book, headers: Sequence[MemoryHeader], shown: GistMemory | None, note: str, *, typing: bool
    ) -> None:
        """`typing`: focus the line rather than the list."""
        super().__init__("Memories of this book", note, prompt="or what you look for, to have it read for that")
        self._book = book
        self._headers = headers
        self._shown = shown
        self._typing = typing

    def on_mount(self) -> None:
        now_s = time.time()
        rows = [self._row(header, now_s) for header in self._headers]
        at = (index for index, header in enumerate(self._headers) if self._is_shown(header))
        self.show_rows(rows, next(at, 0))
        if self._typing or not rows:
            self.query_one("#typed", Input).focus()

    def _row(self, header: MemoryHeader, now_s: float) -> Row:
        who, facts = describe_memory(header, self._book, now_s)
        return Row(str(header.path), ("● " if self._is_shown(header) else "") + who, facts)

    def _is_shown(self, header: MemoryHeader) -> bool:
        return self._shown is not None and header.describes(self._shown)
