"""Finds the sentences that tell who somebody is, for questions such as "Who is Mr. Bingley?" or
"Who is the vicar?".

The sentences are chosen by English rules (`people/telling.py`). In other languages the first
mention counts.
"""

import re
import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from gistread.book.model import Book
from gistread.memory.front_matter import front_matter_end
from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage, sentence_at
from gistread.memory.spoilers import usual_bound
from gistread.people.index import index_of
from gistread.people.joining import Entity
from gistread.people.mentions import Form, supports_names
from gistread.people.telling import Told, find_holder, role_in, telling_sentences
from gistread.readers.phrases import pattern
from gistread.store.user_data import UserData

_ENDS_NAME = frozenset("a an the of to and".split())
_SMALL = _ENDS_NAME | frozenset("de la le du von van der".split())
_MOST_NAMES, _LEAST_MENTIONS = 40, 3  # Of `names_to_learn`


@dataclass(frozen=True, slots=True)
class Introductions:
    name: str
    sentences: tuple[Passage, ...]  # The most telling one; none if the text lacks the name
    tells: bool = False  # Whether the sentence says what the person or thing is


def introductions(question: str, memory: GistMemory) -> Introductions | None:
    """Find the sentence that answers a "Who is …?" question; None for other questions.

    About 1 s for War and Peace.
    """
    asked = pattern("asks_who").fullmatch(question)
    words = asked["name"].split() if asked else []
    names = [word for word in words if word.lower() not in _SMALL]
    if not names:
        return None
    book = memory.book
    is_named = all(word[:1].isupper() for word in names)
    if not supports_names(book):
        return _by_text(" ".join(words), book) if is_named else None
    index = index_of(book)
    if not is_named:
        role = role_in(names)
        if role and (told := find_holder(role, [word for word in names if word != role], index)):
            return Introductions(" ".join(words), (told.place,), tells=True)
        # "who is filby": a name if the book has it only with a capital.
        if not index.find(" ".join(words), exactly=True):
            return None
        words = [word if word.lower() in _SMALL else word.capitalize() for word in words]
    name = " ".join(words)
    for form in _forms(name):
        if found := index.find(form):
            return _introduced(name, telling_sentences(form, found[0].forms, book))
    return _by_text(name, book)


def introducing_sentences(entity: Entity, book: Book) -> tuple[Passage, ...]:
    """The sentence that tells best who or what the entity is.

    Without one, that of the first mention.
    """
    return _introduced(entity.name, telling_sentences(entity.name, entity.forms, book)).sentences


def _introduced(name: str, told: list[Told]) -> Introductions:
    return Introductions(name, (told[0].place,), tells=told[0].tells)


def _by_text(name: str, book: Book) -> Introductions:
    """The sentence that tells best what a name is that the index lacks.

    Without one, that of its first mention.
    """
    text = _without_diacritics(book.text)
    for form in _forms(_without_diacritics(name)):
        # "The Belgian detective, Hercule Poirot": between what somebody is and the surname stands a
        # first name.
        named = (
            r"(?:(?<=, )[A-Z][^\W\d_]+ )?\b" + r"\W{1,3}".join(map(re.escape, form.split())) + r"\b"
        )
        mentions: dict[str, array[int]] = defaultdict(
            lambda: array("I")
        )  # Their starts, by the name as written
        for match in re.compile(named).finditer(text, front_matter_end(book)):
            mentions[match[0]].append(match.start())
        places = (sentence_at(book, start) for start in sorted(chain(*mentions.values())))
        first = next((place for place in places if _is_prose(text[slice(*place)])), None)
        if first and supports_names(book):
            forms = [
                Form(name, starts, array("B", bytes(len(starts))))
                for name, starts in mentions.items()
            ]
            told = telling_sentences(form, forms, book)
            return _introduced(name, told) if told[0].tells else Introductions(name, (first,))
        if first:
            return Introductions(name, (first,))
    return Introductions(name, ())


def names_to_learn(book: Book, user_data: UserData) -> list[tuple[Entity, Passage]]:
    """The commonest names up to the reader's bound, each with the sentence that tells best what it
    is.

    Empty if names are not found in the book's language. Searches the whole book. Raises
    StorageError.
    """
    if not supports_names(book):
        return []
    bound = usual_bound(
        book, user_data.reading_place(book.sha256).furthest, user_data.bound_choice(book.sha256)
    )
    corrections = user_data.name_corrections(book.sha256)
    view = index_of(book).upto(len(book.text) if bound is None else bound, corrections)
    common = [entity for entity in view.entities if entity.count >= _LEAST_MENTIONS][:_MOST_NAMES]
    return [
        (entity, places[0])
        for entity in common
        if (places := introducing_sentences(entity, view.book))
    ]


def _is_prose(sentence: str) -> bool:
    """Whether most words begin with a small letter, unlike those of headings and tables of
    contents.
    """
    words = re.findall(r"[^\W\d_]+", sentence)
    return len([word for word in words if word[0].islower()]) > len(words) / 2


def _forms(name: str) -> Iterator[str]:
    """The name, then shorter forms.

    The words before "of" and the like, or without title and first names.
    """
    words = re.sub(r"^the\s", "", name, flags=re.IGNORECASE).split()
    ends = [at for at, word in enumerate(words) if word.lower() in _ENDS_NAME and at]
    shorter = [words[: ends[0]]] if ends else [words[at:] for at in range(1, len(words))]
    yield from map(" ".join, (words, *shorter))


def _without_diacritics(text: str) -> str:
    """The text with base letters, of the same length."""
    letters = (letter for letter in set(text) if not letter.isascii() and letter.isalpha())
    return text.translate(
        {ord(letter): unicodedata.normalize("NFD", letter)[0] for letter in letters}
    )
