"""Gist memories on disk: one journal each, with one record for each page.

A memory is identified by the book's text, the model, the page size and the prompts.
"""

import contextlib
import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from gistread import prompts
from gistread.book.model import Book
from gistread.engine.llama.machine import file_bytes
from gistread.errors import StorageError
from gistread.memory import gisting, pagination, single_pass
from gistread.memory.derived import SUFFIX, DerivedRecords
from gistread.memory.gaps import GapFiller
from gistread.memory.model import (
    DEFAULT_FOCUS,
    GistFocus,
    GistMemory,
    PageSize,
    ReadingMode,
)
from gistread.memory.writer import (
    MemoryWriter,
    entries_of,
    not_saved_notice,
    page_record,
)
from gistread.presets import FICTION
from gistread.store import journal
from gistread.store.files import replace_file
from gistread.store.journal import Journal, Record
from gistread.store.rows import decoded

_FORMAT = "gistread memory"
_VERSION = 1
_SUFFIX = ".memory"
_DAMAGED = ".damaged"

# Header fields that identify a memory.
_KEY = ("book", "fingerprint", "min_words", "max_words", "prompts", "reading")
_BOOK_KEY_LENGTH = 16
_REQUEST_KEY_LENGTH = 16

# The prompts that are part of a memory's identity: a change of wording creates a new memory.
_PROMPTS = {
    ReadingMode.CAREFUL: (*pagination.PROMPTS, *gisting.PROMPTS),
    ReadingMode.SINGLE_PASS: single_pass.PROMPTS,
}

_REREAD_NOTICE = "This book's memory was damaged; the pages lost are read again."


@dataclass(frozen=True, slots=True)
class MemoryRequest:
    """Identifies one of the memories of a book."""

    model_name: str
    fingerprint: str  # Hash of the model's weights
    size: PageSize
    mode: ReadingMode = ReadingMode.CAREFUL
    focus: GistFocus = DEFAULT_FOCUS


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHeader(MemoryRequest):
    """A memory on disk."""

    path: Path
    prompts: str  # Version of the prompts that made it
    pages: int  # Number of pages, also after a gap
    characters: int  # Characters of these pages
    read_until: int  # Offset in the book where the first missing page begins
    complete: bool
    modified_s: float  # When it was last opened or written, in seconds since the epoch

    def describes(self, memory: GistMemory) -> bool:
        """Whether this is the header of a loaded memory."""
        own = (self.model_name, self.size, self.mode, self.focus)
        return own == (memory.model_name, memory.size, memory.mode, memory.focus)


