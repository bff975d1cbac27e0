"""`gistread eval list`: every task, and where to get its file."""

from gistread.errors import ExitStatus
from gistread.evaluation.metrics import METRICS
from gistread.evaluation.tasks.registry import TASKS
from tests.cli.conftest import Run


def test_every_task_is_shown_with_source_licence_format_and_metrics(run: Run) -> None:
    ran = run("eval", "list")
    assert (ran.status, ran.err) == (ExitStatus.DONE, "")
    shown = " ".join(ran.out.split())
    for task in TASKS.values():
        for fact in (task.name, task.summary, task.source, task.licence, task.file_format, ", ".join(task.metrics)):
            assert fact in shown
    for metric in METRICS.values():
        assert f"{metric.name} {metric.summary}; {metric.unit}" in shown
    assert max(map(len, ran.out.splitlines())) <= 100


def test_the_list_as_json(run: Run) -> None:
    document = run("eval", "list", "--json").json
    tasks = document["tasks"]
    assert [metric["name"] for metric in document["metrics"]] == list(METRICS)
    assert all(set(metric) == {"name", "summary", "unit", "more_is_better"} for metric in document["metrics"])
    assert [task["name"] for task in tasks] == list(TASKS)
    assert all(set(task) == {"name", "summary", "source", "licence", "format", "metrics"} for task in tasks)
