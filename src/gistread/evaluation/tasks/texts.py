"""Texts of benchmarks put into a book, each with the place where it came to stand.

Gold places are offsets of `Book.text` (design D1): what a file says about sections, turns and paragraphs is turned into
offsets here, while the book grows. Knows no file and no task.
"""

import re

from gistread.book.builder import BookBuilder
from gistread.book.model import ParagraphKind
from gistread.evaluation.places import Place

_EMPTY_LINE = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")


def add_text(builder: BookBuilder, text: str) -> Place | None:
    """Append a text, parted into paragraphs at its empty lines; where it stands, or None if nothing of it is readable.

    Single line ends are taken for a line that was full: they become spaces.
    """
    start = builder.next_start
    added = [builder.add(part) for part in _EMPTY_LINE.split(text.replace("\r\n", "\n"))]
    return (start, builder.characters) if any(added) else None


def add_heading(builder: BookBuilder, title: str, level: int = 1) -> None:
    """Begin a chapter with a heading of its own."""
    builder.chapter(title, level)
    builder.add(title, ParagraphKind.HEADING, level)
