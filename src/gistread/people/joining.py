"""Joins the names of one person: "Mr. Darcy", "Fitzwilliam Darcy", "Darcy".

A shared family name alone joins nobody: a bare "Bennet" is neither the husband nor a daughter. The
result depends only on the given mentions, which may end at an offset. Which words are names is
decided by the whole book.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache
from heapq import merge
from typing import NamedTuple

from gistread.people.contexts import MentionContext
from gistread.people.groups import RANKS, Group, group_forms, parse_name
from gistread.people.kinds import Kind, is_body
from gistread.people.mentions import (
    Form,
    first_names,
    has_between,
    plain,
    short_forms,
    titles,
    word_set,
)

_LEAST = 2  # Least mentions of an entity, except for names with a title
_LEAST_TITLED = 5  # "Mr. X" and "Dr. X" are two people if both are mentioned so often
_FEW_MENTIONS = 4
# A name belongs to the person who is mentioned this many times as often as any other.
_MORE_FREQUENT = 3

# Two names are two people's if many of their mentions are side by side, in one sentence.
_SIDE_BY_SIDE = 45  # Most characters between such mentions
_TOGETHER = 0.022  # Least share of such mentions
_LEAST_TOGETHER = 2  # Least number of such mentions
# The same if the rarer of the two is mentioned less often than the next
_LEAST_OF_FEW = 3
_FEW_FOR_TWO = 20

# Two names are one person's if most of their mentions are in the same scenes.
_NEAR = 1_500  # Most characters between mentions in one scene
_NEARBY = 0.6  # Least share of mentions in the same scenes

# "The Colonel" is Colonel Pyncheon if the latter is mentioned so often, …
_OFTEN_NAMED = 10
# … or in this share of the mentions of "the Colonel", but at least so often.
_NAMED = 0.1
_FEW_NAMED = 3
_GENERIC = 0.015  # With a smaller share, a title alone is nobody's
# A name is of people, not of a place, if this share of its mentions has a title.
_TITLED = 0.1
# Single names may be two people's if each is mentioned so many times as often as both together.
_SELDOM_FULL = 20
# People with these titles are not called by the first name alone.
_ROYAL = frozenset({"king", "queen", "saint", "st"})
# These are only in the same scenes.
_NOBLE = frozenset({"lady", "lord", "sir", "dame"})


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
        fullest = self.name.removeprefix("the ")
        return tuple(form.text for form in self.forms if form.text != fullest)

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


def join_names(forms: Iterable[Form]) -> list[Entity]:
    """Join these names into people, places and other entities, the commonest first."""
    groups = group_forms(form for form in forms if form.starts)
    families: set[str] = set()
    titled: Counter[str] = Counter()  # Mentions with a title, by the last word
    for group in groups:
        last_word = group.words[-1]
        if group.title_kind:
            titled[last_word] += group.count
        if group.title_kind or group.is_full:
            families.add(last_word)
    places: list[Group] = []
    people: list[Group] = []
    for group in groups:
        is_titled = titled[group.words[-1]] >= max(1, _TITLED * group.count)
        if not is_titled and group.kind(families) is Kind.PLACE:
            places.append(group)
        else:
            people.append(group)
    entities = [
        make_entity(person.forms, person.kind(families)) for person in _persons(people)
    ]
    entities += [
        make_entity(place.forms, Kind.PLACE) for place in _joined_places(places)
    ]
    return sort_by_count(entity for entity in entities if _is_shown(entity))


def _is_shown(entity: Entity) -> bool:
    """Whether an entity is mentioned often enough, or has a title."""
    first_word, *_ = entity.name.split()
    return entity.count >= _LEAST or plain(first_word) in titles()


def _persons(groups: list[Group]) -> list[Group]:
    """Join these names of people: first full names, then each single name with its owner."""
    bodies: list[Group] = []
    full: list[Group] = []
    single: list[Group] = []
    for group in groups:
        if not group.is_full:
            single.append(group)
        elif is_body(group.words):
            bodies.append(group)  # "The Reform Club" is not joined with "Mr. Club".
        else:
            full.append(group)
    known = _PersonIndex(_merged(full), single)
    for group in sorted(single, key=_joining_order):
        if group.title_kind:
            owner = known.find_titled(group)
        else:
            owner = known.find_bare(group)
        if owner:
            owner.absorb(group)
        else:
            known.add(group)
    return known.persons + bodies


def _joining_order(group: Group) -> tuple[int, int]:
    """Names with a title first, then "Mary-Anne" before "Mary"; among them the commonest first."""
    if group.title_kind:
        rank = 0
    elif "-" in group.words[0]:
        rank = 1
    else:
        rank = 2
    return rank, -group.count


def _joined_places(groups: list[Group]) -> list[Group]:
    """Join "Thornfield" and "the Hall" with "Thornfield Hall", if that is the only one."""
    places = [group for group in groups if group.is_full]
    joined = list(places)
    for group in groups:
        if group.is_full:
            continue
        owner = _commonest(_estates_called(group, places))
        if owner:
            owner.absorb(group)
        else:
            joined.append(group)
    return joined


def _estates_called(group: Group, places: Iterable[Group]) -> list[Group]:
    """The places that may be called by a single word: "the Hall", or "Thornfield"."""
    estates = word_set("places", "estates")
    (word,) = group.words
    if word in estates:
        return [place for place in places if word in (place.words[0], place.words[-1])]
    called: list[Group] = []
    for place in places:
        *own_words, last = place.words
        is_estate = last in estates and tuple(own_words) == group.words
        # A much commoner name is another's, such as a person's.
        if is_estate and group.count <= _MORE_FREQUENT * place.count:
            called.append(place)
    return called


def sort_by_count(entities: Iterable[Entity]) -> list[Entity]:
    """The commonest first."""
    return sorted(entities, key=lambda entity: (-entity.count, entity.first))


class _PersonIndex:
    """The people found so far, by the words of their names."""

    def __init__(self, persons: Iterable[Group], single: Iterable[Group]) -> None:
        """`single`: all names of the book that are one word, with or without a title."""
        self.persons: list[Group] = []
        self._bare = {group.words[0]: group for group in single if not group.title_kind}
        self._by_first: dict[str, list[Group]] = {}
        self._by_last: dict[str, list[Group]] = {}
        for group in persons:
            self.add(group)

    def add(self, group: Group) -> None:
        """Add a person by first and last name."""
        self.persons.append(group)
        first, last = group.words[0], group.words[-1]
        self._by_first.setdefault(first, []).append(group)
        self._by_last.setdefault(last, []).append(group)
        first_part, hyphen, _ = first.partition("-")
        # Elizabeth-Jane may be called Elizabeth, but not Babbitt-Thompson Babbitt.
        if hyphen and first_part in first_names():
            self._by_first.setdefault(first_part, []).append(group)

    def find_titled(self, group: Group) -> Group | None:
        """The person with this title and one name: "Mr. Darcy", "Prince Andrew"."""
        (name,) = group.words
        if group.precedes_first_names:
            owner = _commonest(
                person
                for person in self._by_first.get(name, ())
                if person.is_full and self._may_match(person, group)
            )
            if owner:
                return owner
        owner = _commonest(
            person
            for person in self._by_last.get(name, ())
            if person.is_wife == group.is_wife and self._may_match(person, group)
        )
        if owner is None or _titles_differ(group, owner) or self._are_two(group, owner):
            return None
        bare = self._bare.get(name)
        if bare and self._has_other_surname(bare, owner):
            return None
        return owner

    def _are_two(self, titled: Group, full: Group) -> bool:
        """Whether "Mr. Emerson" and "George Emerson" are two people.

        They are if they are often mentioned together, or if "George" alone shows it.
        """
        called = self._bare.get(full.words[0])  # "George"
        if called is None:
            return _side_by_side(titled.forms, full.forms)
        if called.count >= _OFTEN_NAMED and _is_told_apart(titled, full):
            return True
        if _is_daughter(called, full, titled):
            return True
        return _side_by_side(titled.forms, [*full.forms, *called.forms])

    def _has_other_surname(self, bare: Group, full: Group) -> bool:
        """Whether "Heathcliff" and "Linton Heathcliff" are two people.

        They are if the full name is rare, and "Linton" and "Heathcliff" are often mentioned
        together.
        """
        called = self._bare.get(full.words[0])  # "Linton"
        if not full.is_full or called is None:
            return False
        named_fully = _count(_forms_with_full_name(full))
        is_rare = _SELDOM_FULL * named_fully <= min(bare.count, called.count)
        return is_rare and _side_by_side(bare.forms, called.forms)

    def _may_match(self, person: Group, group: Group) -> bool:
        """Whether their sexes may be the same.

        That of "Sonia Marmeladov" may be known from "Sonia" alone.
        """
        called = self._bare.get(person.words[0])
        if called and person.is_full and not person.sex:
            return called.may_match(group)
        return person.may_match(group)

    def find_bare(self, group: Group) -> Group | None:
        """The person with this first or family name.

        A bare family name is a man's, if a man has it.
        """
        (name,) = group.words
        if name in titles():
            return self._find_by_title(name, group)
        called = self._called(name, group)
        if called:
            return _commonest(called)
        relatives = [
            person
            for person in self._by_last.get(name, ())
            if not person.is_wife and not self._has_other_surname(group, person)
        ]
        man = _commonest(person for person in relatives if person.sex == "man")
        if man:
            return man
        return _commonest(
            person for person in relatives if self._may_match(person, group)
        )

    def _called(self, name: str, group: Group) -> list[Group]:
        """The people who may be called by this first name, only the likeliest kind of them."""
        matching = [
            person
            for form in _forms_of(name)
            for person in self._by_first.get(form, ())
            if person.may_match(group)
        ]
        full = [person for person in matching if _may_be_called(person, group)]
        most = max((person.count for person in full), default=0)
        compound = _commonest(
            person for person in matching if _is_compound_of(person, group)
        )
        if compound and compound.count > most:
            return [compound]
        if full:
            # "Mattie" is rather Mattie Silver than Martha Pierce.
            exact = [person for person in full if person.words[0] == name]
            return exact or full
        return [person for person in matching if _is_noble_in_scene(person, group)]

    def _find_by_title(self, title: str, group: Group) -> Group | None:
        """The only person with this title, who is often named with it or in the same scenes."""
        owner = _commonest(
            person
            for person in self.persons
            if title in (*person.titles, person.words[0])
        )
        if owner is None:
            return None
        with_name = _count(form for form in owner.forms if _has_title(form, title))
        is_generic = with_name < _GENERIC * group.count  # "The King" of many tales
        in_proportion = max(_FEW_NAMED, _NAMED * group.count)
        is_often_named = with_name >= min(_OFTEN_NAMED, in_proportion)
        if (is_often_named and not is_generic) or _meet(group, owner):
            return owner
        return None


def _has_title(form: Form, title: str) -> bool:
    name = parse_name(form.text)
    return title in (*name.titles, name.words[0])


def _is_compound_of(person: Group, group: Group) -> bool:
    """Whether "Mary-Anne" may be called "Mary"."""
    return not person.is_full and person.words[0].startswith(f"{group.words[0]}-")


def _may_be_called(person: Group, group: Group) -> bool:
    """Whether somebody with a full name is called by the first name alone."""
    if not person.is_full or person.titles & _ROYAL or _is_earlier(group, person):
        return False
    is_noble = bool(person.titles & _NOBLE)
    return not is_noble or _meet(group, person)


def _is_noble_in_scene(person: Group, group: Group) -> bool:
    """Whether a noble person may be called by this name in the same scenes."""
    return bool(person.titles & _NOBLE) and _meet(group, person)


def _side_by_side(forms: Collection[Form], others: Collection[Form]) -> bool:
    """Whether two people are often mentioned in one sentence.

    A name in speech next to one that the narrator uses does not count: "Mr. Gray!" is said to
    Dorian.
    """
    together = 0
    for is_spoken in (False, True):
        starts = _starts_in(forms, is_spoken=is_spoken)
        for start in _starts_in(others, is_spoken=is_spoken):
            first, last = start - _SIDE_BY_SIDE, start + _SIDE_BY_SIDE
            together += has_between(starts, first, last)
    fewer = min(_count(forms), _count(others))
    least = _LEAST_TOGETHER if fewer >= _FEW_FOR_TWO else _LEAST_OF_FEW
    return together >= max(least, _TOGETHER * fewer)


def _starts_in(forms: Iterable[Form], *, is_spoken: bool) -> list[int]:
    """The offsets of these names in speech, or outside it; ascending."""
    flag = MentionContext.SPOKEN.value
    return sorted(
        start
        for form in forms
        for start, context in zip(form.starts, form.contexts, strict=True)
        if bool(context & flag) is is_spoken
    )


def _forms_with_full_name(group: Group) -> list[Form]:
    return [form for form in group.forms if parse_name(form.text).words == group.words]


def _count(forms: Iterable[Form]) -> int:
    """How often these names are mentioned."""
    return sum(len(form.starts) for form in forms)


def _meet(group: Group, person: Group) -> bool:
    """Whether most mentions of a name are in scenes of this person."""
    starts, others = group.starts(), person.starts()
    near = sum(has_between(others, start - _NEAR, start + _NEAR) for start in starts)
    return near >= _NEARBY * len(starts)


def _titles_differ(group: Group, person: Group) -> bool:
    """Whether a colonel and a judge, or a doctor and a mister, are two people.

    "Dr. X" and "Mr. X" are one person's unless both are mentioned often.
    """
    shared_titles = group.titles & person.titles
    if shared_titles or not person.titles:
        return False
    if group.titles & RANKS and person.titles & RANKS:
        return True
    only_group_is_doctor = "dr" in group.titles and "mr" in person.titles
    only_person_is_doctor = "mr" in group.titles and "dr" in person.titles
    if not only_group_is_doctor and not only_person_is_doctor:
        return False
    with_title = _count(form for form in person.forms if parse_name(form.text).titles)
    return min(group.count, with_title) >= _LEAST_TITLED


def _is_told_apart(group: Group, person: Group) -> bool:
    """Whether "Mr. Knightley" and "Mr. John Knightley" are two people.

    They are if "John Knightley" mostly has the title, and is much rarer than "Mr. Knightley".
    """
    if not person.is_full:
        return False
    full_forms = _forms_with_full_name(person)
    full_count = _count(full_forms)
    with_title = [
        form
        for form in full_forms
        if not group.titles.isdisjoint(parse_name(form.text).titles)
    ]
    mostly_has_title = _count(with_title) >= max(_OFTEN_NAMED, full_count / 2)
    return mostly_has_title and group.count >= _MORE_FREQUENT * full_count


def _is_daughter(called: Group, full: Group, titled: Group) -> bool:
    """Whether Ántonia Shimerda, who is called Tony, and Mr. Shimerda are two people.

    They are if the full name is rare, and the pronouns after "Tony" are of the other sex.
    """
    if not full.is_full:
        return False
    is_rare = _SELDOM_FULL * full.count <= min(called.count, titled.count)
    by_pronouns = called.sex_by_pronouns()
    return is_rare and bool(by_pronouns) and by_pronouns != titled.sex


def _merged(full: list[Group]) -> list[Group]:
    """Join full names with the same last name and the same first name, short form or initial."""
    families: dict[str, list[Group]] = {}
    for group in sorted(full, key=lambda group: -group.count):
        family = families.setdefault(group.words[-1], [])
        for person in family:
            if _are_same(person, group):
                person.absorb(group)
                break
        else:
            family.append(group)
    persons = [person for family in families.values() for person in family]
    return _joined_beginnings(persons)


def _joined_beginnings(persons: list[Group]) -> list[Group]:
    """Join "Pyotr Petrovitch" with "Pyotr Petrovitch Luzhin", if that is the only one."""
    joined: list[Group] = []
    for group in persons:
        length = len(group.words)
        longer = [
            person
            for person in persons
            if len(person.words) > length
            and person.words[:length] == group.words
            and person.count >= _LEAST
        ]
        owner = longer[0] if len(longer) == 1 else None
        is_person = group.kind(()) is Kind.PERSON
        if owner and is_person and owner.may_match(group):
            owner.absorb(group)
        else:
            joined.append(group)
    return joined


def _are_same(person: Group, other: Group) -> bool:
    """Whether two full names with the same last name are taken for one person's."""
    if not person.may_match(other) or person.is_wife != other.is_wife:
        return False
    shorter, longer = sorted((person.words, other.words), key=len)
    if longer[-len(shorter) :] == shorter:  # "Mary Smith" and "Anna Mary Smith"
        return True
    first, second = person.words[0], other.words[0]
    has_initial = min(len(first), len(second)) == 1
    is_initial_of_other = has_initial and first[0] == second[0]
    return is_initial_of_other or second in _forms_of(first)


