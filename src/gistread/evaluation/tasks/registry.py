"""Every task by name (tasks.toml). Imports no book before it is used: the command line names all tasks."""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gistread.evaluation.model import Document


def estimated_tokens(text: str) -> int:
    """A quarter of the characters, at least one a word: within a tenth of SmolLM2's count for English text."""
    from gistread.book.normalise import count_words

    return max(round(len(text) / 4), count_words(text))


@dataclass(frozen=True, slots=True)
class TaskOptions:
    """Options of all tasks; each task uses some of them."""

    seed: int = 0  # Seed of all random choices
    split: str = ""  # For a folder with several splits: `train`, `valid` …; empty for the task's default
    # Lengths of haystacks in tokens.
    lengths: tuple[int, ...] = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000)
    depths: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)  # Shares of a haystack's tokens before the (first) needle
    needles: int = 10  # Questions for each length and depth (LongAgent, section 3.1)
    haystack: Path | None = None  # A book to hide needles in; by default the other paragraphs of the file
    count: Callable[[str], int] = estimated_tokens  # Counts tokens, for lengths and depths


DEFAULT_TASK_OPTIONS = TaskOptions()


@dataclass(frozen=True, slots=True)
class Task:
    """A benchmark whose file the user provides, and what is measured on it."""

    name: str  # As on the command line
    summary: str  # One line
    source: str  # Where a user gets the file
    licence: str  # Licence of the data, by SPDX name if it has one
    file_format: str  # The expected file, in one or two lines
    metrics: tuple[str, ...]  # Names of its metrics (`metrics.py`), most informative first
    # Yields the documents of a file by `TaskOptions`, always in the same order. Raises GistreadError.
    load: Callable[..., "Iterator[Document]"]


def _loader(path: str) -> Callable[..., "Iterator[Document]"]:
    module, function = path.split(".")

    def load(path: Path, options: TaskOptions = DEFAULT_TASK_OPTIONS) -> "Iterator[Document]":
        from gistread.evaluation.tasks.records import unique_namer  # imports the book formats

        named = unique_namer()
        for document in getattr(import_module(f"gistread.evaluation.tasks.{module}"), function)(path, options):
            yield replace(document, id=named(document.id))

    return load


_TABLES = tomllib.loads(Path(__file__).with_name("tasks.toml").read_text("utf-8"))
# Every task by the name that `gistread eval` takes.
TASKS: Mapping[str, Task] = MappingProxyType(
    {
        name: Task(name, **table | {"metrics": tuple(table["metrics"]), "load": _loader(table["load"])})
        for name, table in _TABLES.items()
    }
)
