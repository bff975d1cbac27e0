"""LiteraryQA (Bonomo et al., 2025): novels, in the records or in files beside them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from gistread.book.formats.text import read_text
from gistread.book.model import Book
from gistread.book.open import open_book
from research.evaluation.model import Document, Question
from research.evaluation.tasks.records import Record, json_records, references
from research.evaluation.tasks.registry import TaskOptions

# LiteraryQA's `text_file` is relative to the folder of the file, or to one above it
_FOLDERS_UP = 3


def _question(
    record: Record, number: int, answers: Sequence[str], column: str
) -> Question:
    right_answers = references(answers)
    if not right_answers:
        raise record.wrong(f"`{column}` is empty")
    text = record.text("question").strip()
    return Question(str(number), text, references=right_answers)


def load_literaryqa(path: Path, options: TaskOptions) -> Iterator[Document]:
    """One document for each novel. See `Task.load`."""
    for record in json_records(path):
        book = _book(record, path)
        questions = tuple(
            _question(qa, number, qa.texts("answers"), "answers")
            for number, qa in enumerate(record.records("qas"), 1)
        )
        if not questions:
            raise record.wrong("`qas` is empty")
        yield Document(record.label("document_id"), book, questions)


def _book(record: Record, path: Path) -> Book:
    title = record.text("title").strip()
    if "text" in record:
        book = read_text(record.text("text").encode("utf-8", "replace"), title)
    elif "text_file" in record:
        book = open_book(_text_file(record, path))
    else:
        raise record.wrong(
            "`text` and `text_file` are missing; the authors' script fetches the books"
        )
    authors = book.authors
    if "metadata" in record:
        author = record.record("metadata").text_or_empty("author").strip()
        if author:
            authors = (author,)
    return replace(book, title=title or book.title, authors=authors)


def _text_file(record: Record, path: Path) -> Path:
    name = PurePosixPath(record.text("text_file"))
    if name.is_absolute() or ".." in name.parts:
        raise record.wrong(f"`text_file` is outside the data folder: {name}")
    folder = (path if path.is_dir() else path.parent).absolute()
    folders = (folder, *folder.parents)
    for above in folders[:_FOLDERS_UP]:
        file = above / name
        if file.is_file():
            return file
    raise record.wrong(f"no file {name} in {folder} or above it")
