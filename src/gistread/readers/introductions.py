"""Finds the sentences that tell who somebody is.

For questions such as "Who is Mr. Bingley?" or "Who is the vicar?". The sentences are chosen by
English rules (`people/telling.py`). In other languages the first mention counts.
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
from gistread.people.index import index_of
from gistread.people.informing import informing_sentence
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
    """The sentence that tells who or what a name is."""

    name: str
    # At most one; none if the text lacks the name
    sentences: tuple[Passage, ...]
    tells: bool = False  # Whether the sentence says what the person or thing is


def introductions(question: str, memory: GistMemory) -> Introductions | None:
    """Find the sentence that answers a "Who is …?" question; None for other questions.

    About 1 s for War and Peace.
    """
    match = pattern("asks_who").fullmatch(question)
    if match is None:
        return None
    words = match["name"].split()
    content = [word for word in words if word.lower() not in _SMALL]
    if not content:
        return None
    book = memory.book
    is_named = all(word[:1].isupper() for word in content)
    if supports_names(book):
        if is_named:
            return _by_index(words, book)
        return _by_small_words(words, content, book)
    if not is_named:
        return None
    return _by_text(" ".join(words), book)


def _by_small_words(
    words: list[str], content: list[str], book: Book
) -> Introductions | None:
    """Who holds a role, as in "who is the vicar", or has a name, as in "who is filby"."""
    index = index_of(book)
    name = " ".join(words)
    role = role_in(content)
    if role:
        other_words = [word for word in content if word != role]
        holder = find_holder(role, other_words, index)
        if holder:
            return Introductions(name, (holder.span,), tells=True)
    # It is a name if the book has it only with a capital.
    if not index.find(name, exactly=True):
        return None
    return _by_index([_as_in_a_name(word) for word in words], book)


def _as_in_a_name(word: str) -> str:
    return word if word.lower() in _SMALL else word.capitalize()


def _by_index(words: list[str], book: Book) -> Introductions:
    """The sentence that tells best who has a name; by the text alone if the index lacks it."""
    index = index_of(book)
    name = " ".join(words)
    for form in _forms(name):
        entities = index.find(form)
        if entities:
            forms = entities[0].forms
            ranked = telling_sentences(form, forms, book)
            if not ranked[0].tells:
                nearest = informing_sentence(forms, book) or ranked[0].span
                return Introductions(name, (nearest,))
            return _introduced(name, ranked)
    return _by_text(name, book)


def introducing_sentences(entity: Entity, book: Book) -> tuple[Passage, ...]:
    """The sentence that tells best who or what the entity is; else one that tells something of it.

    None if each only names it.
    """
    best = telling_sentences(entity.name, entity.forms, book)[0]
    place = best.span if best.tells else informing_sentence(entity.forms, book)
    return (place,) if place else ()


def _introduced(name: str, ranked: list[Told]) -> Introductions:
    best = ranked[0]
    return Introductions(name, (best.span,), tells=best.tells)


def _by_text(name: str, book: Book) -> Introductions:
    """The sentence that best tells what a name is that the index lacks; else its first mention."""
    text = _without_diacritics(book.text)
    for form in _forms(_without_diacritics(name)):
        mentions = _mentions(form, text, front_matter_end(book))
        first = _first_in_prose(mentions, text, book)
        if first is None:
            continue
        if supports_names(book):
            forms: list[Form] = []
            for written, starts in mentions.items():
                no_contexts = array("B", bytes(len(starts)))
                forms.append(Form(written, starts, no_contexts))
            ranked = telling_sentences(form, forms, book)
            if ranked[0].tells:
                return _introduced(name, ranked)
        return Introductions(name, (first,))
    return Introductions(name, ())


def _first_in_prose(
    mentions: "dict[str, array[int]]", text: str, book: Book
) -> Passage | None:
    """The first sentence with one of these mentions that is no heading or line of the contents."""
    for offset in sorted(chain(*mentions.values())):
        start, end = sentence_at(book, offset)
        if _is_prose(text[start:end]):
            return start, end
    return None


def _mentions(name: str, text: str, start: int) -> "dict[str, array[int]]":
    """Where a name stands after `start`, by the name as written there.

    It may have a first name after a comma: "Hercule Poirot" in "the Belgian detective, Hercule
    Poirot".
    """
    words = r"\W{1,3}".join(map(re.escape, name.split()))
    named = re.compile(rf"(?:(?<=, )[A-Z][^\W\d_]+ )?\b{words}\b")
    starts: dict[str, array[int]] = defaultdict(lambda: array("I"))
    for match in named.finditer(text, start):
        starts[match[0]].append(match.start())
    return starts


def names_to_learn(book: Book, user_data: UserData) -> list[tuple[Entity, Passage]]:
    """The commonest names of what was read, each with the sentence that tells it best.

    Empty if nothing was read, or names are not found in the book's language. Searches the whole
    book. Raises StorageError.
    """
    end = _end_of_names(book, user_data)
    if not end or not supports_names(book):
        return []
    view = index_of(book).upto(end, user_data.name_corrections(book.sha256))
    common = [entity for entity in view.entities if entity.count >= _LEAST_MENTIONS]
    names: list[tuple[Entity, Passage]] = []
    for entity in common[:_MOST_NAMES]:
        sentences = introducing_sentences(entity, view.book)  # At most one
        names += [(entity, sentence) for sentence in sentences]
    return names


def _end_of_names(book: Book, user_data: UserData) -> int:
    """Where the names to learn end: the user's choice for this book, else the user's place."""
    choice = user_data.bound_choice(book.sha256)
    if choice is not None and choice.whole:
        return len(book.text)
    if choice is not None and choice.at is not None:
        return choice.at
    return user_data.reading_place(book.sha256).furthest


def _is_prose(sentence: str) -> bool:
    """Whether most words begin with a small letter, unlike those of headings and contents."""
    words = re.findall(r"[^\W\d_]+", sentence)
    lower_case = [word for word in words if word[0].islower()]
    return len(lower_case) > len(words) / 2


def _forms(name: str) -> Iterator[str]:
    """The name, then shorter forms.

    Those are the words before "of" and the like, or the name without title and first names.

    >>> list(_forms("the Duke of Avon")), list(_forms("Mr. John Smith"))
    (['Duke of Avon', 'Duke'], ['Mr. John Smith', 'John Smith', 'Smith'])
    """
    words = re.sub(r"^the\s", "", name, flags=re.IGNORECASE).split()
    yield " ".join(words)
    for index, word in enumerate(words):
        if index > 0 and word.lower() in _ENDS_NAME:
            yield " ".join(words[:index])
            return
    for first in range(1, len(words)):
        yield " ".join(words[first:])


def _without_diacritics(text: str) -> str:
    """The text with base letters, of the same length."""
    base_letters: dict[int, str] = {}
    for letter in set(text):
        if letter.isalpha() and not letter.isascii():
            base_letters[ord(letter)] = unicodedata.normalize("NFD", letter)[0]
    return text.translate(base_letters)
