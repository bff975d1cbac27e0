"""Gist memories on disk: one journal a memory (design D5, section 7).

A memory is known by the book's text, the model that read it, the page size and the version of the prompts. Its
file has a header record and then one record a page, each synced as soon as it is known. What the disk refuses
is no failure: reading goes on in memory and the person is told once. What is made here can be made again, so
old memories are removed when they take too much room.
"""

import contextlib
import hashlib
import os
from collections.abc import Collection
from pathlib import Path

from gistread import journal
from gistread.book.model import Book
from gistread.errors import StorageError
from gistread.journal import Journal, Record
from gistread.memory import gisting, pagination, series, single_pass
from gistread.memory.derived import SUFFIX, DerivedRecords
from gistread.memory.focus import DEFAULT_FOCUS, GistFocus, focus_from_record, focus_record
from gistread.memory.model import GistMemory, PageSize, PageSizes, Pauses, ReadingMode
from gistread.memory.records import chain, entries_of, page_record
from gistread.memory.writer import MemoryHeader, MemoryWriter, unkept

_FORMAT = "gistread memory"
_VERSION = 1
_SUFFIX = ".memory"
_DAMAGED = ".damaged"
_LIMIT_BYTES = 256 * 2**20
"""All memories together; War and Peace takes 1 MB."""

_PROMPTS = {
    ReadingMode.CAREFUL: (*pagination.PROMPTS, *gisting.PROMPTS),
    ReadingMode.SINGLE_PASS: single_pass.PROMPTS,
}
"""Those that decide what a memory says: with other words it is another one."""


