"""The names in each section: people and places that first appear, and those known before."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from gistread.people.index import Index
from gistread.people.joining import Entity, Kind

_MOST_PEOPLE = 4
_MOST_PLACES = 2
_MOST_KNOWN = 3


@dataclass(frozen=True, slots=True)
class SectionNames:
    """Names of one section, those mentioned most in it first."""

    people: tuple[str, ...] = ()  # People who are named for the first time
    places: tuple[str, ...] = ()  # Places, likewise
    known: tuple[str, ...] = ()  # People who were named before

    @property
    def title(self) -> str:
        """`Queequeg, Peter Coffin · New Bedford`; empty if nobody enters."""
        groups = (", ".join(names) for names in (self.people, self.places))
        return " · ".join(filter(None, groups))


@dataclass(frozen=True, slots=True)
class _Mentions:
    """An entity in one section."""

    entity: Entity
    count: int
    enters: bool


def names_of_sections(view: Index, starts: Sequence[int]) -> dict[int, SectionNames]:
    """The names of the sections that begin at these ascending offsets, by the offset.

    Each section ends where the next begins, the last one at the end of the view. Nothing behind
    the end of the view is used.

    >>> names_of_sections(index, [0, 3_000])[3_000].people
    ('Lucy', 'Daniel Crane', 'Dr. Hale', 'the Wren')
    """
    end = len(view.book.text)
    bounds = [*(start for start in starts if start < end), end]
    in_section: dict[int, list[_Mentions]] = {start: [] for start in bounds[:-1]}
    for entity in view.entities:
        mentions = entity.starts()
        for start, following in _sections_with(mentions, bounds):
            first = bisect_left(mentions, start)
            count = bisect_left(mentions, following) - first
            in_section[start].append(_Mentions(entity, count, enters=first == 0))
    return {start: _names_of(mentions) for start, mentions in in_section.items()}


def _sections_with(mentions: Sequence[int], bounds: Sequence[int]) -> set[tuple[int, int]]:
    """(start, end) of each section with one of these mentions."""
    sections = list(pairwise(bounds))
    numbers = {bisect_right(bounds, mention) - 1 for mention in mentions}
    return {sections[number] for number in numbers if 0 <= number < len(sections)}


def _names_of(mentions: Sequence[_Mentions]) -> SectionNames:
    by_count = sorted(mentions, key=lambda mention: -mention.count)

    def names(kind: Kind, *, enters: bool, most: int) -> tuple[str, ...]:
        chosen = (
            mention.entity.name
            for mention in by_count
            if mention.entity.kind is kind and mention.enters is enters
        )
        return tuple(chosen)[:most]

    return SectionNames(
        people=names(Kind.PERSON, enters=True, most=_MOST_PEOPLE),
        places=names(Kind.PLACE, enters=True, most=_MOST_PLACES),
        known=names(Kind.PERSON, enters=False, most=_MOST_KNOWN),
    )
