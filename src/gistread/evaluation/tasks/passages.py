"""Questions over several passages, some of which tell the answer: HotpotQA and MuSiQue, before they become documents.

The passages of one question become one text, each under its title; what supports the answer in them is a gold place.
Knows no file.
"""

from dataclasses import dataclass

from gistread.book.builder import BookBuilder
from gistread.book.model import ParagraphKind
from gistread.book.normalise import clean, one_line
from gistread.evaluation.model import Document, Question
from gistread.evaluation.places import Place, united
from gistread.evaluation.tasks.questions import references

PRESET = "paper"
"""Of encyclopaedic text: names, numbers and claims, as in a paper."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A paragraph, and what of it supports the answer."""

    title: str
    text: str
    support: tuple[str, ...] = ()
    """Sentences of it, or the whole of it; empty: it has nothing to do with the answer."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A question, and the passages that come with it."""

    id: str
    question: str
    answers: tuple[str, ...]
    passages: tuple[Passage, ...]
    answerable: bool = True

    @property
    def supporting(self) -> tuple[Passage, ...]:
        return tuple(passage for passage in self.passages if passage.support)


def document(problem: Problem, source_format: str) -> Document:
    """One text of all passages, in the order of the file, and the one question."""
    builder = BookBuilder()
    gold = [place for passage in problem.passages for place in add_passage(builder, passage)]
    book = builder.build(title="Encyclopaedia", language="en", source_format=source_format)
    question = Question(
        problem.id,
        problem.question.strip(),
        references=references(problem.answers) if problem.answerable else (),
        gold_places=united(gold) if problem.answerable else (),
        answerable=problem.answerable,
    )
    return Document(problem.id, book, (question,), preset=PRESET)


def add_passage(builder: BookBuilder, passage: Passage) -> list[Place]:
    """Append title and text; where what supports the answer came to stand."""
    if passage.title.strip():
        builder.add(passage.title, ParagraphKind.HEADING, 2)
    start = builder.next_start
    if not builder.add(passage.text):
        return []
    return [(start + first, start + last) for first, last in places_of(passage)]


def places_of(passage: Passage) -> list[Place]:
    """Where what supports the answer stands in the text of the passage as a book has it; all of it where that fails."""
    text = one_line(clean(passage.text))
    places = []
    behind = 0
    for sentence in passage.support:
        sentence = one_line(clean(sentence))
        first = text.find(sentence, behind)
        if first < 0:
            first = text.find(sentence)
        if first < 0:
            return [(0, len(text))]
        behind = first + len(sentence)
        if sentence:
            places.append((first, behind))
    return places
