"""Gist memories on disk: one journal a memory (design D5, section 7).

A memory is known by the book's text, the model that read it, the page size and the version of the prompts. Its
file has a header record and then one record a page, each synced as soon as it is known. What the disk refuses
is no failure: reading goes on in memory and the person is told once. What is made here can be made again, so
old memories are removed when they take too much room.
"""

import contextlib
import hashlib
import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from gistread import journal
from gistread.book.model import Book
from gistread.errors import StorageError
from gistread.journal import Journal, Record
from gistread.memory import gisting, pagination, single_pass
from gistread.memory.aim import ANYTHING, Aim, from_record, to_record
from gistread.memory.derived import SUFFIX, Derived
from gistread.memory.model import Entry, GistMemory, PageSize, Pauses, Reading
from gistread.memory.records import chain, entries_of, page_record

_FORMAT = "gistread memory"
_VERSION = 1
_SUFFIX = ".memory"
_DAMAGED = ".damaged"
_LIMIT_BYTES = 256 * 2**20
"""All memories together; War and Peace takes 1 MB."""

_PROMPTS = {
    Reading.CAREFUL: (*pagination.PROMPTS, *gisting.PROMPTS),
    Reading.SINGLE_PASS: single_pass.PROMPTS,
}
"""Those that decide what a memory says: with other words it is another one."""


@dataclass(frozen=True, slots=True)
class MemoryHeader:
    """What is known of a memory without its pages."""

    path: Path
    model_name: str
    fingerprint: str
    size: PageSize
    prompts: str
    reading: str
    pages: int
    read_until: int
    """Offset up to which the book has been read."""
    complete: bool
    modified_s: float
    """When it was last opened for reading on or written, in seconds since the epoch."""
    pauses: Pauses = Pauses.CHOSEN
    guarded: bool = True
    aim: Aim = ANYTHING

    def describes(self, memory: GistMemory) -> bool:
        """Whether this is the header of that memory, as far as both tell."""
        return (self.model_name, self.size, self.reading, self.pauses, self.guarded, self.aim) == (
            memory.model_name,
            memory.size,
            memory.reading,
            memory.pauses,
            memory.guarded,
            memory.aim,
        )


class KeptMemory:
    """A memory that is being made, and the file that keeps it. Use as a context manager.

    `notice` is one line for the person about the file (repaired, not writable), or empty; it may change with
    `keep`.
    """

    def __init__(self, memory: GistMemory, file: Journal | None, notice: str = "", ahead: Iterable[Entry] = ()) -> None:
        self.memory = memory
        self.notice = notice
        self._file = file
        self._ahead = {entry.page.start: entry for entry in ahead}
        """Pages that were finished before one in front of them."""

    @property
    def kept(self) -> bool:
        """Whether what is read is still written to disk."""
        return self._file is not None

    def known(self, start: int) -> Entry | None:
        """The page that begins at this offset, if it has been read, also where the memory has not got to yet."""
        if start in self._ahead:
            return self._ahead[start]
        page = self.memory.page_at(start)
        return self.memory.entry(page.number) if page is not None and page.start == start else None

    def keep(self, entry: Entry) -> list[Entry]:
        """Add a page, on disk first; what is in the memory by that, in order, with its number in the book.

        A page may come before those in front of it: it waits for them. Never fails for the disk: see `notice`.
        """
        if entry.page.start < self.memory.read_until:
            raise ValueError(f"the page at {entry.page.start} overlaps what was read up to {self.memory.read_until}")
        if self._file is not None:
            try:
                self._file.append(page_record(entry))
            except StorageError as error:
                self.notice = _unkept(error)
                self.close()
        self._ahead[entry.page.start] = entry
        followed = chain(self._ahead, self.memory.read_until, len(self.memory.entries))
        for new in followed:
            del self._ahead[new.page.start]
        self.memory.entries.extend(followed)
        return followed

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


