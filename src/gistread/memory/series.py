"""The memory of a series is the memories of its volumes, one after the other.

Nothing is kept of a series but that: its pages stand in its volumes' own files, by their offsets there. So a volume
that was read alone is read in every series it belongs to, what is read in a series is read of the volume, and a volume
may be added, moved or replaced without another being read again. What is its own is a page for each volume that says
no more than its title: it needs no model, and tells a model where in the series it is.

How the memory of a volume is found and opened, this is given; files are `store.py`'s affair.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from gistread.book.model import Book
from gistread.book.normalise import count_words
from gistread.memory.derived import DerivedRecords
from gistread.memory.model import Gist, GistMemory, GistSource, MemoryEntry, Page, PageSize
from gistread.memory.records import chain
from gistread.memory.writer import MemoryHeader, MemoryWriter


def open_series(
    book: Book, sizes: Sequence[PageSize], open_volume: Callable[[int, PageSize], MemoryWriter]
) -> MemoryWriter:
    """The memory of a series, ready to be read on: a page goes into the file of its volume.

    `open_volume` opens that of the volume with this index; what it raises, this raises.
    """
    parts: list[MemoryWriter] = []
    try:
        for index, size in enumerate(sizes):
            parts.append(open_volume(index, size))
    except BaseException:
        for part in parts:
            part.close()
        raise
    return _KeptSeries(book, parts)


def load_series(book: Book, header: MemoryHeader, load_volume: Callable[[int, MemoryHeader], GistMemory]) -> GistMemory:
    """The memory of a series that a header from `headers_of` describes. Raises what `load_volume` raises."""
    loaded = [None if part is None else load_volume(index, part) for index, part in enumerate(header.parts)]
    memory = next(one for one in loaded if one is not None)
    known = _in_series(book, [one.entries if one else () for one in loaded])
    return replace(
        memory,
        book=book,
        size=header.size,
        entries=chain(known),
        derived=_DerivedOfVolumes(book, [one.derived if one else DerivedRecords() for one in loaded]),
    )


def headers_of(book: Book, volumes: Sequence[Sequence[MemoryHeader]]) -> list[MemoryHeader]:
    """The memories of a series, from those of its volumes (of each the furthest first).

    Those that one model made in one way, for one focus, are one; the pages of each volume have their own size.
    """
    alike: dict[tuple[object, ...], list[MemoryHeader | None]] = {}
    for index, headers in enumerate(volumes):
        for header in headers:
            key = (header.fingerprint, header.prompts, header.reading_mode, header.pauses, header.guarded, header.focus)
            parts = alike.setdefault(key, [None] * len(volumes))
            parts[index] = parts[index] or header
    return [_header(book, parts) for parts in alike.values()]


def _header(book: Book, parts: Sequence[MemoryHeader | None]) -> MemoryHeader:
    there = [part for part in parts if part is not None]
    pages = read_until = 0
    for index, part in enumerate(parts):
        if part is None or not part.pages:
            break
        pages += 1 + part.pages
        volume = book.volumes[index]
        read_until = book.volume_ends(index) if part.complete else volume.start + part.read_until
        if not part.complete:
            break
    return replace(
        max(there, key=lambda part: part.read_until),
        path=there[0].path,
        pages=pages,
        read_until=read_until,
        complete=read_until >= len(book.text),
        modified_s=max(part.modified_s for part in there),
        parts=tuple(parts),
    )


class _KeptSeries(MemoryWriter):
    """What is kept goes to the volumes; in memory the pages lie together, by their offsets in the series."""

    def __init__(self, book: Book, parts: Sequence[MemoryWriter]) -> None:
        self._parts = parts
        longest = max(range(len(parts)), key=lambda index: book.volume_books[index].words)
        memory = replace(
            parts[0].memory,
            book=book,
            size=parts[longest].memory.size,
            entries=[],
            derived=_DerivedOfVolumes(book, [part.memory.derived for part in parts]),
        )
        known = _in_series(book, [part.all_entries() for part in parts])
        memory.entries.extend(chain(known))
        super().__init__(memory, None, "", (e for e in known.values() if e.page.start >= memory.read_until))
        for index in range(len(parts)):
            self._hear(index)

    @property
    def is_saved(self) -> bool:
        return all(part.is_saved for part in self._parts)

    def size_at(self, offset: int) -> PageSize:
        return self._parts[self.memory.book.volume_index(offset)].memory.size

    def add(self, entry: MemoryEntry) -> list[MemoryEntry]:
        book = self.memory.book
        index = book.volume_index(entry.page.start)
        if entry.page.start == book.volumes[index].start:
            title = _title_page(book, index)
            self._ahead[title.page.start] = title
        return super().add(entry)

    def close(self) -> None:
        for part in self._parts:
            part.close()

    def _write(self, entry: MemoryEntry) -> None:
        index = self.memory.book.volume_index(entry.page.start)
        self._parts[index].add(_from_series(self.memory.book, index, entry))
        self._hear(index)

    def _hear(self, index: int) -> None:
        """What there is to say of the file of a volume; the last word counts."""
        if notice := self._parts[index].notice:
            self.notice = f"{self.memory.book.volumes[index].title}: {notice}"


class _DerivedOfVolumes(DerivedRecords):
    """What is made of a memory is kept with the volume that it was made of; what is made of several, with the first."""

    def __init__(self, book: Book, parts: Sequence[DerivedRecords]) -> None:
        super().__init__()
        self._headings = [volume.heading for volume in book.volumes]
        self._parts = parts

    def at(self, offset: int) -> DerivedRecords:
        return self._parts[max(0, bisect_right(self._headings, offset) - 1)]


def _in_series(book: Book, volumes: Iterable[Iterable[MemoryEntry]]) -> dict[int, MemoryEntry]:
    """The pages of all volumes by where they start in the series, and those of their titles where they have begun."""
    known: dict[int, MemoryEntry] = {}
    for index, entries in enumerate(volumes):
        moved = {entry.page.start: entry for entry in (_to_series(book, index, one) for one in entries)}
        if book.volumes[index].start in moved:
            title = _title_page(book, index)
            known[title.page.start] = title
        known |= moved
    return known


def _title_page(book: Book, index: int) -> MemoryEntry:
    volume = book.volumes[index]
    words = count_words(volume.title)
    return MemoryEntry(Page(0, volume.heading, volume.start, words), Gist(volume.title, words, GistSource.VERBATIM))


def _to_series(book: Book, index: int, entry: MemoryEntry) -> MemoryEntry:
    """A page of a volume; the last one takes the empty line behind the volume, as pages take the space after them."""
    volume, page = book.volumes[index], entry.page
    end = page.end + volume.start
    end = book.volume_ends(index) if end >= volume.end else end
    return replace(entry, page=replace(page, number=0, start=page.start + volume.start, end=end))


def _from_series(book: Book, index: int, entry: MemoryEntry) -> MemoryEntry:
    volume, page = book.volumes[index], entry.page
    end = min(page.end, volume.end) - volume.start
    return replace(entry, page=replace(page, number=0, start=page.start - volume.start, end=end))
