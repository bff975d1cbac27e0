"""Finds statements that are no language: "asdf qwer".

Words in a model's own words do not speak against an answer, but words that neither the book nor
the question has, and that are not even spelled like words, do.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from gistread.book.model import Book
from gistread.readers.answer_marks import fold
from gistread.readers.evidence import statement_spans
from gistread.readers.thread import REFERENCE
from gistread.sample import story_path
from gistread.search.related import common_words
from gistread.search.tokens import Terms, code_of, language_of
from gistread.store.model import AnswerMark, AnswerMarkKind
from gistread.word_patterns import ALPHABETIC

NOT_SUPPORTED = "not supported by the text"
# So many unknown words without a known one; a single one may be in own words: "Angry."
_LEAST_UNKNOWN = 2
# So many words spelled unlike words, however many known ones are among them
_LEAST_MISSPELLED = 2
_MOST_KNOWN = 1 / 3  # Share of known words beside one that is spelled unlike words
_PART = 3  # Letters by which spellings are compared, with the word's ends: "^as", "asd"
_LEAST_FOREIGN_PARTS = 2  # Parts of a word that no known word has
_LEAST_LETTERS = 3  # Of a word whose spelling is compared


def gibberish_marks(
    answer: str, question: str, book: Book, marks: Iterable[AnswerMark] = ()
) -> list[AnswerMark]:
    """A mark for each statement that is no language. Words with other `marks` do not count.

    An answer in another language than the book's is not checked.
    """
    language = code_of(book.language)
    if language_of(answer, language_of(question, language)) != language:
        return []
    text = REFERENCE.sub(_blanks, answer)
    for mark in marks:
        text = text[: mark.start] + " " * (mark.end - mark.start) + text[mark.end :]
    terms = Terms(language)
    vocabulary = _Vocabulary(terms, book.text, question, is_english=language == "en")
    kind = AnswerMarkKind.STATEMENT
    return [
        AnswerMark(start, end, kind, NOT_SUPPORTED)
        for start, end in statement_spans(answer)
        if _is_gibberish(text[start:end], vocabulary)
    ]


def content_words(text: str, terms: Terms) -> frozenset[str]:
    """The words in lower case without numbers, stop words and single letters."""
    return frozenset(
        word
        for word in terms.words(REFERENCE.sub(" ", text))
        if len(word) > 1 and word not in terms.stop_words and not word.isdigit()
    )


def _blanks(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _is_gibberish(statement: str, vocabulary: "_Vocabulary") -> bool:
    words = vocabulary.new_words(statement)
    unknown = {word for word in words if not vocabulary.has(word)}
    if not unknown:
        return False
    known = len(words) - len(unknown)
    if not known and len(unknown) >= _LEAST_UNKNOWN:
        return True
    misspelled = sum(map(vocabulary.is_misspelled, unknown))
    if misspelled >= _LEAST_MISSPELLED:
        return True
    return misspelled > 0 and known <= _MOST_KNOWN * len(words)


@dataclass
class _Vocabulary:
    """The words of a book, and common ones of its language if that is English."""

    terms: Terms
    text: str  # Of the book
    question: str
    is_english: bool

    def new_words(self, statement: str) -> set[str]:
        """The content words of a statement that the question has not."""
        stem = self.terms.stem
        question_stems = {
            stem(word) for word in content_words(self.question, self.terms)
        }
        words = content_words(statement, self.terms)
        return {word for word in words if stem(word) not in question_stems}

    def has(self, word: str) -> bool:
        """Whether the word is known, also with another ending."""
        stem = self.terms.stem
        alike = self._by_beginning.get(_beginning(word), ())
        return stem(word) in map(stem, alike)

    def is_misspelled(self, word: str) -> bool:
        """Whether a word has several parts that no known word has: "asd" and "sdf"."""
        if not self.is_english or len(word) < _LEAST_LETTERS:
            return False
        return len(_parts(word) - self._known_parts) >= _LEAST_FOREIGN_PARTS

    @cached_property
    def _words(self) -> frozenset[str]:
        words = frozenset(ALPHABETIC.findall(fold(self.text)))
        return words | common_words() if self.is_english else words

    @cached_property
    def _by_beginning(self) -> dict[str, list[str]]:
        groups: defaultdict[str, list[str]] = defaultdict(list)
        for word in self._words:
            groups[_beginning(word)].append(word)
        return groups

    @cached_property
    def _known_parts(self) -> frozenset[str]:
        """The parts of the book's words, and of the sample's: a short book has too few."""
        sample = ALPHABETIC.findall(fold(story_path().read_text("utf-8")))
        return frozenset[str]().union(*map(_parts, self._words.union(sample)))


def _beginning(word: str) -> str:
    return fold(word)[:_PART]


def _parts(word: str) -> frozenset[str]:
    """The groups of three letters in a word, with signs for its beginning and its end.

    >>> sorted(_parts("odd"))
    ['^od', 'dd$', 'odd']
    """
    spelled = f"^{word}$"
    starts = range(len(spelled) - _PART + 1)
    return frozenset(spelled[start : start + _PART] for start in starts)
