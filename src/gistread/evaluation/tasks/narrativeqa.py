"""NarrativeQA: whole novels and film scripts, with questions written from their summaries (Kočiský et al., 2018).

The authors' folder: `documents.csv`, `qaps.csv`, and the stories that their script fetches, `tmp/ID.content`: plain
text of Project Gutenberg, or a page with a script. Stories that were not fetched are left out.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from gistread.book.open import open_book
from gistread.evaluation.model import Document, Question
from gistread.evaluation.tasks.questions import references
from gistread.evaluation.tasks.records import Record, table_records, task_error
from gistread.evaluation.tasks.task import DEFAULT_TASK_OPTIONS, TaskOptions

_SETS = ("train", "valid", "test")
_DEFAULT_SET = "valid"


def load_narrativeqa(path: Path, options: TaskOptions = DEFAULT_TASK_OPTIONS) -> Iterator[Document]:
    """A story a document: those of the set `options.split`, or of the validation set. See `Loader`."""
    folder = path if path.is_dir() else path.parent
    wanted = options.split or _DEFAULT_SET
    if wanted not in _SETS:
        raise task_error(f"NarrativeQA has no set {wanted}; there are {', '.join(_SETS)}")
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
            f"None of the {len(documents)} stories of the set {wanted} is there: fetch them with download_stories.sh "
            f"into {folder / 'tmp'}"
        )


def _places(folder: Path, id_: str) -> Iterator[Path]:
    """Where a story may lie. Its identifier is a hash, not a path."""
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
