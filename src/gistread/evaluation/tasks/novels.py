"""NarrativeQA (Kočiský et al., 2018) and LiteraryQA (Bonomo et al., 2025): novels and film scripts.

NarrativeQA is the authors' folder with the stories fetched by their script; others are skipped. LiteraryQA's books are
in its records, or in files beside them.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from gistread.book.formats.text import read_text
from gistread.book.model import Book
from gistread.book.open import open_book
from gistread.evaluation.model import Document, Question
from gistread.evaluation.tasks.records import Record, json_records, references, table_records, task_error
from gistread.evaluation.tasks.registry import TaskOptions

_SETS = ("train", "valid", "test")
_DEFAULT_SET = "valid"
_FOLDERS_UP = 3  # LiteraryQA's `text_file` is relative to the folder of the file, or to one above it


def load_narrativeqa(path: Path, options: TaskOptions) -> Iterator[Document]:
    """One document for each story of the set `options.split`, by default `valid`. See `Task.load`."""
    folder = path if path.is_dir() else path.parent
    wanted = options.split or _DEFAULT_SET
    if wanted not in _SETS:
        raise task_error(f"Unknown split {wanted}; NarrativeQA has {', '.join(_SETS)}")
    asked: dict[str, list[Record]] = defaultdict(list)
    documents = [row for row in table_records(folder / "documents.csv") if row.text("set") == wanted]
    for row in table_records(folder / "qaps.csv"):
        asked[row.text("document_id")].append(row)
    fetched = 0
    for row in documents:
        id_ = row.text("document_id")
        story = next((place for place in _places(folder, id_) if place.is_file()), None)
        if story is not None and asked[id_]:
            fetched += 1
            yield _document(id_, story, row, asked[id_])
    if not fetched:
        raise task_error(
            f"None of the {len(documents)} stories of the split {wanted} was fetched: use download_stories.sh "
            f"to put them into {folder / 'tmp'}"
        )


def _places(folder: Path, id_: str) -> Iterator[Path]:
    if id_.isalnum():
        yield from (folder / "tmp" / f"{id_}.content", folder / f"{id_}.content")


def _document(id_: str, story: Path, row: Record, asked: list[Record]) -> Document:
    book = open_book(story)
    title = row.text_or_empty("wiki_title").strip()
    questions = tuple(
        _question(record, number, [record.text_or_empty("answer1"), record.text_or_empty("answer2")], "answer1")
        for number, record in enumerate(asked, 1)
    )
    return Document(id_, replace(book, title=title or book.title), questions)


def _question(record: Record, number: int, answers: Sequence[str], column: str) -> Question:
    if not (right := references(answers)):
        raise record.wrong(f"`{column}` is empty")
    return Question(str(number), record.text("question").strip(), references=right)


def load_literaryqa(path: Path, options: TaskOptions) -> Iterator[Document]:
    for record in json_records(path):
        book = _book(record, path)
        questions = tuple(
            _question(qa, number, qa.texts("answers"), "answers") for number, qa in enumerate(record.records("qas"), 1)
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
        raise record.wrong("`text` and `text_file` are missing; the authors' script fetches the books")
    author = record.record("metadata").text_or_empty("author").strip() if "metadata" in record else ""
    return replace(book, title=title or book.title, authors=(author,) if author else book.authors)


def _text_file(record: Record, path: Path) -> Path:
    name = PurePosixPath(record.text("text_file"))
    if name.is_absolute() or ".." in name.parts:
        raise record.wrong(f"`text_file` is outside the data folder: {name}")
    folder = (path if path.is_dir() else path.parent).absolute()
    tried = [above / name for above in (folder, *folder.parents)[:_FOLDERS_UP]]
    for file in tried:
        if file.is_file():
            return file
    raise record.wrong(f"no file {name} in {folder} or above it")
