"""MuSiQue: questions that take two to four paragraphs, among twenty (Trivedi et al., 2022).

The file `ans` has answerable questions alone; in `full` every other one cannot be answered from its paragraphs.
"""

from collections.abc import Iterator
from pathlib import Path

from gistread.evaluation.model import Document
from gistread.evaluation.tasks.passages import Passage, Problem, document
from gistread.evaluation.tasks.records import Record, json_records
from gistread.evaluation.tasks.task import DEFAULT_TASK_OPTIONS, TaskOptions


def load_musique(path: Path, options: TaskOptions = DEFAULT_TASK_OPTIONS) -> Iterator[Document]:
    """One document for each question. See `Loader`."""
    for record in json_records(path):
        yield document(musique_problem(record), "musique")


def musique_problem(record: Record) -> Problem:
    """The question of a record. Raises GistreadError."""
    passages = []
    for paragraph in record.records("paragraphs"):
        text = paragraph.text("paragraph_text")
        supports = paragraph.flag("is_supporting", default=False)
        passages.append(Passage(paragraph.text("title"), text, (text,) if supports else ()))
    if not passages:
        raise record.wrong("`paragraphs` is empty")
    answers = (record.text("answer"), *(record.texts("answer_aliases") if "answer_aliases" in record else ()))
    answerable = record.flag("answerable", default=True)
    return Problem(record.label("id"), record.text("question"), answers, tuple(passages), answerable)
