"""Describes the memories of a book in words."""

from collections.abc import Mapping
from dataclasses import replace

from gistread.book.model import Book
from gistread.library.model import LibraryEntry
from gistread.library.text import percent, relative_time
from gistread.memory.progress import BookProgress
from gistread.memory.writer import MemoryHeader


def furthest_reader(entry: LibraryEntry, furthest: Mapping[str, BookProgress]) -> BookProgress | None:
    """Who has read a book; of a series, who has read its volumes without a gap.

    `furthest`: the memory of each text that got furthest, by SHA-256.
    """
    if not entry.volumes:
        return furthest.get(entry.sha256)
    read_until = pages = 0
    first = furthest.get(entry.volumes[0].sha256)
    for volume in entry.volumes:
        memory = furthest.get(volume.sha256)
        if first is None or memory is None or (memory.model_name, memory.focus) != (first.model_name, first.focus):
            break
        if not memory.pages:
            break
        read_until, pages = volume.start + memory.read_until, pages + 1 + memory.pages
        if read_until < volume.end:
            break
    return replace(first, sha256=entry.sha256, read_until=read_until, pages=pages) if first else None


def describe_memory(header: MemoryHeader, book: Book, now_s: float) -> tuple[str, str]:
    """A memory's model, preset, progress, pages and date."""
    share = "" if header.complete else f", {percent(header.read_until / max(1, len(book.text)))} of the book"
    pages = f"{header.pages} page{'' if header.pages == 1 else 's'}{share}"
    facts = (
        pages,
        f"{header.size.min_words} to {header.size.max_words} words a page",
        header.method.mode,
        relative_time(header.modified_s, now_s),
    )
    return f"{header.model_name}, {header.focus.description}", " · ".join(facts)
