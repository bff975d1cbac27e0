"""What the library says of a file and of a book, as plain values."""

import contextlib
import os
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gistread.reading_speed import DEFAULT_WPM

_FINISHED_CHARACTERS = 2_000
"""A place with less than this behind it (a screenful) is the last one a person sees of a book."""


@dataclass(frozen=True, slots=True)
class VolumeText:
    """The text of a volume, by which its memory is known, and where it lies in the text of its series."""

    sha256: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class BookFile:
    """A file that holds a book, as it was when it was last looked at."""

    path: Path
    digest: str
    """SHA-256 of its bytes, in hexadecimal."""
    size: int
    """In bytes."""
    modified_ns: int
    title: str
    authors: tuple[str, ...] = ()
    format: str = ""
    """As `Book.source_format`."""
    language: str = ""
    sha256: str = ""
    """Of the book's text; empty until it was opened once."""
    words: int = 0
    """0 until it was opened once; likewise `length`."""
    length: int = 0
    """Characters in the text."""
    volumes: tuple["VolumeText", ...] = ()
    """Of a series; empty until it was opened once."""
    at: float = 0.0
    """When this was written down, in seconds since the epoch."""


@dataclass(frozen=True)
class LibraryEntry:
    """A book in the library."""

    title: str
    authors: tuple[str, ...]
    path: Path | None
    """None: it came by standard input."""
    sha256: str = ""
    """Of its text; empty for a book that was never opened."""
    digest: str = ""
    """Of its file; empty where that was never looked at."""
    size: int = 0
    format: str = ""
    words: int = 0
    position: int = 0
    length: int = 0
    opened_at: float = 0.0
    """Seconds since the epoch; 0 for a book that was added and never opened."""
    words_per_minute: float = DEFAULT_WPM
    """How fast the person reads this language."""
    volumes: tuple[VolumeText, ...] = ()
    """Of a series that was opened once."""
    missing: bool = False
    """There is no file at `path`."""

    @property
    def ids(self) -> tuple[str, ...]:
        """What the book is known by."""
        return tuple(f"{kind}:{value}" for kind, value in (("text", self.sha256), ("file", self.digest)) if value)

    @property
    def was_opened(self) -> bool:
        return self.opened_at > 0

    @property
    def finished(self) -> bool:
        """The last thing that was on the screen is its end."""
        return 0 < self.length - self.position < _FINISHED_CHARACTERS and 2 * self.position > self.length

    @property
    def share(self) -> float:
        """How much of it lies behind the person, from 0 to 1."""
        return 1.0 if self.finished else min(1.0, self.position / self.length) if self.length else 0.0

    @property
    def words_left(self) -> int:
        return round(self.words * (1 - self.share))

    @property
    def minutes_left(self) -> float:
        """0 where that is not known, or nothing is left."""
        return self.words_left / self.words_per_minute

    @cached_property
    def folded(self) -> str:
        """Title, authors and the file's name, for comparing with what a person types."""
        name = self.path.name if self.path else ""
        return folded(" ".join((self.title, *self.authors, name)))


def folded(text: str) -> str:
    """Without case and accents: `Émile` is found by `emile`."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in decomposed if not unicodedata.combining(character))


def absolute(path: Path) -> Path:
    """The whole path, as a person would write it: `~` and `..` are gone, links are as they were."""
    with contextlib.suppress(RuntimeError):  # `~somebody` that nobody is: then that is its name
        path = path.expanduser()
    return Path(os.path.normpath(path.absolute()))


def is_file(path: Path) -> bool:
    """Also of a name that no file can have."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """Also of a name that no file can have."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False
