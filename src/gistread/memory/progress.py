"""How far models have read each book, from the memories on disk, without opening a book."""

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
    sha256: str  # Hash of the book's text
    model_name: str
    read_until: int  # Offset up to which pages follow without a gap
    pages: int
    focus: GistFocus = DEFAULT_FOCUS


def furthest_memories(directory: Path) -> dict[str, BookProgress]:
    """The furthest memory by SHA-256 of the text; of equals, one without a task. Skips unreadable files."""
    ranked = sorted(_memories(directory), key=lambda memory: (memory.read_until, not memory.focus.task))
    return {memory.sha256: memory for memory in ranked}


def _memories(directory: Path) -> Iterator[BookProgress]:
    for file in sorted(directory.glob(f"*{_SUFFIX}")):
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
