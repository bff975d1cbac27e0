"""Checks whether the text in the prompt tells each statement of a weak model's answer at all.

For models that failed their check; docs/methods.md has the error rates. A statement is unsupported
if it has a name, a number or a quotation that the text lacks (`answer_marks.py`), or if no three
consecutive sentences of the text have more than a third of its content words and, with those of the
question, two of them. Content words are stems, without stop words and words of the question. A name
or a number alone must be near words of the question.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from gistread.book.sentences import sentence_spans
from gistread.memory.guard import capitals_mark_names
from gistread.memory.model import GistMemory
from gistread.memory.passages import sentences_of
from gistread.readers.answer_marks import find_marks
from gistread.readers.evidence import Sentence, citation_of, statement_spans
from gistread.readers.phrases import pattern, phrases
from gistread.search.tokens import ARTICLES, Terms
from gistread.store.model import Citation

_WINDOW_SENTENCES = 3
# A window must have more than this share of a statement's content words
_LEAST_SHARE = 1 / 3
# What a short answer must have, or must not be, by the question.
_MUST_HAVE = [
    (pattern("asks_how_many"), pattern("has_number")),
    (pattern("asks_how_much_money"), pattern("has_money")),
]
_MUST_NOT_BE = [
    (pattern("asks_when"), pattern("is_time")),
    (pattern("asks_who_or_where"), pattern("is_measure")),
]
_SHORT_WORDS = 5
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_FORMS_OF_ADDRESS = frozenset({"mr", "mrs", "ms", "miss", "dr", "sir"})
_IGNORED = ARTICLES | _FORMS_OF_ADDRESS


@dataclass(frozen=True, slots=True)
class Statement:
    """`answer[start:end]`, checked against the text in the prompt."""

    start: int
    end: int
    supported: bool
    # Names, numbers and quotations that neither the text nor the question has
    foreign: tuple[str, ...] = ()
    quote: Citation | None = None  # The sentence of the book that supports it best


def check(
    answer: str,
    question: str,
    memory: GistMemory,
    places: Sequence[tuple[int, int]],
    gists: Sequence[int] = (),
) -> tuple[Statement, ...]:
    """The statements of an answer, checked against these places and the gists of these pages."""
    checker = _Checker(question, memory, places, gists)
    return tuple(
        checker.statement(answer, start, end) for start, end in statement_spans(answer)
    )


def is_invented(statements: Sequence[Statement]) -> bool:
    """Whether each statement of an answer has a name, number or quotation that the text lacks."""
    return bool(statements) and all(statement.foreign for statement in statements)


def _fits(statement: str, question: str, words: int) -> bool:
    """Whether a statement can be an answer at all.

    A single letter cannot, nor a measure if the question is "who" or "where". `words`: its length.
    """
    has_two_letters_or_a_digit = re.search(r"\w\W*\w|\d", statement)
    if statement.isascii() and not has_two_letters_or_a_digit:
        return False
    if words > _SHORT_WORDS:
        return True
    for asks, needed in _MUST_HAVE:
        if asks.match(question) and not needed.search(statement):
            return False
    for asks, wrong in _MUST_NOT_BE:
        if asks.match(question) and wrong.fullmatch(statement):
            return False
    return True


class _Checker:
    """Checks statements against windows of three consecutive sentences of the text."""

    def __init__(
        self,
        question: str,
        memory: GistMemory,
        places: Sequence[tuple[int, int]],
        gists: Sequence[int],
    ) -> None:
        self._memory = memory
        self._terms = Terms(memory.book.language)
        self._stem = cache(self._terms.stem)
        self._question = question
        self._of_question = self._content(question)
        self._windows: list[list[Sentence]] = []
        for start, end in places:
            self._add(self._sentences_of(start, end))
        for number in gists:
            self._add(self._sentences_of_gist(number))
        texts = [memory.book.text[start:end] for start, end in places]
        texts += [memory.entry(number).gist.text for number in gists]
        self._text = "\n".join(texts)
        # All terms of the text
        self._known = frozenset[str]().union(*map(_terms_of, self._windows))

    def statement(self, answer: str, start: int, end: int) -> Statement:
        """`answer[start:end]`, checked."""
        text = answer[start:end]
        new = self._content(text) - self._of_question
        marks = find_marks(
            text, self._question, self._text, self._memory.book, only_shown=True
        )
        foreign = tuple(text[mark.start : mark.end] for mark in marks)
        if foreign or not self._is_supported(text, new):
            return Statement(start, end, supported=False, foreign=foreign)
        quote = self._quote(new, self._nearest(new)) or self._quote_of_numbers(text)
        return Statement(start, end, supported=True, quote=quote)

    def _is_supported(self, text: str, new: frozenset[str]) -> bool:
        """`new`: the words of the statement that are not in the question."""
        words = self._terms.words(text)
        if not _fits(text, self._question, len(words)):
            return False
        if not new:  # "Yes", or words of the question
            asks_for_more = pattern("asks_for_more").match(self._question)
            return not (asks_for_more and self._only_repeats(text))
        if new <= self._names_and_numbers:
            return self._stands_near_the_question(new)
        if len(new) > 1:
            nearest = _terms_of(self._nearest(new))
            shared, shared_of_question = self._overlap(new, nearest)
            shares_enough = shared > _LEAST_SHARE * len(new)
            return shares_enough and shared + shared_of_question > 1
        # A single word may name what the text only implies: "Angry."
        if len(words) == 1 and not pattern("asks_who_or_where").match(self._question):
            return True
        return new <= self._known

    def _nearest(self, new: frozenset[str]) -> list[Sentence]:
        """The window that has most of these words."""
        return max(
            self._windows,
            key=lambda window: self._overlap(new, _terms_of(window)),
            default=[],
        )

    def _only_repeats(self, text: str) -> bool:
        """Whether a statement only repeats words of the question.

        "Mrs. Kerr." does not answer who bought Kerr's farm.
        """
        words = [word for word in self._terms.words(text) if word not in _IGNORED]
        stems = {self._stem(word) for word in words}
        return bool(stems) and stems <= self._of_question

    def _add(self, sentences: list[Sentence]) -> None:
        """Add the windows of these sentences; they overlap."""
        windows = max(1, len(sentences) - _WINDOW_SENTENCES + 1)
        for first in range(windows):
            self._windows.append(sentences[first : first + _WINDOW_SENTENCES])

    def _sentences_of_gist(self, number: int) -> list[Sentence]:
        """The sentences of a page's gist; the place of each is that of the page."""
        entry = self._memory.entry(number)
        gist = entry.gist.text
        page = entry.page.start, entry.page.end
        return [
            Sentence(page, self._content(gist[start:end]), is_gist=True)
            for start, end in sentence_spans(gist)
        ]

    def _sentences_of(self, start: int, end: int) -> list[Sentence]:
        book = self._memory.book
        return [
            Sentence((first, last), self._content(book.text[first:last]))
            for first, last in sentences_of(book, start, end)
        ]

    def _content(self, text: str) -> frozenset[str]:
        """Stems of the content words. Numbers are checked as they are written (`find_marks`)."""
        stems: set[str] = set()
        for word in self._terms.words(text):
            is_letter = len(word) == 1 and word.isascii()
            is_small = word in self._terms.stop_words or is_letter
            if not is_small and not word.isdigit():
                stems.add(self._stem(word))
        return frozenset(stems)

    @cached_property
    def _names_and_numbers(self) -> frozenset[str]:
        """The stems of the names in the text and of number words."""
        words: list[str] = []
        if capitals_mark_names(self._text):
            words = re.findall(r"[^\W\d_]{2,}", self._text)
        lower_case = {self._stem(word) for word in words if word.islower()}
        capitalised = {self._stem(word.lower()) for word in words if word[0].isupper()}
        numbers = {self._stem(word) for word in phrases("number_words").split("|")}
        return frozenset(capitalised - lower_case | numbers)

    def _stands_near_the_question(self, new: frozenset[str]) -> bool:
        """Whether a window with these words also has enough words of the question."""
        windows = [_terms_of(window) for window in self._windows]
        most = max((len(self._of_question & terms) for terms in windows), default=0)
        if most == 0:  # The text has other words for what is asked.
            return True
        return any(
            len(self._of_question & terms) > _LEAST_SHARE * most
            for terms in windows
            if new <= terms
        )

    def _overlap(self, new: frozenset[str], terms: frozenset[str]) -> tuple[int, int]:
        """How many of the `new` words, and of those of the question, are among `terms`."""
        return len(new & terms), len(self._of_question & terms)

    def _quote(self, new: frozenset[str], window: list[Sentence]) -> Citation | None:
        """The sentence of a window, or of the page of a gist, with most of these words."""
        if window and window[0].is_gist:
            window = self._sentences_of(*window[0].place)
        best = max(
            window,
            key=lambda sentence: self._overlap(new, sentence.terms),
            default=None,
        )
        if best is None or not new & best.terms:
            return None
        return citation_of(best.place, self._memory)

    def _quote_of_numbers(self, text: str) -> Citation | None:
        """The sentence with the numbers of a statement and most words of the question."""
        numbers = set(_DIGITS.findall(text))
        if not numbers:
            return None
        book = self._memory.book.text
        candidates: set[Sentence] = set()
        for window in self._windows:
            for sentence in window:
                start, end = sentence.place
                has_numbers = numbers <= set(_DIGITS.findall(book[start:end]))
                if has_numbers and not sentence.is_gist:
                    candidates.add(sentence)
        if not candidates:
            return None

        def rank(sentence: Sentence) -> tuple[int, int]:
            return len(self._of_question & sentence.terms), -sentence.place[0]

        return citation_of(max(candidates, key=rank).place, self._memory)


def _terms_of(window: Sequence[Sentence]) -> frozenset[str]:
    return frozenset[str]().union(*(sentence.terms for sentence in window))
