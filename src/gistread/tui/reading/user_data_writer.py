"""Saves what the user does in the open book."""

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path

from gistread.book.model import DOCUMENTATION, Book
from gistread.errors import BookError, StorageError
from gistread.library.metadata import book_file_of
from gistread.marking import quote_at
from gistread.store.catalogue import Catalogue
from gistread.store.model import ReadingPlace
from gistread.store.user_data import UserData
from gistread.tui.services import AppServices

LEAST_PAUSE_S = 0.2  # between two writes of the place, while a key repeats


class UserDataWriter:
    """Writes in threads, one after the other, so that nothing waits for the disk."""

    def __init__(
        self, book: Book, path: Path | None, services: AppServices, warn: Callable[[str], None]
    ) -> None:
        self._book, self._path, self._services, self._warn = book, path, services, warn
        self._place = ReadingPlace()
        self._timer: asyncio.TimerHandle | None = None
        self._written_at = float("-inf")  # On the loop's clock
        self._tasks: set[asyncio.Task[None]] = set()
        self._refused = False
        self._in_order = asyncio.Lock()  # A question is written again with its answer.

    def save_opened(self) -> None:
        book, path, services = self._book, self._path, self._services
        if book.source_format == DOCUMENTATION:
            return

        def write() -> None:
            file = None
            with contextlib.suppress(BookError):  # the file is gone already
                file = book_file_of(path, book) if path else None
            services.user_data.record_opening(
                book.sha256,
                title=book.title,
                authors=book.authors,
                length=len(book.text),
                path=path,
                file=file.digest if file else "",
            )
            catalogue = Catalogue(services.paths)
            if file is not None:
                catalogue.add([file])
            catalogue.restore(f"text:{book.sha256}", f"file:{file.digest if file else ''}")

        self._write(write)

    def save_place(self, place: ReadingPlace) -> None:
        """Save the reading place at once, so that a crash loses at most one turned screen."""
        self._place = place
        if self._timer is None:
            loop = asyncio.get_running_loop()
            pause = max(0.0, self._written_at + LEAST_PAUSE_S - loop.time())
            self._timer = loop.call_later(pause, self._write_place)

    def save(self, write: Callable[[UserData, str], object]) -> None:
        """Call `write` with the data and the SHA-256 of the book's text, in a thread and after
        earlier writes.
        """
        self._write(lambda: write(self._services.user_data, self._book.sha256))

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._write_place()
        await asyncio.gather(*self._tasks)

    def _write_place(self) -> None:
        place, self._timer = self._place, None
        self._written_at = asyncio.get_running_loop().time()
        words = quote_at(self._book.text, place.offset)

        def write(data: UserData, sha256: str) -> None:
            data.set_position(
                sha256, place.offset, words, read=place.read, behind=place.behind, end=place.end
            )

        self.save(write)

    def _write(self, write: Callable[[], object]) -> None:
        task = asyncio.create_task(self._in_thread(write))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _in_thread(self, write: Callable[[], object]) -> None:
        try:
            async with self._in_order:
                await asyncio.to_thread(write)
        except StorageError as error:
            if not self._refused:
                self._refused = True
                self._warn(f"Your place cannot be saved: {error}")
