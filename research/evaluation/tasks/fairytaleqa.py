"""FairytaleQA: stories in sections, which the questions name (Xu et al., 2022).

As folders of tables or as JSON lines.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from gistread.book.builder import BookBuilder
from research.evaluation.model import (
    BETWEEN_PARAGRAPHS,
    Document,
    Place,
    Question,
    merge_places,
)
from research.evaluation.tasks.records import (
    Record,
    distinct,
    json_records,
    references,
    table_records,
    task_error,
)
from research.evaluation.tasks.registry import TaskOptions

_QUESTIONS = "-questions.csv"
_SHORT = {"valid": "val", "validation": "val"}  # Folder names of splits
_NUMBER = re.compile(r"\d+")
_EMPTY_LINE = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
# Columns of two annotators; most are empty
_ANSWERS = tuple(f"answer{number}" for number in range(1, 7))


def load_fairytaleqa(path: Path, options: TaskOptions) -> Iterator[Document]:
    """One document for each story. See `Task.load`."""
    if path.is_dir() and any(path.rglob(f"*{_QUESTIONS}")):
        return _from_tables(path, options.split)
    return _from_lines(path)


def _from_lines(path: Path) -> Iterator[Document]:
    for record in json_records(path):
        name = record.text("story", "story_name")
        sections = dict(enumerate(record.texts("sections"), 1))
        questions = list(record.records("questions"))
        yield _document(name, sections, questions, record)


def _from_tables(folder: Path, split: str) -> Iterator[Document]:
    # Everything is there twice, by origin and by split.
    by_split = folder / "data-by-train-split"
    top = by_split if by_split.is_dir() else folder
    files = sorted(top.rglob(f"*{_QUESTIONS}"))
    if split:
        names = (split, _SHORT.get(split, split))
        files = [file for file in files if file.parent.name in names]
        if not files:
            raise task_error(f"{folder} has no folder {split} with questions")
    for questions in files:
        name = questions.name.removesuffix(_QUESTIONS)
        story = _stories_folder(questions) / f"{name}-story.csv"
        if not story.is_file():
            raise task_error(f"{questions.name} has no story: no such file {story}")
        rows = table_records(story)
        sections = {row.number("section"): row.text("text") for row in rows}
        yield _document(name, sections, table_records(questions), rows[0])


def _stories_folder(questions: Path) -> Path:
    """The folder of the stories: …/section-stories/train for …/questions/train."""
    parts = list(questions.parent.absolute().parts)
    if "questions" not in parts:
        raise task_error(
            f"{questions} is in no folder `questions` with a folder `section-stories` beside it"
        )
    last = len(parts) - 1 - parts[::-1].index("questions")
    parts[last] = "section-stories"
    return Path(*parts)


def _document(
    name: str, sections: dict[int, str], questions: Sequence[Record], record: Record
) -> Document:
    builder = BookBuilder()
    added = {number: _add_text(builder, text) for number, text in sections.items()}
    places = {number: place for number, place in added.items() if place}
    if not places:
        raise record.wrong("the story has no text")
    book = builder.build(
        title=name.replace("-", " ").title(), language="en", source_format="fairytaleqa"
    )
    ids = distinct(question.label("question_id") for question in questions)
    converted = tuple(
        _question(id_, question, places)
        for id_, question in zip(ids, questions, strict=True)
    )
    return Document(name, book, converted)


def _add_text(builder: BookBuilder, text: str) -> Place | None:
    """Append a text, split into paragraphs at empty lines.

    Returns its place, or None if it has no readable text.
    """
    start = builder.next_start
    paragraphs = _EMPTY_LINE.split(text.replace("\r\n", "\n"))
    added = [builder.add(paragraph) for paragraph in paragraphs]
    if not any(added):
        return None
    return (start, builder.characters)


def _question(id_: str, record: Record, places: dict[int, Place]) -> Question:
    answers = references(record.text_or_empty(column) for column in _ANSWERS)
    if not answers:
        raise record.wrong("`answer1` is missing")
    gold = [places[number] for number in _sections(record) if number in places]
    return Question(
        id_,
        record.text("question"),
        references=answers,
        gold_places=merge_places(gold, BETWEEN_PARAGRAPHS),
    )


def _sections(record: Record) -> Iterable[int]:
    """The numbers of the sections with the answer."""
    label = record.label("cor_section")
    numbers = [int(number) for number in _NUMBER.findall(label)]
    if not numbers:
        raise record.wrong(f"`cor_section` is not a list of section numbers: {label!r}")
    return numbers