class MemoryStore:
    """All memories in one directory. Constructing it touches nothing."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def open(self, book: Book, request: MemoryRequest) -> MemoryWriter:
        """Open or create this memory. Raises StorageError."""
        header = _header(book, request)
        key = "\0".join(str(header[name]) for name in _KEY)
        book_key = book.sha256[:_BOOK_KEY_LENGTH]
        request_key = hashlib.sha256(key.encode()).hexdigest()[:_REQUEST_KEY_LENGTH]
        path = self.directory / f"{book_key}-{request_key}{_SUFFIX}"
        _refuse_later_version(path)
        memory = GistMemory(
            book,
            request.size,
            request.model_name,
            derived=DerivedRecords(path.with_suffix(SUFFIX)),
            mode=request.mode,
            focus=request.focus,
        )
        try:
            file = Journal(path)
        except StorageError as error:
            _add_saved_entries(memory, path, header)
            if isinstance(error, journal.InUseError):
                error = StorageError(f"{book.title} is being read in another gistread.")
            return MemoryWriter(memory, None, not_saved_notice(error))
        try:
            return _resume(file, header, memory)
        except StorageError as error:
            file.close()
            return MemoryWriter(memory, None, not_saved_notice(error))

    def reopen(self, book: Book, header: MemoryHeader) -> MemoryWriter | None:
        """Open this memory for its model; None if the prompts have changed since.

        Raises StorageError.
        """
        if header.focus.version(*_PROMPTS[header.mode]) == header.prompts:
            return self.open(book, header)
        return None

    def is_damaged(self, book: Book) -> bool:
        """Whether records of a memory of this book are damaged.

        Raises StorageError if one cannot be read.
        """
        return any(map(journal.is_damaged, self._files_of(book)))

    def find(self, book: Book) -> list[MemoryHeader]:
        """The memories of this book by any model. Raises StorageError if one cannot be read.

        Those that cover most first, then those without a task, then the latest.
        """
        headers: list[MemoryHeader] = []
        for path in self._files_of(book):
            header = _read_header(path, book)
            if header is not None:
                headers.append(header)
        return sorted(
            headers,
            key=lambda header: (
                header.characters,
                not header.focus.task,
                header.modified_s,
            ),
            reverse=True,
        )

    def _files_of(self, book: Book) -> list[Path]:
        book_key = book.sha256[:_BOOK_KEY_LENGTH]
        return journal.list_files(self.directory, f"{book_key}-*{_SUFFIX}")

    def load(self, book: Book, header: MemoryHeader) -> GistMemory:
        """Load a memory read-only, without its model. Raises StorageError if it was deleted."""
        _, *page_records = _records(header.path)
        read = entries_of(page_records, book)
        entries = GapFiller(book, header.size).arranged(read)
        return GistMemory(
            book,
            header.size,
            header.model_name,
            entries,
            derived=DerivedRecords(header.path.with_suffix(SUFFIX)),
            mode=header.mode,
            focus=header.focus,
        )

    def delete(self, header: MemoryHeader) -> None:
        """Delete a memory and all that is derived from it. Raises StorageError if it is in use."""
        try:
            _remove(header.path)
        except journal.InUseError:
            raise StorageError(
                "This memory is in use in another gistread.", "Close that first."
            ) from None

    def clear(self) -> int:
        """Remove all memories that are not in use; return the bytes freed."""
        memories: set[Path] = set()
        for pattern in (f"*{_SUFFIX}", f"*{_SUFFIX}{_DAMAGED}", f"*{SUFFIX}"):
            for path in self.directory.glob(pattern):
                name = path.name.removesuffix(_DAMAGED)
                memories.add(path.with_name(name).with_suffix(_SUFFIX))
        freed = 0
        for path in memories:
            size = sum(map(file_bytes, (path, *_files_beside(path))))
            with contextlib.suppress(StorageError, OSError):
                _remove(path)
                freed += size
        return freed


def _files_beside(path: Path) -> tuple[Path, Path]:
    """The files beside the journal of a memory: what is derived from it, and what was damaged."""
    return path.with_suffix(SUFFIX), path.with_name(path.name + _DAMAGED)


def _remove(path: Path) -> None:
    """Remove the files of a memory. Raises InUseError, OSError."""
    with Journal(path):  # Refused while another process writes to it
        for file in _files_beside(path):
            file.unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def _records(path: Path) -> list[Record]:
    """The header and pages of a memory. Raises StorageError if it was deleted."""
    records, _ = journal.read_records(path)
    if not records:
        raise StorageError(
            f"{path}: the memory is gone.", "Read the book again: gistread index BOOK."
        )
    return records


def _add_saved_entries(memory: GistMemory, path: Path, header: Record) -> None:
    """Add the pages in a file that cannot be written, as far as it can be read."""
    with contextlib.suppress(StorageError):
        records, _ = journal.read_records(path)
        if records and _same_key(records[0], header):
            read = entries_of(records[1:], memory.book)
            memory.entries += GapFiller(memory.book, memory.size).arranged(read)


def _resume(file: Journal, header: Record, memory: GistMemory) -> MemoryWriter:
    """Continue a memory with the pages in its file, after repairing the file if it is damaged."""
    records = file.records
    notice = _REREAD_NOTICE if file.cut_bytes else ""
    # If only the header is damaged, the file name identifies the memory.
    if records and "format" not in records[0]:
        records = [header, *records]
        file.rewrite(records)
    if records and not _same_key(records[0], header):
        damaged = file.path.with_name(file.path.name + _DAMAGED)
        with contextlib.suppress(OSError):
            replace_file(damaged, file.path.read_bytes())
        file.rewrite([header])
        records = [header]
        notice = "This book's memory was damaged and has been set aside; the book is read again."
    if not records:
        file.append(header)
    entries = entries_of(records[1:], memory.book)
    if len(entries) < len(records) - 1:
        file.rewrite([header, *map(page_record, entries.values())])
        notice = _REREAD_NOTICE
    with contextlib.suppress(OSError):
        os.utime(file.path)  # Time of the last opening
    return MemoryWriter(memory, file, notice, entries)


def _header(book: Book, request: MemoryRequest) -> Record:
    """The first record of a memory."""
    header: Record = {
        "format": _FORMAT,
        "version": _VERSION,
        "book": book.sha256,
        "title": book.title,
        "model": request.model_name,
        "fingerprint": request.fingerprint,
        "min_words": request.size.min_words,
        "max_words": request.size.max_words,
        "prompts": request.focus.version(*_PROMPTS[request.mode]),
        "reading": request.mode.value,
    }
    if request.focus.preset != FICTION:
        # The full text of the preset, since its file may be deleted or edited.
        header["preset"] = asdict(request.focus.preset)
    if request.focus.task:
        header["task"] = request.focus.task
    return header


def _same_key(header: Record, other: Record) -> bool:
    """Whether two headers are of the same memory."""
    names = ("format", "version", *_KEY)
    return all(header.get(name) == other.get(name) for name in names)


def _refuse_later_version(path: Path) -> None:
    """Raise StorageError if a later version of gistread wrote the file.

    Opening it for writing would cut off records that this version does not understand.
    """
    first: Record | None = None
    with contextlib.suppress(OSError), path.open("rb") as file:
        first = journal.decode_line(file.readline())
    match first:
        case {"format": format_name, "version": int(version)} if (
            format_name == _FORMAT and version > _VERSION
        ):
            raise StorageError(
                f"This book's memory was written by a later version of gistread (format {version}; "
                f"this one reads {_VERSION}).",
                f"Update gistread, or remove {path} to have the book read again.",
            )


def _focus(header: Record) -> GistFocus | None:
    """The focus of a memory; None if it is damaged."""
    if not isinstance(header.get("task", ""), str):
        return None
    return decoded(GistFocus, header)


def _worded(focus: GistFocus, header: Record, mode: ReadingMode) -> GistFocus:
    """The focus in the wording of the prompts that made the memory."""
    for wording in prompts.WORDINGS:
        worded = replace(focus, wording=wording)
        if worded.version(*_PROMPTS[mode]) == header["prompts"]:
            return worded
    return focus


def _read_header(path: Path, book: Book) -> MemoryHeader | None:
    """The header of a memory; None if it is damaged, deleted or of another book."""
    try:
        records, _ = journal.read_records(path)
        header = records[0]
        focus = _focus(header)
        mode = ReadingMode(header["reading"])
        is_known_format = header["format"] == _FORMAT and header["version"] <= _VERSION
        is_of_book = header["book"] == book.sha256
        if focus is None or not is_known_format or not is_of_book:
            return None
        pages = [entry.page for entry in entries_of(records[1:], book).values()]
        read_until = first_gap({page.start: page.end for page in pages})
        return MemoryHeader(
            path=path,
            model_name=str(header["model"]),
            fingerprint=str(header["fingerprint"]),
            size=PageSize(int(header["min_words"]), int(header["max_words"])),
            prompts=str(header["prompts"]),
            pages=len(pages),
            characters=count_characters((page.start, page.end) for page in pages),
            read_until=read_until,
            complete=read_until >= len(book.text),
            modified_s=path.stat().st_mtime,
            mode=mode,
            focus=_worded(focus, header, mode),
        )
    except (FileNotFoundError, LookupError, TypeError, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class BookProgress:
    """How much of a book a model has read."""

    sha256: str  # Hash of the book's text
    model_name: str
    read_until: int  # Offset of the first gap
    pages: int  # Number of pages, also after a gap
    characters: int  # Characters of these pages
    focus: GistFocus


def count_characters(spans: Iterable[tuple[int, int]]) -> int:
    """Characters in these spans of a book, each counted once."""
    count = 0
    counted_until = 0
    for start, end in sorted(spans):
        count += max(0, end - max(start, counted_until))
        counted_until = max(counted_until, end)
    return count


def first_gap(ends: Mapping[int, int]) -> int:
    """The offset up to which pages follow each other from the beginning.

    `ends`: the end of each page by its start.
    """
    gap = 0
    while ends.get(gap, 0) > gap:
        gap = ends[gap]
    return gap


def furthest_memories(directory: Path) -> tuple[dict[str, BookProgress], list[str]]:
    """The furthest memory of each book, by SHA-256 of the text, and why others cannot be read.

    If several reach as far, one without a task. Raises StorageError if the directory cannot be
    read.
    """
    memories: list[BookProgress] = []
    problems: list[str] = []
    for file in journal.list_files(directory, f"*{_SUFFIX}"):
        try:
            records, _ = journal.read_records(file)
        except StorageError as error:
            problems.append(error.message)
            continue
        progress = _progress_of(records)
        if progress is not None:
            memories.append(progress)
    memories.sort(key=lambda progress: (progress.characters, not progress.focus.task))
    # The last memory of each book, the furthest, replaces the others.
    return {memory.sha256: memory for memory in memories}, problems


def _progress_of(records: list[Record]) -> BookProgress | None:
    """The progress of a memory from its records; None if its header is damaged."""
    match records[:1]:
        case [{"book": str(sha256), "model": str(model)}] if sha256:
            focus = _focus(records[0])
        case _:
            return None
    if focus is None:
        return None
    ends = {record.get("start"): record.get("end") for record in records[1:]}
    spans = [
        (start, end)
        for start, end in ends.items()
        if isinstance(start, int) and isinstance(end, int)
    ]
    return BookProgress(
        sha256,
        model,
        read_until=first_gap(dict(spans)),
        pages=len(ends),
        characters=count_characters(spans),
        focus=focus,
    )
