"""How far models have read the books of a library, told from the memories on disk without opening a book."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gistread import journal
from gistread.errors import StorageError
from gistread.memory.focus import DEFAULT_FOCUS, GistFocus, focus_from_record

_SUFFIX = ".memory"


@dataclass(frozen=True, slots=True)
class BookProgress:
    """A memory of a book."""

    sha256: str
    """Of the book's text."""
    model_name: str
    read_until: int
    """Offset up to which it goes without a gap."""
    pages: int
    focus: GistFocus = DEFAULT_FOCUS


def furthest_memories(directory: Path) -> dict[str, BookProgress]:
    """Of each book the memory that got furthest, by the SHA-256 of the text; one for a task comes after others.

    A file that cannot be read is none.
    """
    best: dict[str, BookProgress] = {}
    for memory in _memories(directory):
        other = best.get(memory.sha256)
        if other is None or _worth(memory) > _worth(other):
            best[memory.sha256] = memory
    return best


def _worth(memory: BookProgress) -> tuple[int, bool]:
    return memory.read_until, not memory.focus.task


def _memories(directory: Path) -> Iterator[BookProgress]:
    try:
        files = sorted(directory.glob(f"*{_SUFFIX}"))
    except OSError:
        return
    for file in files:
        try:
            records, _ = journal.read_records(file)
        except StorageError:
            continue
        match records[:1]:
            case [{"book": str(sha256), "model": str(model)}]:
                ends = {record.get("start"): record.get("end") for record in records[1:]}
                at = pages = 0
                while isinstance(end := ends.get(at), int) and end > at:
                    at, pages = end, pages + 1
                with contextlib.suppress(ValueError):
                    yield BookProgress(sha256, model, at, pages, focus_from_record(records[0]))
