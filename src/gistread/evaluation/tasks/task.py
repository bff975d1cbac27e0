"""What a task is: where its file comes from, what it looks like, and what is measured on it.

Imports nothing that reads a book: the command line names every task before it is known what is wanted.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from gistread.evaluation.model import Document


def estimated_tokens(text: str) -> int:
    """Tokens in a text, without a model: a quarter of its characters, or a word each where words are characters.

    Of English novels, transcripts and encyclopaedias this is within a tenth of what SmolLM2's vocabulary makes of them.
    """
    from gistread.book.normalise import count_words

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

    def __call__(self, path: Path, options: TaskOptions = DEFAULT_TASK_OPTIONS) -> "Iterator[Document]":
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