class MemoryStore:
    """All memories in one directory. Making one touches nothing."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def open(
        self,
        book: Book,
        model_name: str,
        fingerprint: str,
        size: PageSizes,
        reading: ReadingMode = ReadingMode.CAREFUL,
        *,
        pauses: Pauses = Pauses.CHOSEN,
        guarded: bool = True,
        focus: GistFocus = DEFAULT_FOCUS,
    ) -> MemoryWriter:
        """The memory of this book by this model, as far as it got, ready to be read on.

        Memories of other books that were not opened for long make way when all together have grown too large.
        Raises StorageError when the file was written by a later version of gistread; it is left as it is.
        """
        volumes = book.volume_books
        self.trim(_LIMIT_BYTES, keep={one.sha256 for one in (volumes or (book,))})

        def open_one(one: Book, its_size: PageSize) -> MemoryWriter:
            header = _header(one, model_name, fingerprint, its_size, reading, pauses, focus, guarded=guarded)
            memory = GistMemory(one, its_size, model_name, [], reading, DerivedRecords(), pauses, guarded, focus)
            return self._open(one, header, memory)

        if not volumes:
            assert isinstance(size, PageSize), "only the volumes of a series have sizes of their own"
            return open_one(book, size)
        sizes = [size] * len(volumes) if isinstance(size, PageSize) else size
        return series.open_series(book, sizes, lambda index, its_size: open_one(volumes[index], its_size))

    def _open(self, book: Book, header: Record, memory: GistMemory) -> MemoryWriter:
        """The memory of one book, in the file that its header names. Raises StorageError."""
        path = self._path(book, header)
        _refuse_later_version(path)
        memory.derived = DerivedRecords(path.with_suffix(SUFFIX))
        try:
            file = Journal(path)
        except StorageError as error:
            with contextlib.suppress(StorageError):
                records, _ = journal.read_records(path)
                if records and _same_key(records[0], header):
                    memory.entries.extend(chain(entries_of(records[1:], book)))
            return MemoryWriter(memory, None, unkept(error))
        try:
            return self._opened(file, header, memory)
        except StorageError as error:
            file.close()
            return MemoryWriter(memory, None, unkept(error))

    def reopen(self, book: Book, header: MemoryHeader, sizes: PageSizes) -> MemoryWriter | None:
        """This memory, to be read on by the model that made it; None where the prompts have changed since.

        `sizes` are for volumes of a series that it has not got to. Raises StorageError as `open` does.
        """
        reading = ReadingMode(header.reading_mode)
        if header.focus.version(*_PROMPTS[reading]) != header.prompts:
            return None
        return self.open(
            book,
            header.model_name,
            header.fingerprint,
            header.size if not header.parts else _kept_sizes(header, sizes),
            reading,
            pauses=header.pauses,
            guarded=header.guarded,
            focus=header.focus,
        )

    def find(self, book: Book) -> list[MemoryHeader]:
        """The memories of this book, whoever read it: the one that got furthest first, one made for whatever may be
        asked before one for a task, then the latest."""
        if book.volumes:
            found = series.headers_of(book, [self.find(volume) for volume in book.volume_books])
        else:
            paths = self._files(f"{_book_key(book)}-*{_SUFFIX}")
            found = [header for path in paths if (header := _described(path, book)) is not None]
        return sorted(found, key=lambda one: (one.read_until, not one.focus.task, one.modified_s), reverse=True)

    def load(self, book: Book, header: MemoryHeader) -> GistMemory:
        """A memory to ask or to show, without the model that made it. Raises StorageError when it is gone."""
        if header.parts:
            return series.load_series(book, header, lambda index, part: self.load(book.volume_books[index], part))
        records, _ = journal.read_records(header.path)
        if not records:
            raise StorageError(f"{header.path}: the memory is gone.", "Read the book again: gistread index BOOK.")
        entries = chain(entries_of(records[1:], book))
        derived = DerivedRecords(header.path.with_suffix(SUFFIX))
        reading = ReadingMode(header.reading_mode)
        return GistMemory(
            book,
            header.size,
            header.model_name,
            entries,
            reading,
            derived,
            header.pauses,
            header.guarded,
            header.focus,
        )

    def trim(self, limit_bytes: int, keep: Collection[str] = ()) -> int:
        """Remove the memories opened longest ago until all together take at most `limit_bytes`.

        Never those of the books whose SHA-256 is in `keep`, nor one that another process is writing. Returns
        how many bytes were freed.
        """
        kept_keys = {sha256[:_KEY_LENGTH] for sha256 in keep}
        files: list[tuple[float, int, Path]] = []
        for path in self._files("*"):
            with contextlib.suppress(OSError):
                status = path.stat()
                files.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in files)
        freed = 0
        for _, size, path in sorted(files):
            if total - freed <= limit_bytes:
                break
            if path.name.partition("-")[0] in kept_keys:
                continue
            try:
                if path.suffix == _SUFFIX:
                    Journal(path).close()  # Refused when somebody is writing to it.
                path.unlink()
            except (StorageError, OSError):
                continue
            freed += size
        return freed

    def _opened(self, file: Journal, header: Record, memory: GistMemory) -> MemoryWriter:
        records = file.records
        notice = ""
        if file.cut_bytes:
            notice = "The end of this book's memory was damaged; those pages are read again."
        if records and not _same_key(records[0], header):
            # Another thing under our name: nothing in it can be used.
            with contextlib.suppress(OSError):
                file.path.with_name(file.path.name + _DAMAGED).write_bytes(file.path.read_bytes())
            file.rewrite([header])
            records = [header]
            notice = "This book's memory was damaged and has been set aside; the book is read again."
        if not records:
            file.append(header)
        entries = entries_of(records[1:], memory.book)
        if len(entries) < len(records) - 1:
            file.rewrite([header, *map(page_record, entries.values())])
            notice = "The end of this book's memory was damaged; those pages are read again."
        memory.entries.extend(chain(entries))
        with contextlib.suppress(OSError):
            os.utime(file.path)  # Last used now: see `trim`.
        return MemoryWriter(memory, file, notice, (e for e in entries.values() if e.page.start >= memory.read_until))

    def _path(self, book: Book, header: Record) -> Path:
        key = "\0".join(str(header[name]) for name in _KEY if name in header)
        return self.directory / f"{_book_key(book)}-{hashlib.sha256(key.encode()).hexdigest()[:16]}{_SUFFIX}"

    def _files(self, pattern: str) -> list[Path]:
        if pattern == "*":
            patterns = (f"*{_SUFFIX}", f"*{_SUFFIX}{_DAMAGED}", f"*{SUFFIX}")
            return [path for each in patterns for path in self.directory.glob(each)]
        return list(self.directory.glob(pattern))


_KEY = ("book", "fingerprint", "min_words", "max_words", "prompts", "reading", "pauses", "guarded")
_KEY_LENGTH = 16


def _kept_sizes(header: MemoryHeader, sizes: PageSizes) -> PageSizes:
    """Of a series, for each volume the size that its memory has, or else the one of `sizes`."""
    others = (sizes,) * len(header.parts) if isinstance(sizes, PageSize) else sizes
    return tuple(part.size if part else other for part, other in zip(header.parts, others, strict=True))


def _book_key(book: Book) -> str:
    return book.sha256[:_KEY_LENGTH]


def _header(
    book: Book,
    model_name: str,
    fingerprint: str,
    size: PageSize,
    reading: ReadingMode,
    pauses: Pauses,
    focus: GistFocus,
    *,
    guarded: bool,
) -> Record:
    header: Record = {
        "format": _FORMAT,
        "version": _VERSION,
        "book": book.sha256,
        "title": book.title,
        "model": model_name,
        "fingerprint": fingerprint,
        "min_words": size.min_words,
        "max_words": size.max_words,
        "prompts": focus.version(*_PROMPTS[reading]),
        "reading": reading.value,
    }
    # Only what departs from the usual is named: the usual memories keep the names that they have.
    if pauses is not Pauses.CHOSEN:
        header["pauses"] = pauses.value
    if not guarded:
        header["guarded"] = False
    return header | focus_record(focus)


def _same_key(found: Record, header: Record) -> bool:
    return all(found.get(name) == header.get(name) for name in ("format", "version", *_KEY))


def _refuse_later_version(path: Path) -> None:
    """Looked at before the file is opened for writing, which would cut what it does not understand."""
    try:
        with path.open("rb") as file:
            first = journal.decode_line(file.readline())
    except OSError:
        return
    if first is None or first.get("format") != _FORMAT:
        return
    version = first.get("version")
    if isinstance(version, int) and version > _VERSION:
        raise StorageError(
            f"This book's memory was written by a later version of gistread (format {version}; this one reads "
            f"{_VERSION}).",
            f"Update gistread, or remove {path} to have the book read again.",
        )


def _described(path: Path, book: Book) -> MemoryHeader | None:
    """The header of a memory file, or None when it is not one of this book that can be read."""
    try:
        records, _ = journal.read_records(path)
        modified_s = path.stat().st_mtime
    except (StorageError, OSError):
        return None
    if not records:
        return None
    match records[0]:
        case {
            "format": str(form),
            "version": int(version),
            "book": str(sha256),
            "model": str(model_name),
            "fingerprint": str(fingerprint),
            "min_words": int(min_words),
            "max_words": int(max_words),
            "prompts": str(prompts_version),
            "reading": str(reading),
        } if form == _FORMAT and version <= _VERSION and sha256 == book.sha256 and reading in _PROMPTS:
            pass
        case _:
            return None
    try:
        pauses = Pauses(records[0].get("pauses", Pauses.CHOSEN))
        focus = focus_from_record(records[0])
    except ValueError:
        return None
    entries = chain(entries_of(records[1:], book))
    read_until = entries[-1].page.end if entries else 0
    return MemoryHeader(
        path=path,
        model_name=model_name,
        fingerprint=fingerprint,
        size=PageSize(min_words, max_words),
        prompts=prompts_version,
        reading_mode=reading,
        pages=len(entries),
        read_until=read_until,
        complete=read_until >= len(book.text),
        modified_s=modified_s,
        pauses=pauses,
        guarded=records[0].get("guarded", True) is not False,
        focus=focus,
    )
