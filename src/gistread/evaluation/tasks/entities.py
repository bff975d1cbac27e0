"""Swaps the answer of a needle for another entity of its kind, by its form and question (LongAgent v1, appendix A)."""

import re
from dataclasses import dataclass

_ARTICLE = re.compile(r"(?:the|a|an)\s+", re.IGNORECASE)
_MONTH = re.compile(
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December)\b", re.IGNORECASE
)
_DIGIT = re.compile(r"\d")
_YEAR = re.compile(r"(?:1\d|20)\d\d")
_MOST_WORDS = 5
_PARTICLES = frozenset("of the and de la le du der den van von di da del in for on at &".split())  # noqa: SIM905
_WHO = re.compile(r"(?:(?:by|to|from|for|of|with|after) )?who(?:m|se)?\b", re.IGNORECASE)
_WHERE = re.compile(r"(?:from |in )?where\b", re.IGNORECASE)
_WHICH = re.compile(
    r"\b(?:what|which)(?:['’]s)?\s+(?:(?:is|was|are|were)\s+)?(?:(?:the|a)\s+)?"
    r"(?:(?:name|title|type|kind)\s+of\s+(?:the\s+|a\s+)?)?(?P<nouns>[a-z-]+(?:\s+[a-z-]+){0,2})",
    re.IGNORECASE,
)
_NOUNS = {
    "person": """actor actress artist author character composer director emperor essayist footballer founder general
        inventor king leader musician painter person philosopher physicist player poet politician president producer
        prophet queen ruler scientist singer writer""",
    "country": "country nation",
    "city": "city town village capital seat",
    "region": "state province region county district territory",
    "film": "film movie",
    "series": "series show",
    "music": "album song single",
    "book": "book novel play",
    "magazine": "magazine newspaper publication journal",
    "company": "company corporation label agency network channel studio",
    "team": "team club",
    "band": "band group",
    "school": "school university college",
    "river": "river",
    "language": "language",
    "nationality": "nationality",
    "religion": "religion",
    "month": "month",
}
_KIND_OF = {noun: kind for kind, nouns in _NOUNS.items() for noun in nouns.split()}


@dataclass(frozen=True, slots=True)
class Entity:
    """A swappable answer without its article, and its kind."""

    name: str
    kind: str


def find_entity(answer: str, question: str, text: str) -> Entity | None:
    """The entity that an answer names; None if unknown. In `text`, a person has no article."""
    name = _ARTICLE.sub("", " ".join(answer.split()).strip(" .,;:\"'“”"), count=1)
    words = name.split()
    if not 1 <= len(words) <= _MOST_WORDS:
        return None
    if _DIGIT.search(name):
        return None if _WHO.match(question) else Entity(name, _form(name))
    if not words[0][0].isupper() or not all(word[0].isupper() or word in _PARTICLES for word in words):
        return None
    kind = _asked_for(question)
    if kind == "person" and not _is_person_name(name, text):
        return None
    return Entity(name, kind) if kind else None


def _is_person_name(name: str, text: str) -> bool:
    words = name.split()
    if not 2 <= len(words) <= 3 or not all(word[0].isupper() and word.isascii() for word in words) or "," in name:
        return False
    return re.search(rf"\b(?:the|a|an)\s+{re.escape(name)}", text, re.IGNORECASE) is None


def _form(name: str) -> str:
    """The form of a number, date or amount; answers of the same form can be swapped."""
    return "year" if _YEAR.fullmatch(name) else "form " + _DIGIT.sub("0", _MONTH.sub("month", name)).casefold()


def _asked_for(question: str) -> str:
    if _WHO.match(question):
        return "person"
    if _WHERE.match(question):
        return "place"
    for which in _WHICH.finditer(question):
        for noun in reversed(which["nouns"].lower().split()):
            if kind := _KIND_OF.get(noun):
                return kind
    return ""


def contains_name(text: str, name: str) -> bool:
    """Whether a text contains this name as whole words, ignoring case."""
    return re.search(_as_words(name), text, re.IGNORECASE) is not None


def swap_entity(text: str, old: Entity, new: Entity) -> str:
    """The text with `old` replaced by `new`; for a person, also the last name alone."""
    text = re.sub(_as_words(old.name), lambda _: new.name, text, flags=re.IGNORECASE)
    surname = _surname(old)
    return re.sub(_as_words(surname), lambda _: new.name.split()[-1], text) if surname else text


def forms_of(one: Entity) -> tuple[str, ...]:
    surname = _surname(one)
    return (one.name, surname) if surname else (one.name,)


def _surname(one: Entity) -> str:
    words = one.name.split()
    return words[-1] if one.kind == "person" and len(words) > 1 and len(words[-1]) > 2 else ""


def _as_words(name: str) -> str:
    # Not inside a number: 1,308 and 3.30 do not contain 30.
    return rf"(?<![\w])(?<!\d[.,]){re.escape(name)}(?!\w)(?![.,]\d)"
