"""Writes a growing memory to its file; also the format of its records."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace

from gistread.book.model import Book
from gistread.engine.protocol import Usage
from gistread.errors import StorageError
from gistread.memory.gaps import GapFiller
from gistread.memory.model import (
    OWN_SENTENCES,
    Gist,
    GistMemory,
    GistSource,
    MemoryEntry,
    Page,
)
from gistread.memory.prose import without_heading
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
        read: Mapping[int, MemoryEntry] | None = None,
    ):
        """`read`: the pages in the file by their start, in the order in which they were read.

        `memory` then gets them as its entries. By default its own entries that were read.
        """
        self.memory = memory
        self.notice = notice
        self.file = file  # None: new pages are not saved
        entries = {entry.page.start: entry for entry in memory.read_entries}
        self._read = dict(read) if read is not None else entries
        self._gap_filler = GapFiller(memory.book, memory.size)
        if read:
            memory.entries[:] = self._gap_filler.arranged(self._read)

    def all_entries(self) -> list[MemoryEntry]:
        """The pages that were read, in the order of reading."""
        return list(self._read.values())

    def entry_at(self, start: int) -> MemoryEntry | None:
        """The page that begins at this offset, if it was read."""
        return self._read.get(start)

    def covers(self, offset: int) -> bool:
        """Whether the page around this offset was read."""
        page = self.memory.page_at(offset)
        return page is not None and self.memory.entry(page.number).is_read

    def next_start(self, start: int) -> int | None:
        """Where the first finished page after this offset begins, if one follows a gap."""
        return min((later for later in self._read if later > start), default=None)

    def add(self, entry: MemoryEntry) -> MemoryEntry:
        """Save and add a page; return it with its number.

        `notice` reports a failing disk.
        """
        start, end = entry.page.start, entry.page.end
        if self.covers(start):
            raise ValueError(f"the page at {start} overlaps what was read")
        if self.file is not None:
            try:
                self.file.append(page_record(entry))
            except StorageError as error:
                self.notice = not_saved_notice(error)
                self.close()
        covered = [later for later in self._read if start < later < end]
        for later in covered:
            del self._read[later]  # The new page replaces a damaged one before it.
        self._read[start] = entry
        memory = self.memory
        if start == memory.read_until:
            page = replace(entry.page, number=len(memory.entries) + 1)
            memory.entries.append(replace(entry, page=page))
        else:
            memory.entries[:] = self._gap_filler.arranged(self._read)
        added = memory.page_at(start)
        assert added is not None
        return memory.entry(added.number)

    def close(self) -> None:
        """Release the file; the memory stays usable. Idempotent."""
        if self.file is not None:
            self.file.close()
            self.file = None

    def __exit__(self, *exception: object) -> None:
        self.close()


def not_saved_notice(error: StorageError) -> str:
    return f"{error.message} New sections are not saved."


def page_record(entry: MemoryEntry) -> Record:
    """The record of a page in a memory's file."""
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
                "usage": [
                    int(prefilled),
                    int(reused),
                    int(generated),
                    int() | float() as seconds,
                ],
            } if (
                0 <= start < end <= len(book.text)
                and gist.strip()
                and source in set(GistSource)
            ):
                made_of = GistSource(source)
                if made_of in OWN_SENTENCES:
                    gist = without_heading(gist, book, start, end)
                entries[start] = MemoryEntry(
                    Page(0, start, end, words),
                    Gist(gist, count_words(gist), made_of),
                    Usage(prefilled, reused, generated, float(seconds)),
                )
    return entries
