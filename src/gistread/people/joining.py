"""Joins the names of one person: "Mr. Darcy", "Fitzwilliam Darcy", "Darcy".

A shared family name alone joins nobody: a bare "Bennet" is neither the husband nor a daughter. The
result depends only on the mentions given: those of a view end at its offset, though the whole book
decides which words are names.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from heapq import merge
from itertools import pairwise
from typing import NamedTuple

from gistread.people.mentions import (
    PARTICLES,
    Form,
    MentionContext,
    has_between,
    plain,
    titles,
    word_set,
    word_tables,
)

_BETWEEN_NAMES = PARTICLES | {"of"}
_LEAST = 2  # Minimum of mentions, except for names with a title
_LEAST_PRONOUNS = 4
_FEW_MENTIONS = 4
_SELDOM_ACTS = 0.25  # Share of mentions of a town up to which it may act ("Tidney was under water")
_AT_PLACES = 0.1  # Share of mentions after "in" or "at" that shows a place which seldom acts
_SURELY_AT_PLACES = 0.15  # The same of one that acts, but less often than it follows "in" or "at"
_LEAST_ACTS = 2  # Times that a name with "the" speaks or acts before it is a person
_MORE_FREQUENT = 3  # A name belongs to the person mentioned this many times as often as any other
_SURE = 0.65  # Share of "he" or "she" among the pronouns after a name that decides the sex
_SIDE_BY_SIDE = 45  # Characters between mentions of two people in one sentence
_TOGETHER = 0.04  # Share of mentions side by side that shows two people
# Bearers of these titles are not called by the first name alone.
_FORMAL = frozenset({"lady", "lord", "sir", "dame", "king", "queen", "saint", "st"})


class Kind(StrEnum):
    PERSON = "person"
    PLACE = "place"
    OTHER = "other"


@dataclass(frozen=True, slots=True, eq=False)
class Entity:
    """A person, a place, or something else with a name."""

    name: str  # Its fullest form
    kind: Kind
    forms: tuple[Form, ...]  # The commonest first

    @property
    def count(self) -> int:
        return sum(len(form.starts) for form in self.forms)

    @property
    def others(self) -> tuple[str, ...]:
        """Other forms of the name, the commonest first."""
        return tuple(
            form.text for form in self.forms if form.text != self.name.removeprefix("the ")
        )

    @property
    def first(self) -> int:
        """Offset of the first mention."""
        return min(form.starts[0] for form in self.forms)

    def starts(self) -> list[int]:
        """Offsets of all mentions, ascending."""
        return list(merge(*(form.starts for form in self.forms)))

    def is_in(self, offsets: range) -> bool:
        """Whether it is mentioned within these offsets of the book."""
        starts = self.starts()
        following = bisect_left(starts, offsets.start)
        return following < len(starts) and starts[following] < offsets.stop


class _Group:
    """Forms of one name; once joined, of one person."""

    def __init__(self, title_kind: str, words: tuple[str, ...]) -> None:
        self.title_kind = title_kind  # man, wife, woman, anyone; "" without a title
        self.words = words  # Words of the name without titles and particles
        self.titles: set[str] = set()
        self.forms: list[Form] = []
        self.contexts: Counter[int] = Counter()

    def add(self, forms: Iterable[Form], heads: Iterable[str]) -> None:
        for form in forms:
            self.forms.append(form)
            self.contexts.update(form.contexts)
        self.titles.update(heads)

    def absorb(self, other: "_Group") -> None:
        self.add(other.forms, other.titles)
        self.title_kind = self.title_kind or other.title_kind

    @property
    def count(self) -> int:
        return self.contexts.total()

    @property
    def precedes_first_names(self) -> bool:
        """Whether its title is also used with first names, as in "Prince Andrew"."""
        return bool(self.titles & word_set("first", "names"))

    @property
    def is_wife(self) -> bool:
        """Whether its title is a wife's, such as "Mrs."."""
        return self.title_kind == "wife"

    @property
    def is_full(self) -> bool:
        return len(self.words) > 1

    @property
    def is_described(self) -> bool:
        """Whether it usually has an article, as "the Carriage"."""
        return 2 * self.count_of(MentionContext.ARTICLE) > self.count

    def starts(self) -> list[int]:
        return list(merge(*(form.starts for form in self.forms)))

    def count_of(self, context: MentionContext) -> int:
        mask = context.value  # An IntFlag takes ten times as long
        return sum(count for contexts, count in self.contexts.items() if contexts & mask)

    @property
    def sex(self) -> str:
        """man or woman, by the title, the first name or the pronouns; "" if unknown."""
        if self.title_kind in ("man", "woman", "wife"):
            return "man" if self.title_kind == "man" else "woman"
        if self.is_full or self.precedes_first_names or not self.title_kind:
            known = first_names()[0].get(self.words[0])
            if known:
                return known
        he, she = self.count_of(MentionContext.HE), self.count_of(MentionContext.SHE)
        if he + she < _LEAST_PRONOUNS:
            return ""
        if he >= _SURE * (he + she):
            return "man"
        return "woman" if she >= _SURE * (he + she) else ""

    def may_match(self, other: "_Group") -> bool:
        return not self.sex or not other.sex or self.sex == other.sex


