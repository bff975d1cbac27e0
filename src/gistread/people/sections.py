"""The names in each section: people and places that first appear, and those known before."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from gistread.people.index import Index
from gistread.people.joining import Entity
from gistread.people.kinds import Kind

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
        """`Queequeg, Peter Coffin · New Bedford`; empty if nobody enters.

        A space that does not break keeps the dot at the end of a row.
        """
        groups = [", ".join(names) for names in (self.people, self.places) if names]
        return "\u00a0· ".join(groups)


@dataclass(frozen=True, slots=True)
class _Mentions:
    """The mentions of an entity in one section."""

    entity: Entity
    count: int
    enters: bool  # Whether the first of the book is among them


def names_of_sections(
    view: Index, sections: Sequence[tuple[int, int]]
) -> dict[int, SectionNames]:
    """The names of these sections, (start, end) in ascending order, by their starts.

    A name enters where it is first mentioned in the book. Nothing after the end of the view is
    used, and a section that begins there is left out.

    >>> names_of_sections(index, [(0, 3_000), (3_000, 6_000)])[3_000].people
    ('Lucy', 'Dr. Hale', 'Martin Crane', 'Daniel Crane')
    """
    view_end = len(view.book.text)
    begun = [(start, min(end, view_end)) for start, end in sections if start < view_end]
    starts = [start for start, _ in begun]
    in_section: dict[int, list[_Mentions]] = {start: [] for start in starts}
    for entity in view.entities:
        offsets = entity.starts()
        # For each mention, the section that begins last before it; -1 before the first section
        indices = {bisect_right(starts, offset) - 1 for offset in offsets}
        for index in indices - {-1}:
            start, end = begun[index]
            first = bisect_left(offsets, start)
            count = bisect_left(offsets, end) - first
            if not count:  # All its mentions are in a gap after the section.
                continue
            in_section[start].append(_Mentions(entity, count, enters=first == 0))
    return {start: _names_of(mentions) for start, mentions in in_section.items()}


def _names_of(section: Sequence[_Mentions]) -> SectionNames:
    """The names mentioned most in a section: a few of each kind."""
    by_count = sorted(section, key=lambda mentions: -mentions.count)

    def names(kind: Kind, *, enters: bool, most: int) -> tuple[str, ...]:
        chosen = [
            mentions.entity.name
            for mentions in by_count
            if mentions.entity.kind is kind and mentions.enters is enters
        ]
        return tuple(chosen[:most])

    return SectionNames(
        people=names(Kind.PERSON, enters=True, most=_MOST_PEOPLE),
        places=names(Kind.PLACE, enters=True, most=_MOST_PLACES),
        known=names(Kind.PERSON, enters=False, most=_MOST_KNOWN),
    )
