"""Documents made of titled passages, with the supporting sentences as gold places."""

import re
from dataclasses import dataclass

from gistread.book.builder import BookBuilder
from gistread.book.model import ParagraphKind
from gistread.book.normalise import clean_line
from gistread.evaluation.model import Document, Place, Question, merge_places
from gistread.evaluation.tasks.records import references

_EMPTY_LINE = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
PRESET = "paper"  # For encyclopaedic text, full of names, numbers and claims


@dataclass(frozen=True, slots=True)
class Passage:
    """A paragraph and the part of it that supports the answer."""

    title: str
    text: str
    support: tuple[str, ...] = ()  # Supporting sentences, or the whole text; empty if it is unrelated


@dataclass(frozen=True, slots=True)
class Problem:
    id: str
    question: str
    answers: tuple[str, ...]
    passages: tuple[Passage, ...]
    answerable: bool = True

    @property
    def supporting(self) -> tuple[Passage, ...]:
        return tuple(passage for passage in self.passages if passage.support)


def document(problem: Problem, source_format: str) -> Document:
    builder = BookBuilder()
    gold = [place for passage in problem.passages for place in add_passage(builder, passage)]
    book = builder.build(title="Encyclopaedia", language="en", source_format=source_format)
    question = Question(
        problem.id,
        problem.question.strip(),
        references=references(problem.answers) if problem.answerable else (),
        gold_places=merge_places(gold) if problem.answerable else (),
        answerable=problem.answerable,
    )
    return Document(problem.id, book, (question,), preset=PRESET)


def add_passage(builder: BookBuilder, passage: Passage) -> list[Place]:
    """Append title and text; the places of the support."""
    if passage.title.strip():
        builder.add(passage.title, ParagraphKind.HEADING, 2)
    start = builder.next_start
    if not builder.add(passage.text):
        return []
    return [(start + first, start + last) for first, last in places_of(passage)]


def add_text(builder: BookBuilder, text: str) -> Place | None:
    """Append a text, split into paragraphs at empty lines; its place, or None if it has no readable text."""
    start = builder.next_start
    added = [builder.add(part) for part in _EMPTY_LINE.split(text.replace("\r\n", "\n"))]
    return (start, builder.characters) if any(added) else None


def places_of(passage: Passage) -> list[Place]:
    """Places of the support in the normalised text of the passage; the whole text if one is not found."""
    text = clean_line(passage.text)
    places = []
    behind = 0
    for sentence in passage.support:
        sentence = clean_line(sentence)
        first = text.find(sentence, behind)
        if first < 0:
            first = text.find(sentence)
        if first < 0:
            return [(0, len(text))]
        behind = first + len(sentence)
        if sentence:
            places.append((first, behind))
    return places
