"""Every task by its name. A loader is imported when it is used: the command line names all of them and runs one."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import cast

from gistread.evaluation.model import DEFAULT_TASK_OPTIONS, Document, Loader, Task, TaskOptions

_ANSWERS = ("lr-1", "lr-2", "rouge-l", "rouge-1", "rouge-2", "f1", "exact-match")
_SHORT_ANSWERS = ("f1", "exact-match", "lr-1", "lr-2")
_PLACES = ("page-recall", "gold-coverage")


def _loader(place: str) -> Loader:
    """The loader at `module:function` under this package."""

    def load(path: Path, options: TaskOptions = DEFAULT_TASK_OPTIONS) -> Iterator[Document]:
        module, _, function = place.partition(":")
        loader = cast(Loader, getattr(import_module(f"gistread.evaluation.tasks.{module}"), function))
        return loader(path, options)

    return load


_TASKS = (
    Task(
        "fairytaleqa",
        "questions about fairy tales that name the sections with the answer",
        "github.com/uci-soe/FairytaleQAData",
        "Apache-2.0",
        "the folder data-by-train-split/questions/val of the repository, with its neighbour section-stories; or JSON "
        "lines: story, sections, questions [question_id, question, cor_section, answer1 …]",
        (*_PLACES, *_ANSWERS),
        _loader("fairytaleqa:load_fairytaleqa"),
    ),
)
TASKS: Mapping[str, Task] = MappingProxyType({task.name: task for task in _TASKS})
"""Every task by the name that `gistread eval` takes."""
