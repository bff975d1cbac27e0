"""Data classes of the library."""

import contextlib
import os
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gistread.store.model import VolumeText
from gistread.store.pace import DEFAULT_WPM
from gistread.units import format_duration

SERIES_FORMAT = "series"
_ID_LENGTH = 16
_FINISHED_CHARACTERS = 2_000  # A book with less text left than this, a screenful, is finished


@dataclass(frozen=True)
class LibraryEntry:
    title: str
    authors: tuple[str, ...]
    path: Path | None  # None for standard input
    sha256: str = ""  # Hash of its text; empty if never opened
    digest: str = ""  # Hash of its file; empty if never examined
    size: int = 0
    format: str = ""
    words: int = 0
    position: int = 0
    length: int = 0
    opened_at: float = 0.0  # Seconds since the epoch; 0 if never opened
    words_per_minute: float = DEFAULT_WPM  # The user's reading speed in this language
    volumes: tuple[VolumeText, ...] = ()  # The volumes of a series that was opened
    missing: bool = False  # No file exists at `path`
    tags: tuple[str, ...] = ()
    number: int = 0  # From 1, the last read first: what commands may call it

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(f"{kind}:{value}" for kind, value in (("text", self.sha256), ("file", self.digest)) if value)

    @property
    def id(self) -> str:
        return (self.sha256 or self.digest)[:_ID_LENGTH]

    @property
    def label(self) -> str:
        """`Emma · Jane Austen`"""
        return " · ".join((self.title, ", ".join(self.authors) or "unknown author"))

    @property
    def collections(self) -> tuple[str, ...]:
        """Its tags; a series is the collection of its volumes."""
        return (*self.tags, self.title) if self.format == SERIES_FORMAT else self.tags

    @property
    def was_opened(self) -> bool:
        return self.opened_at > 0

    @property
    def finished(self) -> bool:
        return 0 < self.length - self.position < _FINISHED_CHARACTERS and 2 * self.position > self.length

    @property
    def share(self) -> float:
        """Fraction read, from 0 to 1."""
        return 1.0 if self.finished else min(1.0, self.position / self.length) if self.length else 0.0

    @property
    def words_left(self) -> int:
        return round(self.words * (1 - self.share))

    @property
    def time_left(self) -> str:
        """`2 h 10 min`; empty if unknown or finished."""
        seconds = 60 * self.words_left / self.words_per_minute
        return format_duration(seconds) if seconds else ""

    @cached_property
    def folded(self) -> str:
        """Title, authors and file name, folded for comparison."""
        name = self.path.name if self.path else ""
        return folded(" ".join((self.title, *self.authors, name)))


def folded(text: str) -> str:
    """The text without case and accents: `emile` matches `Émile`."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in decomposed if not unicodedata.combining(character))


def absolute(path: Path) -> Path:
    """The absolute path without `~` and `..`; symbolic links stay."""
    with contextlib.suppress(RuntimeError):  # `~name` of an unknown user is a plain file name
        path = path.expanduser()
    return Path(os.path.normpath(path.absolute()))


def is_file(path: Path) -> bool:
    """False for impossible names, too."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: Path) -> bool:
    """False for impossible names, too."""
    return os.path.isdir(path)  # noqa: PTH112
