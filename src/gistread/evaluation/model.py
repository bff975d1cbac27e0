"""What an evaluation is made of: documents with questions whose answers are known, and what a reader made of one.

Data alone. Where tasks come from, how a run goes and what a table shows, this does not know.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from gistread.book.model import Book
from gistread.book.words import count_words
from gistread.engine.protocol import NO_USAGE, Usage


@dataclass(frozen=True, slots=True)
class Question:
    """One question about a document. Without `references` and `choices` there is nothing that an answer could match."""

    id: str
    """The same from run to run; one of its kind in the document."""
    text: str
    references: tuple[str, ...] = ()
    """Answers that people gave; any of them is right."""
    choices: tuple[str, ...] = ()
    """Of a question with options: all of them, in the order in which they are shown."""
    gold_choice: int | None = None
    """Index of the right one."""
    gold_places: tuple[tuple[int, int], ...] = ()
    """Where in `Document.book.text` the answer stands, as far as the task says: start and end, in order."""
    answerable: bool = True
    """False: the right answer is that the text does not say."""
    cell: tuple[float, float] | None = None
    """Of a needle: length of the text in tokens, and its depth in it from 0 to 1; of two, that of the first."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text and the questions about it."""

    id: str
    """The same from run to run; one of its kind in the task."""
    book: Book
    questions: tuple[Question, ...]
    preset: str = "fiction"
    """What kind of text it is, by the names of the gisting presets."""


def estimated_tokens(text: str) -> int:
    """Tokens in a text, without a model: a quarter of its characters, or a word each where words are characters.

    Of English novels, transcripts and encyclopaedias this is within a tenth of what SmolLM2's vocabulary makes of them.
    """
    return max(round(len(text) / 4), count_words(text))


@dataclass(frozen=True, slots=True)
class TaskOptions:
    """What a task can be told; each takes what concerns it."""

    seed: int = 0
    """Of whatever is drawn by chance."""
    split: str = ""
    """Of a folder with several: `train`, `valid` …; empty: as the task has it."""
    lengths: tuple[int, ...] = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000)
    """Of the haystacks, in tokens."""
    depths: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    """Share of a haystack's tokens that stand before the (first) needle."""
    needles: int = 10
    """Questions a cell of length and depth (LongAgent, section 3.1)."""
    haystack: Path | None = None
    """A book to hide needles in; without it they are hidden among the other paragraphs of the file."""
    count: Callable[[str], int] = estimated_tokens
    """Tokens in a text, by which lengths and depths are measured."""


DEFAULT_TASK_OPTIONS = TaskOptions()


class Loader(Protocol):
    """Reads the file of a task."""

    def __call__(self, path: Path, options: TaskOptions = DEFAULT_TASK_OPTIONS) -> Iterator[Document]:
        """Documents of the file, one after the other, the same ones in the same order every time.

        Raises GistreadError that names the file, the line and what is missing there.
        """


@dataclass(frozen=True, slots=True)
class Task:
    """A set of documents in a file that the user has, and what is measured on them."""

    name: str
    """As on the command line."""
    summary: str
    """One line."""
    source: str
    """Where a user gets the file."""
    licence: str
    """Of the data, by its SPDX name where it has one."""
    file_format: str
    """What the file must look like, in one or two lines."""
    metrics: tuple[str, ...]
    """Names of the metrics of `metrics.py` that are told of it, the most telling first."""
    load: Loader


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one reader made of one question, with all that is needed to check it by hand."""

    task: str
    document: str
    question: str
    """Its id."""
    reader: str
    text: str
    """The question as it was asked."""
    answer: str
    """Empty when it did not end."""
    found: bool
    """False: the reader says that the book does not say."""
    choice: int | None
    """Index of the option that was chosen, of a question with options."""
    lookups: tuple[int, ...]
    """Pages the reader asked for, in that order."""
    seen: tuple[tuple[int, int], ...]
    """The text of the book that stood before the model for the answer: start and end, in order."""
    citations: tuple[tuple[int, int], ...]
    context_tokens: int
    """Of book and gists in the prompt of the answer."""
    compression_rate: float
    usage: Usage = NO_USAGE
    seconds: float = 0.0
    ended: bool = True
    error: str = ""
    """Why it did not end, in one line."""
    events: tuple[str, ...] = field(default=())
    """The steps, as the command line tells them."""
    scores: tuple[tuple[str, float], ...] = ()
    """By metric, those that apply."""
