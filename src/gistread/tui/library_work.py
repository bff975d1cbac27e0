"""The library screen's work in threads. Methods that write raise StorageError."""

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
from gistread.memory.progress import BookProgress, furthest_memories
from gistread.paths import Paths
from gistread.reading_speed import ReadingSpeedFile
from gistread.user_data import UserData

_FEW = 3  # up to so many books, the sample is offered too


class Books:
    def __init__(self, paths: Paths) -> None:
        self._user_data = UserData(paths.books)
        self.catalogue = Catalogue(paths.library)
        self._pace = ReadingSpeedFile(paths.reading_speed)
        self._memories = paths.memories
        self._texts = paths.texts
        self.read_by: Mapping[str, BookProgress] = {}  # the longest memory of each book, by the SHA-256 of its text

    def entries(self) -> tuple[list[LibraryEntry], str]:
        """(entries, problem): every book, with the sample if there are few."""
        from gistread.sample import story_path

        entries, problem = list_entries(self._user_data, self.catalogue, self._pace.words_per_minute)
        story = story_path()
        if len(entries) <= _FEW and all(entry.path != story for entry in entries):
            entries.append(LibraryEntry("The sample story", ("comes with gistread, half an hour to read",), story))
        return entries, problem

    def left_at(self, entry: LibraryEntry) -> str:
        """The words at the reading place and the last question, in a line; empty for a book never opened."""
        if not entry.was_opened:
            return ""
        said = []
        with contextlib.suppress(StorageError):
            if (place := self._user_data.place(entry.sha256)) is not None:
                said.append(f"“{' '.join((place.exact + place.suffix).split())} …”")
            if asked := self._user_data.questions(entry.sha256):
                said.insert(0, f"You asked: {asked[-1].question}")
        return " · ".join(said)

    def look_at_memories(self) -> None:
        self.read_by = furthest_memories(self._memories)

    def make_volume(self, entry: LibraryEntry, series: Path) -> tuple[BookFile, int]:
        """(file, volumes): add the book to the end of a series, which may be new. Raises GistreadError."""
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
        """Remember a path named by the person; None if another book is there. Raises BookError."""
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
