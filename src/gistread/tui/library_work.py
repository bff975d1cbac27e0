"""The library screen's work in threads. Methods that write raise StorageError."""

import asyncio
import contextlib
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from gistread.book.sniff import SERIES_SUFFIX
from gistread.errors import StorageError
from gistread.library import adding, scanning
from gistread.library.catalogue import Catalogue, examine_file
from gistread.library.entries import list_entries
from gistread.library.model import BookFile, LibraryEntry
from gistread.library.series import write_series
from gistread.memory.progress import BookProgress, all_memories, furthest_memories
from gistread.paths import Paths
from gistread.reading_speed import ReadingSpeedFile
from gistread.tui.covers import Covers
from gistread.tui.drawing import Drawer
from gistread.user_data import UserData

_FEW = 3  # number of books up to which the sample is offered too


class BookAdder:
    """Adds a folder or a book in a thread."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self.progress = ""  # In words; empty if nothing is being added
        self.stopped = False

    async def add(self, path: Path) -> adding.AddResult:
        """Raises GistreadError."""

        def report(so_far: adding.AddResult) -> None:
            self.progress = f"adding: {so_far.new + so_far.known} books"

        self.stopped, self.progress = False, "adding …"
        try:
            return await asyncio.to_thread(adding.add, self._catalogue, path, lambda: self.stopped, report)
        finally:
            self.progress = ""


class Books:
    def __init__(self, paths: Paths, drawer: Drawer) -> None:
        self._user_data = UserData(paths.books)
        self.catalogue = Catalogue(paths.library)
        self._pace = ReadingSpeedFile(paths.reading_speed)
        self._memories = paths.memories
        self._texts = paths.texts
        self.covers = Covers(paths.covers, drawer)
        self.read_by: Mapping[str, BookProgress] = {}  # the longest memory of each book, by the SHA-256 of its text

    def entries(self) -> tuple[list[LibraryEntry], str]:
        """Every book, with the sample story if there are few, and a problem of the library or an empty string."""
        from gistread.sample import story_path

        entries, problem = list_entries(self._user_data, self.catalogue, self._pace.words_per_minute)
        story = story_path()
        if len(entries) <= _FEW and all(entry.path != story for entry in entries):
            entries.append(LibraryEntry("The sample story", ("comes with gistread, half an hour to read",), story))
        return entries, problem

    def left_at(self, entry: LibraryEntry) -> tuple[str, str]:
        """(words at the reading place, last question); each may be empty."""
        words = question = ""
        with contextlib.suppress(StorageError):
            if entry.was_opened and (place := self._user_data.position_quote(entry.sha256)) is not None:
                whole = (place.exact + place.suffix).split()[place.prefix[-1:].isalpha() : -1]  # cut at both ends
                words = f"“{' '.join(whole)} …”" if whole else ""
            if entry.was_opened and (asked := self._user_data.questions(entry.sha256)):
                question = asked[-1].question
        return words, question

    def load_progress(self) -> None:
        with contextlib.suppress(StorageError):
            self.read_by = furthest_memories(all_memories(self._memories))

    def make_volume(self, entry: LibraryEntry, series: Path) -> tuple[BookFile, int]:
        """Add the book to a series, new or not; return its file and number of volumes. Raises GistreadError."""
        assert entry.path is not None
        if series.suffix.lower() != SERIES_SUFFIX:
            series = series.with_name(series.name + SERIES_SUFFIX)
        book = write_series(series, [entry.path], self._texts, add=series.exists())
        return adding.add_file(self.catalogue, series), len(book.volumes)

    def find(self, entry: LibraryEntry) -> Path | None:
        """Look for the moved file of a book nearby, and remember its new place."""
        found = scanning.find_moved(entry, self.catalogue.read().folders)
        return self._moved(entry, found.path) if found else None

    def locate(self, entry: LibraryEntry, path: Path) -> Path | None:
        """Remember a path the person gave; None if it is another book. Raises BookError."""
        return self._moved(entry, path) if scanning.is_this_book(entry, path) else None

    def _moved(self, entry: LibraryEntry, path: Path) -> Path:
        file = replace(
            examine_file(path),
            title=entry.title,
            authors=entry.authors,
            format=entry.format,
            sha256=entry.sha256,
            words=entry.words,
            length=entry.length,
            volumes=entry.volumes,
            at=time.time(),
        )
        self.catalogue.add([file])
        return file.path
