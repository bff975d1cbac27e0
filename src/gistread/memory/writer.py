"""A memory that is being made and the file that keeps it; and what is known of a memory without its pages.

What the files are called and which there are, `store.py` knows.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from gistread.errors import StorageError
from gistread.journal import Journal
from gistread.memory.focus import DEFAULT_FOCUS, GistFocus
from gistread.memory.model import GistMemory, MemoryEntry, PageSize, Pauses
from gistread.memory.records import chain, page_record


@dataclass(frozen=True, slots=True)
class MemoryHeader:
    """What is known of a memory without its pages."""

    path: Path
    model_name: str
    fingerprint: str
    size: PageSize
    prompts: str
    reading_mode: str
    pages: int
    read_until: int
    """Offset up to which the book has been read."""
    complete: bool
    modified_s: float
    """When it was last opened for reading on or written, in seconds since the epoch."""
    pauses: Pauses = Pauses.CHOSEN
    guarded: bool = True
    focus: GistFocus = DEFAULT_FOCUS
    parts: tuple["MemoryHeader | None", ...] = ()
    """Of a series: the memory of each volume, as far as there is one. `path` and `size` are those of one of them."""

    def describes(self, memory: GistMemory) -> bool:
        """Whether this is the header of that memory, as far as both tell."""
        size = memory.size if self.parts else self.size
        return (self.model_name, size, self.reading_mode, self.pauses, self.guarded, self.focus) == (
            memory.model_name,
            memory.size,
            memory.reading_mode,
            memory.pauses,
            memory.guarded,
            memory.focus,
        )


class MemoryWriter:
    """A memory that is being made, and the file that keeps it. Use as a context manager.

    `notice` is one line for the person about the file (repaired, not writable), or empty; it may change with
    `keep`.
    """

    def __init__(
        self, memory: GistMemory, file: Journal | None, notice: str = "", ahead: Iterable[MemoryEntry] = ()
    ) -> None:
        self.memory = memory
        self.notice = notice
        self._file = file
        self._ahead = {entry.page.start: entry for entry in ahead}
        """Pages that were finished before one in front of them."""

    @property
    def is_saved(self) -> bool:
        """Whether what is read is still written to disk."""
        return self._file is not None

    @property
    def pages(self) -> int:
        """How many have been read, those that the memory has not got to yet included."""
        return len(self.memory.entries) + len(self._ahead)

    def all_entries(self) -> list[MemoryEntry]:
        """All of these pages."""
        return [*self.memory.entries, *self._ahead.values()]

    def size_at(self, offset: int) -> PageSize:
        """How large the pages are there."""
        return self.memory.size

    def entry_at(self, start: int) -> MemoryEntry | None:
        """The page that begins at this offset, if it has been read, also where the memory has not got to yet."""
        if start in self._ahead:
            return self._ahead[start]
        page = self.memory.page_at(start)
        return self.memory.entry(page.number) if page is not None and page.start == start else None

    def add(self, entry: MemoryEntry) -> list[MemoryEntry]:
        """Add a page, on disk first; what is in the memory by that, in order, with its number in the book.

        A page may come before those in front of it: it waits for them. Never fails for the disk: see `notice`.
        """
        if entry.page.start < self.memory.read_until:
            raise ValueError(f"the page at {entry.page.start} overlaps what was read up to {self.memory.read_until}")
        self._write(entry)
        self._ahead[entry.page.start] = entry
        followed = chain(self._ahead, self.memory.read_until, len(self.memory.entries))
        for new in followed:
            del self._ahead[new.page.start]
        self.memory.entries.extend(followed)
        return followed

    def _write(self, entry: MemoryEntry) -> None:
        """Bring it to disk, or say in `notice` that it is not."""
        if self._file is not None:
            try:
                self._file.append(page_record(entry))
            except StorageError as error:
                self.notice = unkept(error)
                self.close()

    def close(self) -> None:
        """Let go of the file; the memory stays usable. Idempotent."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def unkept(error: StorageError) -> str:
    """What to say when the disk refuses a memory."""
    return f"{error.message} What is read now is kept for this session only."
