"""The library: the books that were opened before, and a way to open another."""

import asyncio
from pathlib import Path

from gistread.shelf import Shelf, ShelfBook
from gistread.tui.screens.listing import ListScreen, Row

SAMPLE = "\0sample"


class LibraryScreen(ListScreen):
    """Dismissed with a path."""

    def __init__(self, shelf: Shelf) -> None:
        super().__init__("Your books", prompt="path of a book to open: text or EPUB")
        self._shelf = shelf

    def on_mount(self) -> None:
        self.run_worker(self._find())

    async def _find(self) -> None:
        books = await asyncio.to_thread(self._shelf.recent)
        rows = [_row(book) for book in books if book.path is not None]
        rows.append(Row(SAMPLE, "The sample story", "Comes with gistread; half an hour to read."))
        self.say(
            "Enter opens, Tab goes to the line for a path."
            if len(rows) > 1
            else "No book was opened yet. Type a path below (Tab), start with `gistread BOOK`, or try the sample."
        )
        self.show_rows(rows)

    def dismiss(self, result: str | None = None) -> object:  # type: ignore[override]
        if result == SAMPLE:
            from gistread.sample import story_path

            result = str(story_path())
        return super().dismiss(str(Path(result).expanduser()) if result else None)


def _row(book: ShelfBook) -> Row:
    share = book.position / book.length if book.length else 0
    gone = "" if book.path and book.path.exists() else "the file is no longer there: "
    return Row(
        str(book.path),
        f"{book.title}",
        f"{share:.0%} · {', '.join(book.authors) or 'unknown author'} · {gone}{book.path}",
        enabled=not gone,
    )
