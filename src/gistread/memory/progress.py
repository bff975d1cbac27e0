"""How far models have read the books of a library, told from the memories on disk without opening a book."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gistread import journal
from gistread.errors import StorageError
from gistread.memory.focus import ANYTHING, GistFocus, from_record

_SUFFIX = ".memory"


@dataclass(frozen=True, slots=True)
class ReadBy:
    """A memory of a book."""

    sha256: str
    """Of the book's text."""
    model_name: str
    read_until: int
    """Offset up to which it goes without a gap."""
    pages: int
    aim: GistFocus = ANYTHING


def furthest(directory: Path) -> dict[str, ReadBy]:
    """Of each book the memory that got furthest, by the SHA-256 of the text; one for a task comes after others.

    A file that cannot be read is none.
    """
    best: dict[str, ReadBy] = {}
    for memory in _memories(directory):
        other = best.get(memory.sha256)
        if other is None or _worth(memory) > _worth(other):
            best[memory.sha256] = memory
    return best


def _worth(memory: ReadBy) -> tuple[int, bool]:
    return memory.read_until, not memory.aim.task


def _memories(directory: Path) -> Iterator[ReadBy]:
    try:
        files = sorted(directory.glob(f"*{_SUFFIX}"))
    except OSError:
        return
    for file in files:
        try:
            records, _ = journal.read(file)
        except StorageError:
            continue
        match records[:1]:
            case [{"book": str(sha256), "model": str(model)}]:
                ends = {record.get("start"): record.get("end") for record in records[1:]}
                at = pages = 0
                while isinstance(end := ends.get(at), int) and end > at:
                    at, pages = end, pages + 1
                with contextlib.suppress(ValueError):
                    yield ReadBy(sha256, model, at, pages, from_record(records[0]))