def join_names(forms: Iterable[Form]) -> list[Entity]:
    """Join these names into people, places and other entities, the commonest first."""
    groups = _grouped(form for form in forms if form.starts)
    titled = {group.words[-1] for group in groups if group.title_kind}
    places: list[_Group] = []
    people: list[_Group] = []
    for group in groups:
        if group.words[-1] not in titled and _kind(group) is Kind.PLACE:
            places.append(group)
        else:
            people.append(group)
    persons = _joined(people)
    entities = [make_entity(group.forms, _kind(group)) for group in persons]
    entities += [make_entity(group.forms, Kind.PLACE) for group in places]
    return sort_by_count(entity for entity in entities if _is_mentioned(entity))


def _joined(people: list[_Group]) -> list[_Group]:
    """The persons that these names are of: full names first, then titled ones, then bare ones."""
    known = _PersonIndex(_merged([group for group in people if group.is_full]), people)
    single = [group for group in people if not group.is_full]
    for group in sorted(single, key=lambda group: (not group.title_kind, -group.count)):
        owner = known.find_titled(group) if group.title_kind else known.find_bare(group)
        if owner:
            owner.absorb(group)
        else:
            known.add(group)
    return known.persons


def _is_mentioned(entity: Entity) -> bool:
    """Whether it is mentioned more than once, or has a title."""
    return entity.count >= _LEAST or plain(entity.name.split()[0]) in titles()


def sort_by_count(entities: Iterable[Entity]) -> list[Entity]:
    """The commonest first."""
    return sorted(entities, key=lambda entity: (-entity.count, entity.first))


