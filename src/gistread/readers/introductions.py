"""Finds the sentences that introduce a person or a thing, for questions such as "Who is Mr. Bingley?".

A sentence introduces a name if it explains the name ("Mrs. Long, a neighbour", "my cousin, Mr. Collins") or has its
first mention. The phrases are English; in other languages only the first mention counts.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from gistread.book.model import Book
from gistread.memory.front_matter import front_matter_end
from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage, sentences_of
from gistread.people.index import Index
from gistread.people.joining import Entity
from gistread.people.mentions import is_covered
from gistread.readers.bound import saved_bound
from gistread.search.tokens import stop_words
from gistread.user_data import UserData

_ASKS_WHO = re.compile(
    r"\W*(?:(?:and|but|so) )?(?:who|what)(?:\s+(?:is|was|are|were)|['’]s)\s+(?P<name>[^?!,;:]+?)\W*", re.IGNORECASE
)
_QUESTION = re.compile(r"\?\W*$")
_SMALL = frozenset("a an the of to de la le du von van der and".split())  # noqa: SIM905
_MOST_SENTENCES = 2
_MOST_NAMES, _LEAST_MENTIONS = 40, 3  # Of `names_to_learn`
_MOST_MENTIONS = 300  # Most mentions of each form of a name to search: people are introduced early
_AROUND = 60  # Characters of a phrase on each side of the name
_ROLE = (
    r"(?:[a-z-]+ ){0,2}?(?:aunt|baron|brother(?:-in-law)?|butler|captain|chaplain|clerk|commander|cook|count(?:ess)?|"
    r"cousin|curate|daughter(?:-in-law)?|doctor|driver|dog|cat|horse|duke|duchess|emperor|empress|enemy|father(?:-in-law)?|"
    r"friend|gardener|general|gentleman|girl|governess|guest|heir|housekeeper|husband|keeper|king|lady|landlord|lawyer|"
    r"leader|lover|maid|man|master|merchant|minister|mistress|mother(?:-in-law)?|neighbou?r|nephew|niece|nurse|officer|"
    r"parson|partner|priest|prince(?:ss)?|queen|rector|rival|sailor|secretary|servant|sister(?:-in-law)?|soldier|son"
    r"(?:-in-law)?|steward|stranger|student|teacher|tutor|uncle|valet|vicar|widow(?:er)?|wife|woman|chief)"
)


@dataclass(frozen=True, slots=True)
class Introductions:
    name: str
    sentences: tuple[Passage, ...]  # At most two, in the order of the book; none if the text lacks the name


def introductions(question: str, memory: GistMemory) -> Introductions | None:
    """Find the sentences that introduce the name in a "Who is …?" question; None for other questions."""
    asked = _ASKS_WHO.fullmatch(question)
    words = asked["name"].split() if asked else []
    names = [word for word in words if word.lower() not in _SMALL]
    if not names:
        return None
    text = _without_diacritics(memory.book.text)
    if not all(word[:1].isupper() for word in names):
        # "who is filby": a name if the book has it only with a capital.
        known = any(re.search(rf"\b{re.escape(word)}\b", text) for word in names if word.islower())
        if known or len(names) > 2 or stop_words()["en"].intersection(names):
            return None
        words = [word if word.lower() in _SMALL else word.capitalize() for word in words]
    name = " ".join(words)
    start = front_matter_end(memory.book)
    for form in _forms(_without_diacritics(name)):
        places = (_first(pattern, text, start, memory.book) for pattern in (*_phrases(form), f"(?P<name>{form})"))
        if found := list(dict.fromkeys(place for place in places if place)):
            return Introductions(name, tuple(sorted(found[:_MOST_SENTENCES])))
    return Introductions(name, ())


def introducing_sentences(entity: Entity, book: Book) -> tuple[Passage, ...]:
    """The sentence with the first mention, and one that explains who or what the entity is, if any."""
    phrases = {form.text: [re.compile(one) for one in _phrases(re.escape(form.text))] for form in entity.forms}
    mentions = sorted((start, form.text) for form in entity.forms for start in form.starts[:_MOST_MENTIONS])

    def said(number: int) -> Passage | None:
        """The first sentence of prose with the phrase of this number."""
        for start, name in mentions:
            match = phrases[name][number].search(book.text, max(0, start - _AROUND), start + len(name) + _AROUND)
            if (
                match
                and match.start("name") == start
                and _is_prose(book.text[slice(*(place := sentence_at(start, book)))])
            ):
                return place
        return None

    counts = range(len(phrases[mentions[0][1]]))
    explained = next((place for number in counts if (place := said(number))), None)
    return tuple(sorted({sentence_at(entity.first, book), *filter(None, (explained,))}))


def names_to_learn(book: Book, user_data: UserData) -> list[tuple[Entity, Passage]]:
    """The commonest names up to the reader's bound, each with the first sentence that introduces it.

    Empty if names are not found in the book's language. Searches the whole book. Raises StorageError.
    """
    if not is_covered(book):
        return []
    bound = saved_bound(book, user_data)
    corrections = user_data.name_corrections(book.sha256)
    view = Index.of(book).upto(len(book.text) if bound is None else bound, corrections)
    common = [entity for entity in view.entities if entity.count >= _LEAST_MENTIONS][:_MOST_NAMES]
    return [(entity, places[0]) for entity in common if (places := introducing_sentences(entity, view.book))]


def _first(pattern: str, text: str, start: int, book: Book) -> Passage | None:
    """The first statement with the pattern, in prose; if there is none, the first question."""
    question: Passage | None = None
    for match in re.compile(pattern).finditer(text, start):
        place = sentence_at(match.start("name"), book)
        sentence = text[place[0] : place[1]]
        if not _is_prose(sentence):
            continue
        if not _QUESTION.search(sentence):
            return place
        question = question or place
    return question


def _is_prose(sentence: str) -> bool:
    """Whether most words begin with a small letter, unlike those of headings and tables of contents."""
    words = re.findall(r"[^\W\d_]+", sentence)
    return len([word for word in words if word[0].islower()]) > len(words) / 2


def _forms(name: str) -> Iterator[str]:
    """Patterns for the name, then for shorter forms: without title, first name, or the words after "of"."""
    words = re.findall(r"[\w'’-]+", re.sub(r"^the\s", "", name, flags=re.IGNORECASE))
    small = [at for at, word in enumerate(words) if word.lower() in _SMALL]
    shorter = [words[: small[0]]] if small else [words[at:] for at in range(1, len(words))]
    for form in (words, *shorter):
        yield r"\b" + r"\W{1,3}".join(map(re.escape, form)) + r"\b(?!['’]s)"


def _phrases(form: str) -> Iterator[str]:
    """Patterns of phrases that explain the name, the clearest first."""
    name = f"(?P<name>{form})"
    whose = r"(?:an?|the|one of|his|her|my|our|your|their|\w+['’]s)"
    yield rf"{name},(?: who (?:is|was))? {whose} {_ROLE}\b"
    yield rf"\b{whose} {_ROLE},? (?:[A-Z][a-z]+\.? )?{name}\b(?! \w)"
    yield rf"\b[A-Z]\w+, (?:the|our|my|his|her|their) {name}"
    yield rf"\b(?:named|called|name (?:is|was)) {name}"
    yield rf"{name}(?: is| was|,) (?:an?|one of|not an?|the only|the (?:son|daughter|wife|widow)) [a-z]"
    yield rf"{name} (?:is|was) (?:very |quite |not )?[a-z-]+,? (?:and|but) [a-z-]+[;,.]"


def sentence_at(place: int, book: Book) -> Passage:
    """The sentence with this offset of the book."""
    paragraph = book.paragraphs[book.paragraph_index(place)]
    return next(span for span in sentences_of(book, paragraph.start, paragraph.end) if span[0] <= place < span[1])


def _without_diacritics(text: str) -> str:
    """The text with base letters, of the same length."""
    letters = (letter for letter in set(text) if not letter.isascii() and letter.isalpha())
    return text.translate({ord(letter): unicodedata.normalize("NFD", letter)[0] for letter in letters})