@cache
def _forms_of(name: str) -> frozenset[str]:
    """A first name with its full forms and short forms."""
    full_names = short_forms().get(name, frozenset())
    own_short_forms = {form for form, names in short_forms().items() if name in names}
    return full_names | {name} | own_short_forms


def _is_earlier(group: Group, person: Group) -> bool:
    """Whether a short form, as "Tom", is last mentioned before "Thomas Marvel" first appears.

    Its few mentions are then of another Tom.
    """
    is_short_form = group.words[0] != person.words[0]
    is_rare = group.count < _FEW_MENTIONS
    return is_short_form and is_rare and group.starts()[-1] < person.starts()[0]


def _commonest(groups: Iterable[Group]) -> Group | None:
    """The group mentioned much more often than any other; None without one."""
    by_count = sorted(groups, key=lambda group: -group.count)
    if not by_count:
        return None
    first, *others = by_count
    if all(first.count >= _MORE_FREQUENT * other.count for other in others):
        return first
    return None


def make_entity(forms: Iterable[Form], kind: Kind) -> Entity:
    """The person or thing with these names."""
    forms = tuple(sorted(forms, key=lambda form: (-len(form.starts), form.starts[0])))
    frequent = [form for form in forms if len(form.starts) >= _LEAST] or forms
    fullest = max(frequent, key=_fullness)
    flag = MentionContext.ARTICLE.value
    with_article = sum(1 for context in fullest.contexts if context & flag)
    usually_has_article = 2 * with_article > len(fullest.starts)
    name = f"the {fullest.text}" if usually_has_article else fullest.text
    return Entity(name, kind, forms)


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
