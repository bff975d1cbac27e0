"""Marks what the sources of an answer do not tell: numbers, dates, and whole statements.

`answer_marks.py` compares an answer with all the text that the model saw, where any number may
stand somewhere. Here a number or date must stand in a source or near it. A statement is marked if
the passage that it cites shares no word with it, nor with the question.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gistread.book.model import Book
from gistread.memory.passages import Passage
from gistread.readers.absence import says_not_found
from gistread.readers.answer_marks import foreign_numbers_and_dates
from gistread.readers.evidence import statement_spans
from gistread.readers.gibberish import content_words
from gistread.readers.phrases import pattern
from gistread.readers.thread import REFERENCE
from gistread.search.tokens import Terms, code_of, language_of
from gistread.store.model import AnswerMark, AnswerMarkKind, Citation

NOT_IN_SOURCES = "not in the sources"
_AROUND = 300  # Characters around a source that belong to it
# An answer with more statements tells more than a few sources can, if it does not name them.
_FEW_STATEMENTS = 3
_ENDS_IN_ITS_REFERENCES = re.compile(r"\A[^\[]*(?:\[\d+\]\W*)+\Z")
_REFERENCES_BEHIND = re.compile(r"(?:\s*\[\d+\])*")


def source_marks(
    answer: str,
    question: str,
    book: Book,
    citations: Sequence[Citation],
    cited: Sequence[Passage] = (),
) -> list[AnswerMark]:
    """Marks of the answer, compared with its sources, in order.

    `cited`: the passages that the answer cites as [1], [2] …; `citations` has a sentence of each.
    Without them, `citations` are the sentences nearest to the answer.
    """
    sources = [
        (citation.start, citation.end) for citation in citations if not citation.tells
    ]
    if not sources:
        return []
    check = _Check(answer, question, book, sources, cited)
    marks: list[AnswerMark] = []
    statements = statement_spans(answer)
    if _ENDS_IN_ITS_REFERENCES.search(answer):
        # They may be for all of the answer.
        statements = [(0, len(answer))]
    # Where sources may not cover the answer, the book may tell a number elsewhere.
    is_covered = bool(cited) or len(statements) <= _FEW_STATEMENTS
    for start, end in statements:
        marks += check.marks_of(start, end, is_covered=is_covered)
    return marks


@dataclass(frozen=True, slots=True)
class _Check:
    answer: str
    question: str
    book: Book
    sources: Sequence[Passage]  # The sentences that are shown as sources
    cited: Sequence[Passage]  # By the numbers in the answer

    def marks_of(self, start: int, end: int, *, is_covered: bool) -> list[AnswerMark]:
        """The marks of the statement `answer[start:end]`."""
        statement = self.answer[start:end]
        if says_not_found(statement):
            return []
        named = self._passages_named(start, end)
        text = self._text_of(named or [*self.sources, *self.cited])
        should_share = bool(named) and not pattern("asks_for_interpretation").search(
            self.question
        )
        if should_share and self._shares_nothing(statement, text):
            kind = AnswerMarkKind.STATEMENT
            return [AnswerMark(start, end, kind, NOT_IN_SOURCES)]
        foreign = foreign_numbers_and_dates(
            self.answer, self.question, text, self.book, only_shown=is_covered
        )
        kind = AnswerMarkKind.NUMBER
        return [
            AnswerMark(*span, kind, NOT_IN_SOURCES)
            for span in foreign
            if start <= span[0] < end
        ]

    def _passages_named(self, start: int, end: int) -> list[Passage]:
        """The passages whose numbers are in a statement, or right behind it."""
        behind = _REFERENCES_BEHIND.match(self.answer, end)
        if behind:
            end = behind.end()
        named: list[Passage] = []
        for reference in REFERENCE.finditer(self.answer, start, end):
            number = int(reference[1])
            if 0 < number <= len(self.cited):
                named.append(self.cited[number - 1])
                # The sentence that the model named for it
                named += self.sources[number - 1 : number]
        return named

    def _text_of(self, places: Iterable[Passage]) -> str:
        """The text of places, with what is around them."""
        text = self.book.text
        windows = [
            text[max(0, start - _AROUND) : end + _AROUND] for start, end in places
        ]
        return "\n".join(windows)

    def _shares_nothing(self, statement: str, text: str) -> bool:
        """Whether a text has no content word of a statement, nor of the question."""
        language = code_of(self.book.language)
        if language_of(statement, language_of(self.question, language)) != language:
            return False
        terms = Terms(language)
        statement_words = content_words(statement, terms)
        question_words = content_words(self.question, terms)
        stems = {terms.stem(word) for word in content_words(text, terms)}
        return bool(statement_words) and not any(
            terms.stem(word) in stems for word in statement_words | question_words
        )


def merged_marks(
    marks: Iterable[AnswerMark], more: Iterable[AnswerMark]
) -> tuple[AnswerMark, ...]:
    """Both in the order of the answer; where they overlap, the longer mark alone."""
    merged: list[AnswerMark] = []
    for mark in sorted([*marks, *more], key=_length, reverse=True):
        if all(mark.end <= other.start or other.end <= mark.start for other in merged):
            merged.append(mark)
    return tuple(sorted(merged, key=lambda mark: mark.start))


def _length(mark: AnswerMark) -> int:
    return mark.end - mark.start
