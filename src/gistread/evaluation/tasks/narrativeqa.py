"""NarrativeQA: whole novels and film scripts, with questions written from their summaries (Kočiský et al., 2018).

Reads the authors' folder: `documents.csv`, `qaps.csv`, and the stories fetched by their script, `tmp/ID.content`
(Project Gutenberg's plain text, or a web page with a script). Stories not fetched are skipped.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from gistread.book.open import open_book
from gistread.evaluation.model import Document, Question
from gistread.evaluation.tasks.common import references
from gistread.evaluation.tasks.records import Record, table_records, task_error
from gistread.evaluation.tasks.task import DEFAULT_TASK_OPTIONS, TaskOptions

_SETS = ("train", "valid", "test")
_DEFAULT_SET = "valid"


def load_narrativeqa(path: Path, options: TaskOptions = DEFAULT_TASK_OPTIONS) -> Iterator[Document]:
    """One document for each story of the set `options.split`, by default `valid`. See `Loader`."""
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
    """Possible files of a story. Its identifier is a hash, never a path."""
    if id_.isalnum():
        yield from (folder / "tmp" / f"{id_}.content", folder / f"{id_}.content")


def _document(id_: str, story: Path, row: Record, asked: list[Record]) -> Document:
    book = open_book(story)
    title = row.text_or("wiki_title").strip()
    questions = tuple(_question(record, number) for number, record in enumerate(asked, 1))
    return Document(id_, replace(book, title=title or book.title), questions)


def _question(record: Record, number: int) -> Question:
    answers = references(record.text_or(column) for column in ("answer1", "answer2"))
    if not answers:
        raise record.lacks("answer1", "a text")
    return Question(str(number), record.text("question").strip(), references=answers)
