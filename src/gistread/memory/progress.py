"""How far models have read each book, according to the memories on disk. Opens no book."""

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gistread.errors import StorageError
from gistread.memory.focus import DEFAULT_FOCUS, GistFocus, focus_from_record
from gistread.store import journal

_SUFFIX = ".memory"


@dataclass(frozen=True, slots=True)
class BookProgress:
    sha256: str  # Hash of the book's text
    model_name: str
    read_until: int  # Offset of the first gap
    pages: int  # Pages after a gap included
    characters: int  # Characters of these pages
    focus: GistFocus = DEFAULT_FOCUS
    title: str = ""
    size_bytes: int = 0
    modified_s: float = 0.0  # When it was last opened or written, in seconds since the epoch
    is_damaged: bool = False
    problem: str = ""  # Why it cannot be read


def furthest_memories(memories: Iterable[BookProgress]) -> dict[str, BookProgress]:
    """The furthest memory of each book, by SHA-256 of the text; among equals, one without a task."""
    ranked = sorted(memories, key=lambda memory: (memory.read_until, not memory.focus.task))
    return {memory.sha256: memory for memory in ranked if memory.sha256}


def count_characters(spans: Iterable[tuple[int, int]]) -> int:
    """Characters in these spans of a book, each counted once."""
    count = at = 0
    for start, end in sorted(spans):
        count += max(0, end - max(start, at))
        at = max(at, end)
    return count


def all_memories(directory: Path) -> Iterator[BookProgress]:
    """Every memory on disk; `sha256` and `title` are empty if its header cannot be read. Raises StorageError."""
    for file in journal.list_files(directory, f"*{_SUFFIX}"):
        try:
            status = file.stat()
            records, whole_bytes = journal.read_records(file)
            is_damaged = whole_bytes < status.st_size and journal.is_damaged(file)
        except StorageError as error:
            yield BookProgress("", "", 0, 0, 0, problem=error.message)
            continue
        except OSError:  # gone
            continue
        facts = (status.st_size, status.st_mtime, is_damaged)
        match records[:1]:
            case [{"book": str(sha256), "model": str(model)}]:
                ends = {record.get("start"): record.get("end") for record in records[1:]}
                spans = [(a, b) for a, b in ends.items() if isinstance(a, int) and isinstance(b, int)]
                at = 0
                while isinstance(end := ends.get(at), int) and end > at:
                    at = end
                with contextlib.suppress(ValueError):
                    focus, title = focus_from_record(records[0]), str(records[0].get("title", ""))
                    yield BookProgress(sha256, model, at, len(ends), count_characters(spans), focus, title, *facts)
            case _ if is_damaged:
                yield BookProgress("", "", 0, len(records), 0, DEFAULT_FOCUS, "", *facts)
