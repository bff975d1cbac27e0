"""Decides whether a name is a person's, a place's or something else's.

The words around its mentions decide: people speak and think, somebody is in a place or goes to it,
somebody is aboard a ship, and a nation's name stands before nouns.
"""

from collections import Counter
from collections.abc import Collection
from enum import StrEnum

from gistread.people.contexts import MentionContext
from gistread.people.mentions import first_names, titles, word_set

# Shares of a name's mentions that decide about it
_PLACES = 0.12  # Somebody is in it or goes to it: a place
_CLEARLY_PLACES = 0.3  # The same for "Florence" and "the Heights"
_MODIFIES = 0.25  # It stands before a noun: an adjective, "Gothic"
_SHIPS = 0.07  # Somebody is aboard: a ship
_SPEAKS = 0.1  # "The Clerk" or a saint speaks or thinks: a person
_SPEAKS_AS_GROUP = 0.15  # "The Guards" speak less often: several people
_SHIP_SPEAKS = 0.06  # It speaks less often: a ship
_WITH_ARTICLE = 0.3  # With "the" or "were", and ends in "s": a group
_PERSONAL = 0.2  # Speech and pronouns: a person
# The same if the name is also a common word: "Nature", "Search"
_PERSONAL_AS_WORD = 0.3
# Numbers of mentions
_LEAST = 2  # So many of a kind are no accident
_LEAST_NOUNS = 3  # The same before a noun
_FEW = 10  # Up to so many, any hint of a person is enough
_LEAST_OF_OFFICE = 4  # "The King" whom nobody meets has at least so many
_WEIGHT_OF_SPEECH = 3  # Speech counts as much as three pronouns
_ROLES = ("man", "woman", "kin", "work", "other")
_OF_NATIONS = ("ish", "ese", "ian", "ic")


class Kind(StrEnum):
    PERSON = "person"
    PLACE = "place"
    OTHER = "other"


class _Hints:
    """How often each hint is found around a name's mentions."""

    def __init__(self, contexts: Counter[int]) -> None:
        self.total = contexts.total()
        self._contexts = contexts

    def count(self, hint: MentionContext) -> int:
        return count_of(self._contexts, hint)

    def share(self, hint: MentionContext) -> float:
        return self.count(hint) / self.total

    @property
    def is_described(self) -> bool:
        """Whether it usually has an article, as "the Carriage"."""
        return 2 * self.count(MentionContext.ARTICLE) > self.total


def count_of(contexts: Counter[int], hint: MentionContext) -> int:
    """How many of these contexts have the hint."""
    mask = hint.value  # With an IntFlag, & takes ten times as long.
    return sum(count for context, count in contexts.items() if context & mask)


def kind_of(
    words: tuple[str, ...],
    contexts: Counter[int],
    *,
    is_word: bool,
    families: Collection[str],
) -> Kind:
    """The kind of a name without titles.

    `is_word`: whether the book also has its last word in lower case. `families`: the book's family
    names.
    """
    hints = _Hints(contexts)
    if is_place_name(words) or _is_direction(words, hints):
        return Kind.PLACE
    if words[0] in titles():
        return Kind.OTHER if _is_office(words, hints) else Kind.PERSON
    if _is_thing(words, hints):
        return Kind.OTHER
    if _is_family(words, hints, families) or _is_group(words, hints):
        return Kind.OTHER
    if _is_place(words, hints, is_word=is_word):
        return Kind.OTHER if _is_language(words, hints) else Kind.PLACE
    if _is_person(words, hints, is_word=is_word):
        return Kind.PERSON
    return Kind.OTHER


def is_place_name(words: tuple[str, ...]) -> bool:
    """Whether its words alone show a place: "Bond Street", "Lake Como", "France"."""
    first, last = words[0], words[-1]
    if len(words) == 1:
        return first in word_set("places", "known")
    if first in word_set("places", "before") or last in word_set("places", "streets"):
        return True
    return last in word_set("places") and first not in first_names()


def _is_direction(words: tuple[str, ...], hints: _Hints) -> bool:
    """Whether it is "the West"."""
    if len(words) > 1 or not hints.is_described:
        return False
    return words[0] in word_set("places", "directions")


def _is_office(words: tuple[str, ...], hints: _Hints) -> bool:
    """Whether a title alone names an office, and nobody: "in the name of the King"."""
    if len(words) > 1 or not hints.is_described or hints.total < _LEAST_OF_OFFICE:
        return False
    if hints.count(MentionContext.ACTS):
        return False
    return _personal(hints) < _PERSONAL * hints.total


def _is_thing(words: tuple[str, ...], hints: _Hints) -> bool:
    """Whether it is a body, a ship or an adjective."""
    return is_body(words) or _is_ship(hints) or _modifies_nouns(hints)


