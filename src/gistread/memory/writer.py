"""Writes a growing memory to its file; also the format of its records."""

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace

from gistread.book.model import Book
from gistread.engine.protocol import Usage
from gistread.errors import StorageError
from gistread.memory.model import Gist, GistMemory, GistSource, MemoryEntry, Page
from gistread.store.journal import Journal, Record
from gistread.words import count_words


class MemoryWriter(AbstractContextManager["MemoryWriter"]):
    """A growing memory and its file, as a context manager.

    `notice` is one line about the file, or empty.
    """

    def __init__(
        self,
        memory: GistMemory,
        file: Journal | None,
        notice: str = "",
        ahead: Iterable[MemoryEntry] = (),
    ):
        self.memory = memory
        self.notice = notice
        self.file = file  # None: new pages are kept for this session only
        self._ahead = {
            entry.page.start: entry for entry in ahead
        }  # Finished pages after a gap, by start

    @property
    def pages_ahead(self) -> tuple[MemoryEntry, ...]:
        """Finished pages after a gap, by place."""
        return tuple(self._ahead[start] for start in sorted(self._ahead))

    def all_entries(self) -> list[MemoryEntry]:
        return [*self.memory.entries, *self._ahead.values()]

    def entry_at(self, start: int) -> MemoryEntry | None:
        """The finished page that begins at this offset, if any, also after a gap."""
        if start in self._ahead:
            return self._ahead[start]
        page = self.memory.page_at(start)
        return self.memory.entry(page.number) if page is not None and page.start == start else None

    def next_start(self, start: int) -> int | None:
        """Where the first finished page after this offset begins, if one follows a gap."""
        return min((later for later in self._ahead if later > start), default=None)

    def add(self, entry: MemoryEntry) -> list[MemoryEntry]:
        """Save and add a page; return the pages that joined the memory, numbered.

        `notice` reports a failing disk.
        """
        if entry.page.start < self.memory.read_until:
            raise ValueError(
                f"the page at {entry.page.start} overlaps what was read up to "
                f"{self.memory.read_until}"
            )
        if self.file is not None:
            try:
                self.file.append(page_record(entry))
            except StorageError as error:
                self.notice = not_saved_notice(error)
                self.close()
        self._ahead[entry.page.start] = entry
        joined = chain(self._ahead, self.memory.read_until, len(self.memory.entries))
        for new in joined:
            del self._ahead[new.page.start]
        self.memory.entries.extend(joined)
        for start in [start for start in self._ahead if start < self.memory.read_until]:
            del self._ahead[start]  # Covered by a page that replaced a damaged one
        return joined

    def close(self) -> None:
        """Release the file; the memory stays usable. Idempotent."""
        if self.file is not None:
            self.file.close()
            self.file = None

    def __exit__(self, *exception: object) -> None:
        self.close()


def not_saved_notice(error: StorageError) -> str:
    return f"{error.message} New pages are kept for this session only."


def page_record(entry: MemoryEntry) -> Record:
    page = entry.page
    gist = entry.gist
    usage = entry.usage
    return {
        "start": page.start,
        "end": page.end,
        "words": page.words,
        "gist": gist.text,
        "source": gist.source.value,
        "usage": [usage.prefilled, usage.reused, usage.generated, usage.seconds],
    }


def entries_of(records: list[Record], book: Book) -> dict[int, MemoryEntry]:
    """The valid pages by start offset; of two with the same start the later counts."""
    entries: dict[int, MemoryEntry] = {}
    for record in records:
        match record:
            case {
                "start": int(start),
                "end": int(end),
                "words": int(words),
                "gist": str(gist),
                "source": str(source),
                "usage": [int(prefilled), int(reused), int(generated), int() | float() as seconds],
            } if 0 <= start < end <= len(book.text) and gist.strip() and source in set(GistSource):
                entries[start] = MemoryEntry(
                    Page(0, start, end, words),
                    Gist(gist, count_words(gist), GistSource(source)),
                    Usage(prefilled, reused, generated, float(seconds)),
                )
    return entries


def chain(entries: Mapping[int, MemoryEntry], start: int = 0, number: int = 0) -> list[MemoryEntry]:
    """The pages that follow without a gap from `start`, numbered after page `number`."""
    followed: list[MemoryEntry] = []
    while (entry := entries.get(start)) is not None:
        number += 1
        followed.append(replace(entry, page=replace(entry.page, number=number)))
        start = entry.page.end
    return followed
