"""Saves what the user does in the open book."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gistread.book.model import DOCUMENTATION, Book
from gistread.errors import BookError, StorageError
from gistread.library.metadata import book_file_of
from gistread.marking import quote_at
from gistread.store.catalogue import Catalogue, id_of_file, id_of_text
from gistread.store.model import ReadingPlace
from gistread.store.user_data import UserData
from gistread.tui.book_blocks import chapter_name
from gistread.tui.services import AppServices
from gistread.units import counted

_NOWHERE = ReadingPlace()
_PLACE = "place"  # The kind of writes of the reading place
LEAST_PAUSE_S = 0.2  # Between two writes of the place, while a key repeats


@dataclass(frozen=True, eq=False, slots=True)
class _Write:
    """A change to the user's data that is still to be written."""

    replaces: str  # Kind whose earlier writes this one supersedes; empty: none
    run: Callable[[], object]


class UserDataWriter:
    """Writes in threads, one change after the other, so that nothing waits for the disk.

    A change that cannot be written is tried again before the next one.
    """

    def __init__(
        self,
        book: Book,
        path: Path | None,
        services: AppServices,
        warn: Callable[[str], None],
        saved: ReadingPlace = _NOWHERE,
    ) -> None:
        """`saved`: the place that was stored when the book was opened."""
        self._book = book
        self._path = path
        self._services = services
        self._warn = warn
        self._place = saved  # The place to write next
        # What this process stored last; another may have stored a place since
        self._stored = saved
        self._timer: asyncio.TimerHandle | None = None
        self._written_at = float("-inf")  # On the loop's clock
        self._tasks: set[asyncio.Task[None]] = set()
        self._refused = False  # Whether the last write failed
        self._unwritten: list[_Write] = []
        # Keeps the order: a question is written again with its answer.
        self._in_order = asyncio.Lock()

    def save_opened(self) -> None:
        """Save that the book was opened, and add it to the library."""
        book = self._book
        path = self._path
        services = self._services
        if book.source_format == DOCUMENTATION:
            return

        def write() -> None:
            file = None
            digest = ""
            if path:
                with contextlib.suppress(BookError):  # The file is gone already.
                    file = book_file_of(path, book)
                    digest = file.digest
            services.user_data.record_opening(
                book.sha256,
                title=book.title,
                authors=book.authors,
                length=len(book.text),
                path=path,
                file=digest,
            )
            catalogue = Catalogue(services.paths)
            if file is not None:
                catalogue.add([file])
            # If the user had removed the book from the library, it comes back.
            catalogue.restore(id_of_text(book.sha256), id_of_file(digest))

        self._write(_Write("opening", write))

    def save_place(self, place: ReadingPlace) -> None:
        """Save the reading place at once, so that a crash loses at most one turned screen.

        While a key repeats, there is a short pause between two writes.
        """
        self._place = place
        if self._timer is None:
            loop = asyncio.get_running_loop()
            pause = max(0.0, self._written_at + LEAST_PAUSE_S - loop.time())
            self._timer = loop.call_later(pause, self._write_place)

    def save(
        self, write: Callable[[UserData, str], object], *, replaces: str = ""
    ) -> None:
        """Call `write` with the data and the SHA-256 of the text, in a thread and in order.

        `replaces`: a kind of writes of which only the last is needed.
        """
        data, sha256 = self._services.user_data, self._book.sha256
        self._write(_Write(replaces, lambda: write(data, sha256)))

    async def flush(self) -> str:
        """Write everything now. Returns a message about what was not saved."""
        if self._timer is not None:
            self._timer.cancel()
            self._write_place()
        elif self._unwritten:  # A write has failed before: try again.
            self._tasks.add(asyncio.create_task(self._write_all()))
        await asyncio.gather(*self._tasks)
        is_place_lost = any(write.replaces == _PLACE for write in self._unwritten)
        # Figures and the time of opening, which replace others too, may be lost.
        others = sum(not write.replaces for write in self._unwritten)
        problems: list[str] = []
        if is_place_lost:
            problems.append("Your place cannot be saved.")
        if others:
            changes = counted(others, "change")
            problems.append(f"{changes} to questions and choices cannot be saved.")
        return " ".join(problems)

    def _write_place(self) -> None:
        """Write the latest reading place."""
        self._timer = None
        self._written_at = asyncio.get_running_loop().time()
        book, place = self._book, self._place
        words = quote_at(book.text, place.offset)

        def write() -> None:
            title = book.chapter_title(place.offset)
            self._services.user_data.set_position(
                book.sha256,
                place.offset,
                words,
                read=place.read,
                behind=place.behind,
                end=place.end,
                base=self._stored,
                chapter=chapter_name(title, book.language),
            )
            self._stored = place

        self._write(_Write(_PLACE, write))

    def _write(self, write: _Write) -> None:
        """Write a change soon, in place of unwritten ones that it supersedes."""
        if write.replaces:
            self._unwritten = [
                earlier
                for earlier in self._unwritten
                if earlier.replaces != write.replaces
            ]
        self._unwritten.append(write)
        task = asyncio.create_task(self._write_all())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _write_all(self) -> None:
        """Write what is unwritten; after a failure the rest waits for the next time."""
        async with self._in_order:
            while self._unwritten:
                write = self._unwritten[0]
                try:
                    await asyncio.to_thread(write.run)
                except StorageError as error:
                    self._refuse(error)
                    return
                self._refused = False
                is_superseded = write not in self._unwritten
                if not is_superseded:
                    self._unwritten.remove(write)

    def _refuse(self, error: StorageError) -> None:
        """Warn once that the data cannot be written."""
        if not self._refused:
            self._refused = True
            advice = "Your place cannot be saved yet; gistread keeps trying."
            self._warn(f"{advice} {error}")