class _PersonIndex:
    """The people found so far, by the words of their names."""

    def __init__(self, persons: Iterable[_Group], groups: Iterable[_Group]) -> None:
        """`groups`: all names of the book before joining."""
        self.persons: list[_Group] = []
        self._bare = {
            group.words[0]: group for group in groups if not group.is_full and not group.title_kind
        }
        self._by_first: dict[str, list[_Group]] = {}
        self._by_last: dict[str, list[_Group]] = {}
        for group in persons:
            self.add(group)

    def add(self, group: _Group) -> None:
        self.persons.append(group)
        self._by_first.setdefault(group.words[0], []).append(group)
        self._by_last.setdefault(group.words[-1], []).append(group)

    def find_titled(self, group: _Group) -> _Group | None:
        """The person with this title and one name: "Mr. Darcy", "Prince Andrew"."""
        (name,) = group.words
        if group.precedes_first_names:
            called = [
                person
                for person in self._by_first.get(name, [])
                if person.is_full and person.may_match(group)
            ]
            owner = _commonest(called)
            if owner:
                return owner
        same = [
            person
            for person in self._by_last.get(name, [])
            if person.may_match(group) and person.is_wife == group.is_wife
        ]
        owner = _commonest(same)
        return None if owner and self._are_two(group, owner) else owner

    def _are_two(self, titled: _Group, full: _Group) -> bool:
        """Whether a title and name are another person's: both are often mentioned side by side.

        "Mr. Emerson" and "George Emerson" are two people.
        """
        starts = titled.starts()
        called = self._bare.get(full.words[0])
        others = [*full.starts(), *(called.starts() if called else ())]
        together = sum(has_between(starts, at - _SIDE_BY_SIDE, at + _SIDE_BY_SIDE) for at in others)
        return together >= max(_LEAST, _TOGETHER * min(len(starts), len(others)))

    def find_bare(self, group: _Group) -> _Group | None:
        """The person with this first or family name.

        A bare family name is a man's, if a man has it.
        """
        (name,) = group.words
        called = [
            person
            for form in _forms_of(name)
            for person in self._by_first.get(form, [])
            if person.may_match(group)
        ]
        full = [
            person
            for person in called
            if person.is_full and not person.titles & _FORMAL and not _is_gone(group, person)
        ]
        if full:
            return _commonest(full)
        family = [person for person in self._by_last.get(name, []) if not person.is_wife]
        man = _commonest([person for person in family if person.sex == "man"])
        return man or _commonest([person for person in family if person.may_match(group)])


def _grouped(forms: Iterable[Form]) -> list[_Group]:
    """The forms by the words of the name and the kind of its title."""
    groups: dict[tuple[str, tuple[str, ...]], _Group] = {}
    for form in forms:
        written = [plain(word) for word in form.text.split()]
        heads = _count_titles(written)
        own = tuple(word for word in written[heads:] if word not in _BETWEEN_NAMES)
        own = own or (written[-1],)
        if own[0] in titles() and not _follows_article(form):
            continue  # "Uncle" is not the name of one person.
        kind = titles()[written[heads - 1]] if heads else ""
        key = ("" if kind == "anyone" and len(own) > 1 else kind, own)
        group = groups.setdefault(key, _Group(kind, own))
        group.title_kind = group.title_kind or kind
        group.add([form], written[:heads])
    return list(groups.values())


def _count_titles(words: list[str]) -> int:
    """How many titles a name begins with; not those of "Duke of Wellington"."""
    for at, (word, following) in enumerate(pairwise(words)):
        if word not in titles() or following == "of":
            return at
    return len(words) - 1


def _follows_article(form: Form) -> bool:
    return any(contexts & MentionContext.ARTICLE for contexts in form.contexts)


@cache
def first_names() -> tuple[dict[str, str], dict[str, frozenset[str]]]:
    """The sex of each known first name, and the full names of each short form."""
    sexes: dict[str, str] = {}
    short: dict[str, set[str]] = {}
    for sex, table in (("man", "men"), ("woman", "women")):
        for entry in word_tables()[table]["names"].split():
            name, *forms = re.split("[=,]", entry)
            for each in forms:
                short.setdefault(each, set()).add(name)
            for each in (name, *forms):
                sexes[each] = "" if sexes.get(each, sex) != sex else sex
    return sexes, {form: frozenset(names) for form, names in short.items()}


def _merged(full: list[_Group]) -> list[_Group]:
    """Join full names with the same last name and the same first name, short form or initial."""
    families: dict[str, list[_Group]] = {}
    for group in sorted(full, key=lambda group: -group.count):
        family = families.setdefault(group.words[-1], [])
        same = next((person for person in family if _are_same(person, group)), None)
        if same:
            same.absorb(group)
        else:
            family.append(group)
    return [group for family in families.values() for group in family]


