"""Helpers for all benchmarks: distinct identifiers, clean reference answers, texts added to a book."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gistread.book.builder import BookBuilder
    from gistread.evaluation.places import Place

_EMPTY_LINE = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")


def naming() -> Callable[[str], str]:
    """A function that numbers repeated identifiers: some files repeat them."""
    seen: Counter[str] = Counter()

    def named(id_: str) -> str:
        seen[id_] += 1
        return id_ if seen[id_] == 1 else f"{id_} ({seen[id_]})"

    return named


def distinct(ids: Iterable[str]) -> list[str]:
    """The identifiers, repeated ones numbered."""
    return list(map(naming(), ids))


def references(answers: Iterable[str]) -> tuple[str, ...]:
    """The answers, stripped, without empty ones and repetitions."""
    stripped = (" ".join(answer.split()) for answer in answers)
    return tuple(dict.fromkeys(answer for answer in stripped if answer))


def add_text(builder: "BookBuilder", text: str) -> "Place | None":
    """Append a text, split into paragraphs at empty lines; its place, or None if it has no readable text."""
    start = builder.next_start
    added = [builder.add(part) for part in _EMPTY_LINE.split(text.replace("\r\n", "\n"))]
    return (start, builder.characters) if any(added) else None
