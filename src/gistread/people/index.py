"""The index of a book's names: who there is up to a place, where each is mentioned, and with whom."""

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from gistread.book.model import Book
from gistread.people.joining import Entity, Kind, join
from gistread.people.mentions import Form, find_names, plain

_NEAR = 250  # Characters between mentions of people who appear together
_MOST_TOGETHER = 5


@dataclass(frozen=True, slots=True)
class Card:
    """What the index says of one entity, up to the end of the view."""

    entity: Entity
    first: int  # Offset of the first mention
    last: int
    chapters: tuple[int, ...]  # Mentions in each chapter up to the end of the view
    together: tuple[tuple[Entity, int], ...]  # Who is mentioned near, and how often


@dataclass(frozen=True)
class Index:
    """The names in `book.text[:end]`."""

    book: Book
    end: int
    forms: tuple[Form, ...]

    @classmethod
    def of(cls, book: Book) -> "Index":
        """Search the whole book: about 2 s for War and Peace."""
        return cls(book, len(book.text), tuple(find_names(book)))

    def upto(self, end: int) -> "Index":
        """The index without everything after an offset: names, joins and counts come from the text before it."""
        forms = tuple(cut for form in self.forms if (cut := form.upto(end)).starts)
        return Index(self.book, min(end, self.end), forms)

    @cached_property
    def entities(self) -> list[Entity]:
        """The commonest first."""
        return join(self.forms)

    def find(self, name: str) -> list[Entity]:
        """Entities with this name, or with all its words in one form; the commonest first."""
        wanted = [plain(word) for word in name.split() if plain(word) != "the"]
        named = [(one, [[plain(word) for word in form.text.split()] for form in one.forms]) for one in self.entities]
        exact = [one for one, forms in named if wanted in forms]
        return exact or [one for one, forms in named if any(set(wanted) <= set(form) for form in forms)]

    def card(self, entity: Entity) -> Card:
        starts = entity.starts()
        chapters = [
            bisect_left(starts, chapter.end) - bisect_left(starts, chapter.start)
            for chapter in self.book.chapters
            if chapter.start < self.end
        ]
        return Card(entity, starts[0], starts[-1], tuple(chapters), self._together(entity, starts))

    def _together(self, entity: Entity, starts: list[int]) -> tuple[tuple[Entity, int], ...]:
        near: Counter[int] = Counter()
        for number, other in enumerate(self.entities):
            if other is entity or other.kind is not Kind.PERSON:
                continue
            places = other.starts()
            for at in starts if len(starts) <= len(places) else places:
                beside = places if len(starts) <= len(places) else starts
                after = bisect_left(beside, at - _NEAR)
                near[number] += after < len(beside) and beside[after] <= at + _NEAR
        return tuple((self.entities[number], count) for number, count in near.most_common(_MOST_TOGETHER) if count)