def _are_same(group: _Group, other: _Group) -> bool:
    """Whether two full names with the same last name may be one person's."""
    if not group.may_match(other) or group.is_wife != other.is_wife:
        return False
    shorter, longer = sorted((group.words, other.words), key=len)
    if longer[-len(shorter) :] == shorter:
        return True
    first, second = group.words[0], other.words[0]
    is_initial = min(len(first), len(second)) == 1 and first[0] == second[0]
    return is_initial or second in _forms_of(first)


@cache
def _forms_of(name: str) -> frozenset[str]:
    """A first name with its full forms and short forms."""
    short = first_names()[1]
    return frozenset(
        (name, *short.get(name, ()), *(form for form, names in short.items() if name in names))
    )


def _is_gone(group: _Group, person: _Group) -> bool:
    """Whether a short form, as "Tom", was last seen before "Thomas Marvel" first appears.

    A few mentions of it are those of another Tom.
    """
    is_short_form = group.words[0] != person.words[0]
    is_rare = group.count < _FEW_MENTIONS
    return is_short_form and is_rare and group.starts()[-1] < person.starts()[0]


def _commonest(groups: Iterable[_Group]) -> _Group | None:
    """The group mentioned much more often than any other."""
    by_count = sorted(groups, key=lambda group: -group.count)
    if not by_count:
        return None
    first, *others = by_count
    return first if all(first.count >= _MORE_FREQUENT * other.count for other in others) else None


def _is_place_name(group: _Group) -> bool:
    is_street = group.words[-1] in word_set("places") and group.words[0] not in first_names()[0]
    is_known = not group.is_full and group.words[0] in word_set("places", "known")
    return is_known or (
        group.is_full and (is_street or group.words[0] in word_set("places", "before"))
    )


def _kind(group: _Group) -> Kind:
    if group.title_kind:
        return Kind.PERSON
    if _is_place_name(group):
        return Kind.PLACE
    if (group.is_described or group.is_full) and group.words[-1] in word_set("bodies"):
        return Kind.OTHER
    if _is_mentioned_as_place(group):
        return Kind.PLACE
    least_acts = _LEAST_ACTS if group.is_described else 1
    acts = group.count_of(MentionContext.PERSON)
    return Kind.PERSON if acts >= least_acts else Kind.OTHER


def _is_mentioned_as_place(group: _Group) -> bool:
    """Whether it often follows "in" or "at", and seldom acts."""
    acts = group.count_of(MentionContext.PERSON)
    places = group.count_of(MentionContext.PLACE)
    if places > acts and places >= _SURELY_AT_PLACES * group.count:
        return True
    is_first_name = group.words[0] in first_names()[0]
    seldom_acts = acts <= _SELDOM_ACTS * group.count
    return seldom_acts and not is_first_name and places >= max(_LEAST, _AT_PLACES * group.count)


def make_entity(forms: Iterable[Form], kind: Kind) -> Entity:
    """The person or thing with these names."""
    forms = tuple(sorted(forms, key=lambda form: (-len(form.starts), form.starts[0])))
    frequent = [form for form in forms if len(form.starts) >= _LEAST] or forms
    name = max(frequent, key=_fullness)
    with_article = MentionContext.ARTICLE.value
    articles = sum(1 for contexts in forms[0].contexts if contexts & with_article)
    has_article = articles > len(forms[0].starts) / 2
    return Entity(f"the {name.text}" if has_article else name.text, kind, forms)


class _Fullness(NamedTuple):
    """How fully a form names somebody; forms are compared by it."""

    own_words: int  # At most two: first name and family name
    is_full_without_title: bool
    mentions: int


def _fullness(form: Form) -> _Fullness:
    words = [plain(word) for word in form.text.split()]
    own = [word for word in words if word not in titles()]
    is_full_without_title = len(own) == len(words) > 1
    return _Fullness(min(2, len(own)), is_full_without_title, len(form.starts))
