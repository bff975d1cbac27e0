"""Suggests three questions about the names near a place of the book, without a model."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from gistread.memory.model import GistMemory
from gistread.memory.spoilers import has_plot
from gistread.people.index import corrected
from gistread.people.joining import Entity, Kind, join_names
from gistread.people.mentions import find_names, supports_names
from gistread.store.model import NameCorrection

_REACH = 12_000  # Characters in front of the bound whose names are known
_NEAR = 6_000  # Characters whose names are asked about
_GISTS = 3  # Gists of the last pages, whose names count more: they say who matters
_GIST_WEIGHT = 2
_LEAST = 2  # Times a name must occur
_PERSON_WORDS = 3


def suggestions(
    memory: GistMemory, corrections: Sequence[NameCorrection] = (), *, plot: bool | None = None
) -> tuple[str, ...]:
    """Three questions for the end of this memory's book, cut by `GistMemory.upto`; none unless it is English.

    `plot`: whether the whole book `has_plot`; None: judge by this part of it.
    """
    book = memory.book
    if not book.text.strip() or not supports_names(book):
        return ()
    gists = "\n".join(entry.gist.text for entry in memory.entries[-_GISTS:])
    end = len(book.text)
    named = corrected(join_names(find_names(book, max(0, end - _REACH))), corrections)
    counts = {entity: _mentions(entity, end, gists) for entity in named}
    near = sorted((entity for entity in counts if counts[entity] >= _LEAST), key=lambda entity: -counts[entity])
    return tuple(_questions(near, plot=has_plot(book) if plot is None else plot))[:3]


def _mentions(entity: Entity, end: int, gists: str) -> int:
    """Weighted number of mentions near the end and in the gists."""
    mentions = sum(len(form.starts) - bisect_left(form.starts, end - _NEAR) for form in entity.forms)
    return mentions + _GIST_WEIGHT * sum(gists.count(form.text) for form in entity.forms if mentions)


def _questions(near: list[Entity], *, plot: bool) -> Iterator[str]:
    people = [entity for entity in near if entity.kind is not Kind.PLACE]
    places = [entity for entity in near if entity.kind is Kind.PLACE]
    if not plot:
        yield from (f"What does {one.name} mean here?" for one in people[:1])
        yield "What is this part about?"
        yield "What are the main points so far?"
        yield "What follows from them?"
        return
    # A longer name is that of an office or a company.
    persons = [one for one in people if one.kind is Kind.PERSON and len(one.name.split()) <= _PERSON_WORDS]
    yield from (
        f"Who is {one.name}?" if one in persons else f"What do we learn about {one.name}?" for one in people[:1]
    )
    if len(persons) > 1:
        yield f"What do {persons[0].name} and {persons[1].name} have to do with each other?"
    yield "What has happened so far?"
    yield from (f"What happens in {one.name}?" for one in places[:1])
    yield "Who are the people in this story?"
    yield "Where does this take place?"
