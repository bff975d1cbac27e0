"""The memory of a series: the memories of its volumes, and for each volume a page with its title."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from gistread.book.model import Book
from gistread.errors import StorageError
from gistread.memory.derived import DerivedRecords
from gistread.memory.model import Gist, GistMemory, GistSource, MemoryEntry, Page, PageSize
from gistread.memory.writer import MemoryHeader, MemoryWriter, chain
from gistread.words import count_words


def open_series(
    book: Book, sizes: Sequence[PageSize], open_volume: Callable[[int, PageSize], MemoryWriter]
) -> MemoryWriter:
    """Open the memory of a series, calling `open_volume` with each volume's index, whose errors pass through."""
    writers: list[MemoryWriter] = []
    try:
        for index, size in enumerate(sizes):
            writers.append(open_volume(index, size))
    except BaseException:
        for writer in writers:
            writer.close()
        raise
    return _SeriesWriter(book, writers)


def load_series(book: Book, header: MemoryHeader, load_volume: Callable[[int, MemoryHeader], GistMemory]) -> GistMemory:
    """The memory that a header from `headers_of` describes. Raises what `load_volume` raises."""
    loaded = [None if part is None else load_volume(index, part) for index, part in enumerate(header.volumes)]
    memory = next(one for one in loaded if one is not None)
    known = pages_in_series(book, [one.entries if one else () for one in loaded])
    return replace(
        memory,
        book=book,
        size=header.size,
        entries=chain(known),
        derived=_DerivedOfVolumes(book, [one.derived if one else DerivedRecords() for one in loaded]),
    )


def headers_of(book: Book, volumes: Sequence[Sequence[MemoryHeader]]) -> list[MemoryHeader]:
    """Memories of a series, furthest first: those of its volumes with the same model, method and focus."""
    alike: dict[tuple[object, ...], list[MemoryHeader | None]] = {}
    for index, headers in enumerate(volumes):
        for header in headers:
            key = (header.fingerprint, header.prompts, header.mode, header.focus)
            parts = alike.setdefault(key, [None] * len(volumes))
            parts[index] = parts[index] or header
    return [_header(book, parts) for parts in alike.values()]


def _header(book: Book, parts: Sequence[MemoryHeader | None]) -> MemoryHeader:
    known = [part for part in parts if part is not None]
    pages = read_until = 0
    for index, part in enumerate(parts):
        if part is None or not part.pages:
            break
        pages += 1 + part.pages
        if part.read_until:
            read_until = book.volume_end(index) if part.complete else book.volumes[index].start + part.read_until
        if not part.complete:
            break
    return replace(
        max(known, key=lambda part: part.read_until),
        path=known[0].path,
        pages=pages,
        characters=read_until,
        read_until=read_until,
        complete=read_until >= len(book.text),
        modified_s=max(part.modified_s for part in known),
        volumes=tuple(parts),
    )


class _SeriesWriter(MemoryWriter):
    """Writes pages to the files of their volumes. In memory they are together, with offsets in the series."""

    def __init__(self, book: Book, writers: Sequence[MemoryWriter]) -> None:
        self._writers = writers
        longest = max(range(len(writers)), key=lambda index: book.volume_books[index].words)
        memory = replace(
            writers[0].memory,
            book=book,
            size=writers[longest].memory.size,
            entries=[],
            derived=_DerivedOfVolumes(book, [writer.memory.derived for writer in writers]),
        )
        known = pages_in_series(book, [writer.all_entries() for writer in writers])
        memory.entries.extend(chain(known))
        super().__init__(memory, None, "", (e for e in known.values() if e.page.start >= memory.read_until))
        for index in range(len(writers)):
            self._take_notice(index)

    @property
    def is_saved(self) -> bool:
        return all(writer.is_saved for writer in self._writers)

    def size_at(self, offset: int) -> PageSize:
        return self._writers[self.memory.book.volume_index(offset)].memory.size

    def add(self, entry: MemoryEntry) -> list[MemoryEntry]:
        book = self.memory.book
        index = book.volume_index(entry.page.start)
        if entry.page.start == book.volumes[index].start:
            title = _title_page(book, index)
            self._ahead[title.page.start] = title
        return super().add(entry)

    def close(self) -> None:
        for writer in self._writers:
            writer.close()

    def _write(self, entry: MemoryEntry) -> None:
        index = self.memory.book.volume_index(entry.page.start)
        self._writers[index].add(_from_series(self.memory.book, index, entry))
        self._take_notice(index)

    def _take_notice(self, index: int) -> None:
        if notice := self._writers[index].notice:
            self.notice = f"{self.memory.book.volumes[index].title}: {notice}"


class _DerivedOfVolumes(DerivedRecords):
    """Stores a record with the volume that it is about, or with the first of several volumes."""

    def __init__(self, book: Book, parts: Sequence[DerivedRecords]) -> None:
        super().__init__()
        self._headings = [volume.heading for volume in book.volumes]
        self._parts = parts

    @property
    def failure(self) -> StorageError | None:
        return next(filter(None, (part.failure for part in self._parts)), None)

    def at(self, offset: int) -> DerivedRecords:
        return self._parts[max(0, bisect_right(self._headings, offset) - 1)]


def pages_in_series(book: Book, volumes: Iterable[Iterable[MemoryEntry]]) -> dict[int, MemoryEntry]:
    """The pages of the volumes and of their titles by their start in the series."""
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
    volume, page = book.volumes[index], entry.page
    end = page.end + volume.start
    end = book.volume_end(index) if end >= volume.end else end
    return replace(entry, page=replace(page, number=0, start=page.start + volume.start, end=end))


def _from_series(book: Book, index: int, entry: MemoryEntry) -> MemoryEntry:
    volume, page = book.volumes[index], entry.page
    end = min(page.end, volume.end) - volume.start
    return replace(entry, page=replace(page, number=0, start=page.start - volume.start, end=end))
