"""The library screen's work in threads. Methods that write raise StorageError."""

import contextlib
import subprocess
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

from gistread.errors import StorageError
from gistread.library import adding, indexing
from gistread.library.entries import LibraryEntry, list_entries
from gistread.library.metadata import examine_file
from gistread.library.shelf import open_shelf
from gistread.marking import TextQuote
from gistread.memory.store import BookProgress, furthest_memories
from gistread.paths import Paths
from gistread.readers.events import ReaderEvent
from gistread.sample import story_path
from gistread.session.library import BooksNamed, LibraryQuestion
from gistread.session.models import ModelChecks, ModelPair
from gistread.session.session import Session
from gistread.store.catalogue import Catalogue
from gistread.store.pace import ReadingSpeed
from gistread.store.user_data import UserData
from gistread.tui.services import AppServices
from gistread.units import ELLIPSIS, fields, in_quotes

# What the library knows of a book, whichever file it is in
_KNOWN_OF_BOOK = (
    "title",
    "authors",
    "format",
    "sha256",
    "words",
    "length",
    "volumes",
)
_FEW = 3  # Number of books up to which the sample is offered too


class LibraryAsker:
    """Answers questions about the library with the models of the open book, or its own."""

    def __init__(self, services: AppServices, session: Session | None) -> None:
        self._services = services
        self._session = session
        self._own: ModelPair | None = None
        self.config = services.config

    async def stream(
        self, question: LibraryQuestion
    ) -> AsyncGenerator[BooksNamed | ReaderEvent, None]:
        """Ask the question. Raises GistreadError."""
        models = await self._models()
        checks = ModelChecks(self._services.paths)
        stream = question.stream(models.load_asking, checks)
        async with aclosing(stream) as events:
            async for event in events:
                yield event

    async def _models(self) -> ModelPair:
        """The models of the open book, or its own, which the first question chooses."""
        if self._own is not None:
            return self._own
        if self._session is not None and self._session.has_model:
            return self._session.models
        services = self._services
        models = ModelPair(services.make_engine, services.config, lambda event: None)
        await models.choose(services.named_model, asking_model="")
        self._own = models
        return models

    async def close(self) -> None:
        """Close its own models, if it needed any."""
        if self._own is not None:
            await self._own.close()


class Books:
    """The books of the library, and what is known of the user's reading of them."""

    def __init__(self, paths: Paths) -> None:
        self.paths = paths
        self._indexer: subprocess.Popen[bytes] | None = None
        self._user_data = UserData(paths)
        self.catalogue = Catalogue(paths)
        # The longest memory of each book, by the SHA-256 of its text
        self.read_by: Mapping[str, BookProgress] = {}

    def entries(self) -> tuple[list[LibraryEntry], str]:
        """Every book, and a problem of the library or an empty string.

        The sample story is among them if there are few.
        """
        speed = ReadingSpeed(self.paths)
        entries, problem = list_entries(
            self._user_data, self.catalogue, speed.words_per_minute
        )
        story = story_path()
        has_story = any(entry.path == story for entry in entries)
        if len(entries) <= _FEW and not has_story:
            entries.append(LibraryEntry("The Ferry Bell", ("sample story",), story))
        return entries, problem

    def start_indexing(self) -> str:
        """Index new books in the background. Returns the progress; empty if there are none."""
        with contextlib.suppress(StorageError, OSError):
            self._indexer = indexing.index_new_books(self.paths)
        return self.index_progress()

    def index_progress(self) -> str:
        """Progress of indexing; empty if it has ended."""
        with contextlib.suppress(StorageError):
            if self._indexer is not None and self._indexer.poll() is None:
                return open_shelf(self.paths).progress
        return ""

    def left_at(self, entry: LibraryEntry) -> tuple[str, str]:
        """(words at the reading place, last question); each may be empty."""
        words = question = ""
        if not entry.sha256:
            return words, question
        with contextlib.suppress(StorageError):
            place = self._user_data.position_quote(entry.sha256)
            if place is not None:
                words = _words_at(place)
            questions = self._user_data.questions(entry.sha256)
            if questions:
                question = questions[-1].question
        return words, question

    def load_progress(self) -> None:
        """Read how far models have read each book into `read_by`."""
        with contextlib.suppress(StorageError):
            self.read_by, _ = furthest_memories(self.paths.memories)

    def locate(self, entry: LibraryEntry, path: Path) -> Path | None:
        """Remember a path that the user gave; None if it is another book. Raises BookError."""
        if not adding.is_this_book(entry, path):
            return None
        known = fields(entry, *_KNOWN_OF_BOOK)
        file = replace(examine_file(path), **known, at=time.time())
        self.catalogue.add([file])
        return file.path


def _words_at(place: TextQuote) -> str:
    """The words that a saved place quotes, without those that it cuts."""
    words = (place.exact + place.suffix).split()
    whole_words = words[:-1]
    begins_in_word = place.prefix[-1:].isalpha()
    if begins_in_word:
        whole_words = whole_words[1:]
    if not whole_words:
        return ""
    return in_quotes(f"{' '.join(whole_words)}{ELLIPSIS}")
