"""Indexes a book's names up to an offset: who is mentioned, where, and with whom."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from gistread.book.model import Book
from gistread.people.joining import Entity, join_names, make_entity, sort_by_count
from gistread.people.kinds import Kind
from gistread.people.mentions import Form, find_names, has_between, plain, word_tables
from gistread.search.tokens import folded
from gistread.store.model import NameCorrection

_NEAR = 250  # Characters between mentions of people who appear together
_MOST_TOGETHER = 5
_PARTS = 40  # Of the strip of a book without chapters
_CACHED_INDEXES = 2


@dataclass(frozen=True, slots=True)
class Card:
    """Facts about one entity, up to the end of the view."""

    entity: Entity
    last: int  # Offset of the last mention
    chapters: tuple[int, ...]  # Mentions in each chapter up to the end of the view
    strip: tuple[int, ...]  # See `Index.strip`
    together: tuple[tuple[Entity, int], ...]  # People mentioned nearby, and how often


@dataclass(frozen=True)
class Index:
    """The names in a book or in its known part.

    >>> [entity.name for entity in index.upto(3_000).entities[:2]]
    ['Nora Vell', 'Amos']
    """

    book: Book
    forms: tuple[Form, ...]
    corrections: Sequence[NameCorrection] = ()

    @classmethod
    def from_book(cls, book: Book) -> "Index":
        """Search the whole book: about 2 s for War and Peace."""
        return cls(book, tuple(find_names(book)))

    def upto(self, end: int, corrections: Sequence[NameCorrection] = ()) -> "Index":
        """The index of the text before an offset. Mentions, joins and counts come from it alone.

        Which of its words are names is decided by the whole book.
        """
        cut = (form.upto(end) for form in self.forms)
        mentioned = tuple(form for form in cut if form.starts)
        return Index(self.book.upto(end), mentioned, corrections)

    @cached_property
    def entities(self) -> list[Entity]:
        """All people and places, the commonest first."""
        return corrected(join_names(self.forms), self.corrections)

    def find(self, name: str, *, exactly: bool = False) -> list[Entity]:
        """Entities with this name, the commonest first.

        If none has it, those with all its words in one form, unless `exactly`.
        """
        words = _words(name)
        with_name: list[Entity] = []
        with_words: list[Entity] = []
        for entity in self.entities:
            forms = [_words(form) for form in (entity.name, *entity.others)]
            if words in forms:
                with_name.append(entity)
            elif any(set(words) <= set(form) for form in forms):
                with_words.append(entity)
        if with_name or exactly:
            return with_name
        return with_words

    def named_at(self, text: str, offset: int) -> Entity | None:
        """The entity with the longest name at this offset of a text.

        The text need not be the book's.
        """
        longest = 0
        named: Entity | None = None
        for entity in self.entities:
            for form in entity.forms:
                length = len(form.text)
                if length > longest and _stands_at(form.text, text, offset):
                    longest = length
                    named = entity
        return named

    def card(self, entity: Entity) -> Card:
        starts = entity.starts()
        chapters = [(chapter.start, chapter.end) for chapter in self.book.chapters]
        return Card(
            entity,
            last=starts[-1],
            chapters=_counts(starts, chapters),
            strip=self.strip(entity),
            together=self._together(entity, starts),
        )

    @cached_property
    def strips(self) -> list[tuple[int, ...]]:
        """The strip of each entity. About 0.2 s for a thousand names in hundreds of chapters."""
        return list(map(self.strip, self.entities))

    def strip(self, entity: Entity) -> tuple[int, ...]:
        """Mentions in each chapter; without chapters, in equal parts of the text."""
        parts = [(chapter.start, chapter.end) for chapter in self.book.chapters]
        if len(parts) < 2:
            end = len(self.book.text)
            bounds = [end * part // _PARTS for part in range(_PARTS + 1)]
            parts = list(pairwise(bounds))
        return _counts(entity.starts(), parts)

    def _together(
        self, entity: Entity, starts: list[int]
    ) -> tuple[tuple[Entity, int], ...]:
        """The people most often mentioned near an entity, and how often."""
        near: Counter[Entity] = Counter()
        for other in self.entities:
            if other is entity or other.kind is not Kind.PERSON:
                continue
            # Mentions of the rarer one are counted, each by a search in the longer list.
            fewer, more = sorted((starts, other.starts()), key=len)
            count = sum(
                has_between(more, start - _NEAR, start + _NEAR) for start in fewer
            )
            if count:
                near[other] = count
        return tuple(near.most_common(_MOST_TOGETHER))


def _counts(starts: Sequence[int], parts: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """How many of these ascending offsets are in each part."""
    return tuple(
        bisect_left(starts, end) - bisect_left(starts, start) for start, end in parts
    )


def corrected(
    entities: Iterable[Entity], corrections: Sequence[NameCorrection]
) -> list[Entity]:
    """Apply the user's corrections in order; ignores those of unknown names.

    The commonest entity comes first.
    """
    shown = list(entities)
    for correction in corrections:
        entity = _find_by_forms(shown, correction.forms)
        if entity is None:
            continue
        if correction.verb == "hide":
            shown.remove(entity)
            continue
        other = find_by_form(shown, correction.other)
        if other is not None and other is not entity:
            shown.remove(entity)
            shown.remove(other)
            shown.append(_merged(entity, other))
    return sort_by_count(shown)


def _find_by_forms(entities: Sequence[Entity], forms: Iterable[str]) -> Entity | None:
    """The entity that has the first of these forms that is known."""
    for form in forms:
        entity = find_by_form(entities, form)
        if entity is not None:
            return entity
    return None


def _merged(entity: Entity, other: Entity) -> Entity:
    """Both as one, by the name of the commoner one."""
    commoner = other if other.count > entity.count else entity
    both = make_entity((*entity.forms, *other.forms), commoner.kind)
    return replace(both, name=commoner.name)


def describe_correction(correction: NameCorrection) -> str:
    """The correction in one line."""
    if correction.verb == "merge":
        return f"{correction.forms[0]} and {correction.other} are one."
    return f"{correction.forms[0]} is not shown."


def find_by_form(entities: Iterable[Entity], form: str) -> Entity | None:
    """The entity that has this form of a name."""
    for entity in entities:
        if any(own.text == form for own in entity.forms):
            return entity
    return None


# Of the last books or views, by text and length
_indexes: dict[tuple[str, int], Index] = {}


def index_of(book: Book) -> Index:
    """The index of a book or of a view; those of the last two are cached.

    The index of an earlier view of the same book is dropped: it holds a copy of the text.
    """
    key = (book.sha256, len(book.text))
    # Taken out, so that it becomes the newest entry of the dict below
    index = _indexes.pop(key, None) or Index.from_book(book)
    for other_key, other in list(_indexes.items()):
        is_earlier_view = book.text.startswith(other.book.text)
        if is_earlier_view:
            _indexes.pop(other_key, None)
    _indexes[key] = index
    oldest_first = list(_indexes)
    for old_key in oldest_first[:-_CACHED_INDEXES]:
        _indexes.pop(old_key, None)
    return index


def _words(name: str) -> list[str]:
    """The words of a name for comparison, without accents and "the", titles abbreviated."""
    abbreviated = word_tables()["abbreviated"]
    words = [folded(plain(word)) for word in name.split()]
    return [abbreviated.get(word, word) for word in words if word != "the"]


def _stands_at(name: str, text: str, offset: int) -> bool:
    """Whether the name, as whole words, covers this offset."""
    first_start = max(0, offset - len(name) + 1)
    last_end = offset + len(name)
    start = text.find(name, first_start, last_end)
    if start < 0:
        return False
    end = start + len(name)
    begins_in_word = text[start - 1 : start].isalnum()
    ends_in_word = text[end : end + 1].isalnum()
    return not begins_in_word and not ends_in_word
