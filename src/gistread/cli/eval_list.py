"""`gistread eval list`: the tasks there are, where a user gets the file of each, and what the metrics say."""

import argparse
import shutil
import textwrap
from collections.abc import Iterator

from gistread.cli.output import write, write_json
from gistread.errors import ExitStatus
from gistread.evaluation.metrics import COSTS, METRICS, Metric
from gistread.evaluation.tasks.registry import TASKS
from gistread.evaluation.tasks.task import Task

_MOST_COLUMNS = 100
_LABEL_COLUMNS = 10
_METRIC_COLUMNS = 18


def list_tasks(arguments: argparse.Namespace) -> ExitStatus:
    """Print every task and every metric; with `--json`, as one document."""
    if arguments.json:
        write_json(
            {
                "tasks": [_task_document(task) for task in TASKS.values()],
                "metrics": [_metric_document(metric) for metric in METRICS.values()],
            }
        )
        return ExitStatus.DONE
    columns = min(_MOST_COLUMNS, shutil.get_terminal_size((_MOST_COLUMNS, 24)).columns)
    for task in TASKS.values():
        write("\n".join(_task_lines(task, columns)), end="\n\n")
    write("metrics")
    for metric in METRICS.values():
        write("\n".join(_metric_lines(metric, columns)))
    write("\n".join(_wrapped("", f"Of every task: {', '.join(COSTS)}.", columns)))
    return ExitStatus.DONE


def _task_document(task: Task) -> dict[str, object]:
    return {
        "name": task.name,
        "summary": task.summary,
        "source": task.source,
        "licence": task.licence,
        "format": task.file_format,
        "metrics": list(task.metrics),
    }


def _metric_document(metric: Metric) -> dict[str, object]:
    return {
        "name": metric.name,
        "summary": metric.summary,
        "unit": metric.unit,
        "more_is_better": metric.more_is_better,
    }


def _task_lines(task: Task, columns: int) -> Iterator[str]:
    yield from _wrapped(f"{task.name}: ", task.summary, columns)
    facts = {
        "from": f"{task.source} ({task.licence})",
        "format": task.file_format,
        "metrics": ", ".join(task.metrics),
    }
    for label, fact in facts.items():
        yield from _wrapped(f"  {label:{_LABEL_COLUMNS}}", fact, columns)


def _metric_lines(metric: Metric, columns: int) -> list[str]:
    better = {True: "more is better", False: "less is better", None: ""}[metric.more_is_better]
    facts = "; ".join(filter(None, (metric.summary, metric.unit, better)))
    return _wrapped(f"  {metric.name:{_METRIC_COLUMNS}}", facts, columns)


def _wrapped(head: str, text: str, columns: int) -> list[str]:
    """The text behind its head, whose place stays free in the lines that follow."""
    behind = " " * len(head)
    return textwrap.wrap(
        text, columns, initial_indent=head, subsequent_indent=behind, break_long_words=False, break_on_hyphens=False
    )
