"""QuALITY: stories and articles of some 5,000 words.

Questions of four options, or two (Pang et al., 2022).
"""

import random
import re
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from gistread.book.formats.text import read_text
from gistread.book.model import Book
from research.evaluation.model import Document, Question
from research.evaluation.tasks.records import Record, json_records, unique_namer
from research.evaluation.tasks.registry import TaskOptions

_MARKUP = re.compile(r"\s*<(?:!doctype|html|head|body|div|p)\b", re.IGNORECASE)
_TITLE_CHARACTERS = 60
_FOUR = 4
_TWO = 2

# Reads the question in a record; the key is unique to the question.
_ReadQuestion = Callable[[Record, str], "_MultipleChoice"]


@dataclass(frozen=True, slots=True)
class _MultipleChoice:
    question: str
    choices: tuple[str, ...]
    gold: int  # Index of the right one


def load_quality(path: Path, options: TaskOptions) -> Iterator[Document]:
    """One document for each article, with four options a question. See `Task.load`."""

    def with_four(record: Record, key: str) -> _MultipleChoice:
        question = _multiple_choice(record)
        count = len(record.items("options"))
        if count != _FOUR:
            raise record.wrong(
                f"{count} options instead of four; use the task quality-2 for two"
            )
        return question

    return _documents(path, with_four)


def load_quality_2(path: Path, options: TaskOptions) -> Iterator[Document]:
    """One document for each article, with two options a question. See `Task.load`."""

    def with_two(record: Record, key: str) -> _MultipleChoice:
        question = _multiple_choice(record)
        if len(question.choices) == _TWO:
            return question
        chance = random.Random(f"{options.seed} {key}")
        right = question.choices[question.gold]
        wrong_choices = [choice for choice in question.choices if choice != right]
        pair = [right, chance.choice(wrong_choices)]
        chance.shuffle(pair)
        return _MultipleChoice(question.question, tuple(pair), pair.index(right))

    return _documents(path, with_two)


def _documents(path: Path, read_question: _ReadQuestion) -> Iterator[Document]:
    """One document for each article."""
    articles: dict[str, list[Record]] = defaultdict(list)
    for record in json_records(path):
        articles[record.label("article_id", "doc_id")].append(record)
    for article, records in articles.items():
        questions = tuple(_questions(article, records, read_question))
        yield Document(article, _book(records[0]), questions)


def _questions(
    article: str, records: list[Record], read_question: _ReadQuestion
) -> Iterator[Question]:
    """The questions about an article, which may be in several records."""
    unique = unique_namer()
    for record in records:
        for number, entry in enumerate(record.records("questions"), 1):
            label = _question_label(entry, number)
            read = read_question(entry, f"{article} {label}")
            yield Question(
                unique(label),
                read.question,
                choices=read.choices,
                gold_choice=read.gold,
            )


def _question_label(question: Record, number: int) -> str:
    """The identifier of a question; its number if it has none."""
    for name in ("question_unique_id", "question_id_std"):
        if name in question:
            return question.label(name)
    return str(number)


def _book(record: Record) -> Book:
    text = record.text("article")
    if not text.strip():
        raise record.wrong("`article` has no text")
    if _MARKUP.match(text):
        raise record.wrong(
            "`article` is HTML; use the file with `htmlstripped` in its name"
        )
    book = read_text(text.encode("utf-8", "replace"), record.where)
    author = record.text_or_empty("author").strip()
    authors = (author,) if author else ()
    return replace(book, title=_title(record, book), authors=authors)


def _title(record: Record, book: Book) -> str:
    title = record.text_or_empty("title").strip()
    first_line = record.text_or_empty("first_line").strip()
    return textwrap.shorten(
        title or first_line or book.title, _TITLE_CHARACTERS, placeholder=" …"
    )


def _multiple_choice(record: Record) -> _MultipleChoice:
    """A question with its options, each once. Raises GistreadError."""
    choices = tuple(" ".join(option.split()) for option in record.texts("options"))
    if "gold_label" not in record:
        raise record.wrong(
            "`gold_label` is missing: the test set has no answers; use the dev set"
        )
    gold = record.number("gold_label")
    if not 1 <= gold <= len(choices):
        raise record.wrong(f"`gold_label` is {gold}, of {len(choices)} options")
    right = choices[gold - 1]
    if len(set(choices)) < _TWO or not all(choices):
        raise record.wrong("`options` are empty or all equal")
    distinct_choices = tuple(dict.fromkeys(choices))
    text = record.text("question").strip()
    return _MultipleChoice(text, distinct_choices, distinct_choices.index(right))