def is_body(words: tuple[str, ...]) -> bool:
    """Whether its words show several people or none: "the Reform Club"."""
    return words[-1] in word_set("bodies")


def _is_ship(hints: _Hints) -> bool:
    speaks = hints.share(MentionContext.PERSON)
    aboard = hints.count(MentionContext.SHIP)
    is_boarded = aboard >= max(_LEAST, _SHIPS * hints.total)
    return is_boarded and speaks < _SHIP_SPEAKS


def _modifies_nouns(hints: _Hints) -> bool:
    """Whether it is an adjective: it stands before nouns more often than in any other use."""
    modifies = hints.count(MentionContext.MODIFIER)
    is_main_use = modifies > max(_places(hints), hints.count(MentionContext.PERSON))
    return is_main_use and modifies >= max(_LEAST_NOUNS, _MODIFIES * hints.total)


def _is_family(
    words: tuple[str, ...], hints: _Hints, families: Collection[str]
) -> bool:
    """Whether it is "the Bennets"."""
    name = words[-1]
    without_endings = {name.removesuffix("s"), name.removesuffix("es")}
    singulars = without_endings - {name}
    is_plural = any(singular in families for singular in singulars)
    with_article = hints.share(MentionContext.ARTICLE)
    with_were = hints.share(MentionContext.PLURAL)
    return is_plural and max(with_article, with_were) >= _WITH_ARTICLE


def _is_group(words: tuple[str, ...], hints: _Hints) -> bool:
    """Whether it is several people: "the Musketeers"."""
    if not words[-1].endswith(("s", "men")):
        return False
    speaks = hints.share(MentionContext.PERSON)
    with_article = hints.share(MentionContext.ARTICLE)
    is_plural = with_article >= _WITH_ARTICLE and speaks < _SPEAKS_AS_GROUP
    return is_plural and _places(hints) < _CLEARLY_PLACES * hints.total


def _places(hints: _Hints) -> int:
    """In how many mentions somebody is in it or goes to it."""
    return hints.count(MentionContext.PLACE) + hints.count(MentionContext.GOAL)


def _is_place(words: tuple[str, ...], hints: _Hints, *, is_word: bool) -> bool:
    """Whether somebody is in it or goes to it, and it seldom speaks."""
    places = _places(hints)
    speaks = hints.count(MentionContext.PERSON)
    seldom_speaks = speaks < _SPEAKS * hints.total
    if words[0].startswith("st "):  # A church or a station, unless the saint speaks
        return seldom_speaks
    if places and hints.is_described and words[-1] in word_set("places"):
        return seldom_speaks  # "The Castle"
    does_something = speaks > 0 or hints.count(MentionContext.ACTS) > 0
    if places and hints.total <= _FEW and not does_something:
        return True
    # A first name may be a place's, "Florence", but then clearly.
    share = _CLEARLY_PLACES if words[0] in first_names() else _PLACES
    least = _LEAST if is_word else 1
    return places > speaks and places >= max(least, share * hints.total)


def _is_language(words: tuple[str, ...], hints: _Hints) -> bool:
    """Whether it is a language: one speaks "in Gaelic"."""
    return not hints.is_described and len(words) == 1 and words[0].endswith(_OF_NATIONS)


def _is_person(words: tuple[str, ...], hints: _Hints, *, is_word: bool) -> bool:
    """Whether it has a first name, or enough speech and pronouns around it."""
    if hints.is_described:
        return _is_described_person(words, hints)
    if words[0] in first_names():
        return True
    speaks = hints.count(MentionContext.PERSON)
    personal = _personal(hints)
    if is_word and len(words) == 1:  # "Nature" is "she", but does not speak.
        return speaks > 0 and personal >= _PERSONAL_AS_WORD * hints.total
    if hints.total <= _FEW:
        return personal > 0 or hints.count(MentionContext.ACTS) > 0
    return personal >= _PERSONAL * hints.total


def _is_described_person(words: tuple[str, ...], hints: _Hints) -> bool:
    """Whether "the Clerk" is somebody."""
    if any(words[-1] in word_set("roles", kind) for kind in _ROLES):
        return True
    speaks = hints.count(MentionContext.PERSON)
    # Of a few mentions, one with speech is enough if more have a pronoun.
    if hints.total <= _FEW and 0 < speaks < _pronouns(hints):
        return True
    return speaks >= max(_LEAST, _SPEAKS * hints.total)


def _pronouns(hints: _Hints) -> int:
    return hints.count(MentionContext.HE) + hints.count(MentionContext.SHE)


def _personal(hints: _Hints) -> int:
    """Weighted number of mentions with speech or a pronoun."""
    return _WEIGHT_OF_SPEECH * hints.count(MentionContext.PERSON) + _pronouns(hints)
