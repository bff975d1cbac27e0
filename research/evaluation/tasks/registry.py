"""Every task by name (tasks.toml).

Imports no book before it is used: the command line names all tasks.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from research.evaluation.model import Document


@dataclass(frozen=True, slots=True)
class TaskOptions:
    """Options of all tasks; each task uses some of them."""

    seed: int = 0  # Seed of all random choices
    # For a folder with several splits: `train`, `valid` …; empty for the task's default
    split: str = ""


DEFAULT_TASK_OPTIONS = TaskOptions()


@dataclass(frozen=True, slots=True)
class Task:
    """A benchmark whose file the user provides, and what is measured on it."""

    name: str  # As on the command line
    summary: str  # One line
    source: str  # Where a user gets the file
    licence: str  # Licence of the data, by SPDX name if it has one
    file_format: str  # The expected file, in one or two lines
    # Names of its metrics (`metrics.py`), most informative first
    metrics: tuple[str, ...]
    # Yields the documents of a file by `TaskOptions`, always in the same order. Raises
    # GistreadError.
    load: Callable[..., "Iterator[Document]"]


def _loader(path: str) -> Callable[..., "Iterator[Document]"]:
    """The function with this path, such as `qmsum.load_qmsum`, with unique ids of documents."""
    module_name, function_name = path.split(".")

    def load(
        path: Path, options: TaskOptions = DEFAULT_TASK_OPTIONS
    ) -> "Iterator[Document]":
        # It imports the book formats.
        from research.evaluation.tasks.records import unique_namer

        module = import_module(f"research.evaluation.tasks.{module_name}")
        load_documents = getattr(module, function_name)
        unique = unique_namer()
        for document in load_documents(path, options):
            yield replace(document, id=unique(document.id))

    return load


def _task(name: str, table: Mapping[str, Any]) -> Task:
    """The task that a table in tasks.toml describes."""
    metrics = tuple(table["metrics"])
    load = _loader(table["load"])
    return Task(name, **{**table, "metrics": metrics, "load": load})


_TABLES = tomllib.loads(Path(__file__).with_name("tasks.toml").read_text("utf-8"))
# Every task by the name that `python -m research.evaluation` takes.
TASKS: Mapping[str, Task] = MappingProxyType(
    {name: _task(name, table) for name, table in _TABLES.items()}
)
