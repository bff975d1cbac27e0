"""SQuAD and XQuAD: paragraphs of Wikipedia; in 2.0, half of the questions have no answer (Rajpurkar et al., 2018)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gistread.book.builder import BookBuilder
from gistread.book.sentences import sentence_spans
from gistread.evaluation.model import Document, Place, Question
from gistread.evaluation.tasks.passages import PRESET, Passage, Problem, add_text
from gistread.evaluation.tasks.records import Record, distinct, json_document, references
from gistread.evaluation.tasks.registry import TaskOptions

_XQUAD = re.compile(r"xquad\.(?P<language>[a-z]{2})\.json", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Paragraph:
    title: str  # Of the article
    text: str
    asked: tuple[Problem, ...]


def load_squad(path: Path, options: TaskOptions) -> Iterator[Document]:
    for title, paragraphs in squad_articles(path):
        builder = BookBuilder()
        found: list[tuple[Problem, Place]] = []
        for paragraph in paragraphs:
            place = add_text(builder, paragraph.text)
            found += [(asked, place) for asked in paragraph.asked if place]
        book = builder.build(title=title, language=language_of(path), source_format="squad")
        ids = distinct(asked.id for asked, _ in found)
        questions = tuple(_question(id_, asked, place) for id_, (asked, place) in zip(ids, found, strict=True))
        yield Document(title, book, questions, preset=PRESET)


def squad_articles(path: Path) -> Iterator[tuple[str, list[Paragraph]]]:
    for article in json_document(path).records("data"):
        title = article.text("title").replace("_", " ").strip()
        paragraphs = [_paragraph(record, title) for record in article.records("paragraphs")]
        if not any(paragraph.text.strip() and paragraph.asked for paragraph in paragraphs):
            raise article.wrong("no paragraph has a question")
        yield title, paragraphs


def language_of(path: Path) -> str:
    """English, or the language in the name of an XQuAD file."""
    named = _XQUAD.fullmatch(path.name)
    return named["language"].lower() if named else "en"


def _paragraph(record: Record, title: str) -> Paragraph:
    text = record.text("context")
    return Paragraph(title, text, tuple(_problem(qa, title, text) for qa in record.records("qas")))


def _problem(qa: Record, title: str, text: str) -> Problem:
    """A question; the sentences of its first answer support it."""
    answers: list[str] = []
    support: tuple[str, ...] = ()
    for answer in qa.records("answers"):
        said, start = answer.text("text"), answer.number("answer_start")
        if not said.strip():
            raise answer.wrong("`text` is empty")
        if text[start : start + len(said)] != said and (start := text.find(said)) < 0:  # some offsets are wrong
            raise answer.wrong(f"{said!r} is not in `context`")
        end = start + len(said)
        support = support or tuple(text[a:b] for a, b in sentence_spans(text) if a < end and start < b)
        answers.append(said)
    answerable = not qa.flag("is_impossible", default=False)
    if answerable and not answers:
        raise qa.wrong("`answers` is empty")
    passage = Passage(title, text, support)
    return Problem(qa.label("id"), qa.text("question").strip(), tuple(answers), (passage,), answerable)


def _question(id_: str, asked: Problem, place: Place) -> Question:
    if not asked.answerable:
        return Question(id_, asked.question, answerable=False)
    return Question(id_, asked.question, references=references(asked.answers), gold_places=(place,))
