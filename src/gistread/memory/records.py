"""Converts the pages of a memory to records of its journal, and back."""

from collections.abc import Mapping
from dataclasses import replace

from gistread.book.model import Book
from gistread.book.normalise import count_words
from gistread.engine.protocol import Usage
from gistread.journal import Record
from gistread.memory.model import Gist, GistSource, MemoryEntry, Page

_SOURCES = frozenset(source.value for source in GistSource)


def page_record(entry: MemoryEntry) -> Record:
    """The record of one page."""
    page, gist, usage = entry.page, entry.gist, entry.usage
    return {
        "start": page.start,
        "end": page.end,
        "words": page.words,
        "gist": gist.text,
        "source": gist.source.value,
        "usage": [usage.prefilled, usage.reused, usage.generated, usage.seconds],
    }


def entries_of(records: list[Record], book: Book) -> dict[int, MemoryEntry]:
    """The pages of these records by start offset, up to the first invalid one (outside the text, no gist).

    Records are in the order in which pages were finished; of two with the same start the later counts.
    """
    entries: dict[int, MemoryEntry] = {}
    for record in records:
        match record:
            case {
                "start": int(start),
                "end": int(end),
                "words": int(words),
                "gist": str(gist),
                "source": str(source),
                "usage": [int(prefilled), int(reused), int(generated), int() | float() as seconds],
            } if 0 <= start < end <= len(book.text) and gist.strip() and source in _SOURCES:
                entries[start] = MemoryEntry(
                    Page(0, start, end, words),
                    Gist(gist, count_words(gist), GistSource(source)),
                    Usage(prefilled, reused, generated, float(seconds)),
                )
            case _:
                break
    return entries


def chain(entries: Mapping[int, MemoryEntry], start: int = 0, number: int = 0) -> list[MemoryEntry]:
    """The pages that follow without a gap from `start`, numbered after page `number`."""
    followed: list[MemoryEntry] = []
    while (entry := entries.get(start)) is not None:
        number += 1
        followed.append(replace(entry, page=replace(entry.page, number=number)))
        start = entry.page.end
    return followed
