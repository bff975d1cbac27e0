"""Compares ranges of a book: which pages have the answer, and how much of it the model saw."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence

Place = tuple[int, int]
BETWEEN_PARAGRAPHS = 2  # Characters between two paragraphs of a book (`book/model.py`)


def pages_with(gold: Iterable[Place], pages: Sequence[Place]) -> frozenset[int]:
    """Numbers (from 1) of the pages that share at least one character with one of the places."""
    starts = [start for start, _ in pages]
    found: set[int] = set()
    for start, end in gold:
        first = max(0, bisect_right(starts, start) - 1)
        for index in range(first, len(pages)):
            if pages[index][0] >= end:
                break
            if pages[index][1] > start:
                found.add(index + 1)
    return frozenset(found)


def covered(gold: Iterable[Place], seen: Iterable[Place]) -> float:
    """Share of the characters of `gold` that lie inside `seen`, from 0 to 1; 0 where `gold` is empty."""
    wanted, there = united(gold), united(seen)
    length = sum(end - start for start, end in wanted)
    shared = 0
    index = 0
    for start, end in wanted:
        while index < len(there) and there[index][1] <= start:
            index += 1
        at = index
        while at < len(there) and there[at][0] < end:
            shared += min(end, there[at][1]) - max(start, there[at][0])
            at += 1
    return shared / length if length else 0.0


def united(places: Iterable[Place], gap: int = 0) -> tuple[Place, ...]:
    """The same characters as ordered places more than `gap` apart, without empty ones."""
    merged: list[Place] = []
    for start, end in sorted(place for place in places if place[0] < place[1]):
        if merged and start <= merged[-1][1] + gap:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)
