"""`gistread eval list`: the tasks there are, where a user gets the file of each, and what is measured on it."""

import argparse
import textwrap

from gistread.cli.output import write, write_json
from gistread.errors import ExitStatus
from gistread.evaluation.model import Task
from gistread.evaluation.tasks.registry import TASKS

_COLUMNS = 100
_LABEL_COLUMNS = 10


def list_tasks(arguments: argparse.Namespace) -> ExitStatus:
    """Print every task; with `--json`, as one document."""
    if arguments.json:
        write_json({"tasks": [_document(task) for task in TASKS.values()]})
        return ExitStatus.DONE
    write("\n\n".join(_shown(task) for task in TASKS.values()))
    return ExitStatus.DONE


def _document(task: Task) -> dict[str, object]:
    return {
        "name": task.name,
        "summary": task.summary,
        "source": task.source,
        "licence": task.licence,
        "format": task.file_format,
        "metrics": list(task.metrics),
    }


def _shown(task: Task) -> str:
    facts = {
        "from": f"{task.source} ({task.licence})",
        "format": task.file_format,
        "metrics": ", ".join(task.metrics),
    }
    lines = [f"{task.name}: {task.summary}"]
    for label, fact in facts.items():
        head = f"  {label:{_LABEL_COLUMNS}}"
        lines += textwrap.wrap(
            fact,
            _COLUMNS,
            initial_indent=head,
            subsequent_indent=" " * len(head),
            break_long_words=False,
            break_on_hyphens=False,
        )
    return "\n".join(lines)