class MemoryStore:
    """All memories in one directory. Making one touches nothing."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def open(
        self,
        book: Book,
        model_name: str,
        fingerprint: str,
        size: PageSize,
        reading: Reading = Reading.CAREFUL,
        *,
        pauses: Pauses = Pauses.CHOSEN,
        guarded: bool = True,
        aim: Aim = ANYTHING,
    ) -> KeptMemory:
        """The memory of this book by this model, as far as it got, ready to be read on.

        Memories of other books that were not opened for long make way when all together have grown too large.
        Raises StorageError when the file was written by a later version of gistread; it is left as it is.
        """
        header = _header(book, model_name, fingerprint, size, reading, pauses, aim, guarded=guarded)
        path = self._path(book, header)
        _refuse_later_version(path)
        self.trim(_LIMIT_BYTES, keep={book.sha256})
        derived = Derived(path.with_suffix(SUFFIX))
        memory = GistMemory(book, size, model_name, [], reading, derived, pauses, guarded, aim)
        try:
            file = Journal(path)
        except StorageError as error:
            with contextlib.suppress(StorageError):
                records, _ = journal.read(path)
                if records and _same_key(records[0], header):
                    memory.entries.extend(chain(entries_of(records[1:], book)))
            return KeptMemory(memory, None, _unkept(error))
        try:
            return self._opened(file, header, memory)
        except StorageError as error:
            file.close()
            return KeptMemory(memory, None, _unkept(error))

    def reopen(self, book: Book, header: MemoryHeader) -> KeptMemory | None:
        """This memory, to be read on by the model that made it; None where the prompts have changed since.

        Raises StorageError as `open` does.
        """
        reading = Reading(header.reading)
        if header.aim.version(*_PROMPTS[reading]) != header.prompts:
            return None
        return self.open(
            book,
            header.model_name,
            header.fingerprint,
            header.size,
            reading,
            pauses=header.pauses,
            guarded=header.guarded,
            aim=header.aim,
        )

    def find(self, book: Book) -> list[MemoryHeader]:
        """The memories of this book, whoever read it: the one that got furthest first, one made for whatever may be
        asked before one for a task, then the latest."""
        found = [
            header
            for path in self._files(f"{_book_key(book)}-*{_SUFFIX}")
            if (header := _described(path, book)) is not None
        ]
        return sorted(found, key=lambda one: (one.read_until, not one.aim.task, one.modified_s), reverse=True)

    def load(self, book: Book, header: MemoryHeader) -> GistMemory:
        """A memory to ask or to show, without the model that made it. Raises StorageError when it is gone."""
        records, _ = journal.read(header.path)
        if not records:
            raise StorageError(f"{header.path}: the memory is gone.", "Read the book again: gistread index BOOK.")
        entries = chain(entries_of(records[1:], book))
        derived = Derived(header.path.with_suffix(SUFFIX))
        reading = Reading(header.reading)
        return GistMemory(
            book,
            header.size,
            header.model_name,
            entries,
            reading,
            derived,
            header.pauses,
            header.guarded,
            header.aim,
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

    def _opened(self, file: Journal, header: Record, memory: GistMemory) -> KeptMemory:
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
        return KeptMemory(memory, file, notice, (e for e in entries.values() if e.page.start >= memory.read_until))

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


def _book_key(book: Book) -> str:
    return book.sha256[:_KEY_LENGTH]


def _header(
    book: Book,
    model_name: str,
    fingerprint: str,
    size: PageSize,
    reading: Reading,
    pauses: Pauses,
    aim: Aim,
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
        "prompts": aim.version(*_PROMPTS[reading]),
        "reading": reading.value,
    }
    # Only what departs from the usual is named: the usual memories keep the names that they have.
    if pauses is not Pauses.CHOSEN:
        header["pauses"] = pauses.value
    if not guarded:
        header["guarded"] = False
    return header | to_record(aim)


def _same_key(found: Record, header: Record) -> bool:
    return all(found.get(name) == header.get(name) for name in ("format", "version", *_KEY))


def _refuse_later_version(path: Path) -> None:
    """Looked at before the file is opened for writing, which would cut what it does not understand."""
    try:
        with path.open("rb") as file:
            first = journal.decode(file.readline())
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
        records, _ = journal.read(path)
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
        aim = from_record(records[0])
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
        reading=reading,
        pages=len(entries),
        read_until=read_until,
        complete=read_until >= len(book.text),
        modified_s=modified_s,
        pauses=pauses,
        guarded=records[0].get("guarded", True) is not False,
        aim=aim,
    )


def _unkept(error: StorageError) -> str:
    return f"{error.message} What is read now is kept for this session only."
