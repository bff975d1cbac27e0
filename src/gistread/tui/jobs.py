"""Runs coroutine functions as workers of a widget."""

from collections.abc import Callable, Coroutine
from typing import Any

from textual.dom import DOMNode
from textual.worker import Worker

Job = Callable[[], Coroutine[Any, Any, None]]


def run_job(
    node: DOMNode, job: Job, *, group: str = "default", exclusive: bool = True
) -> Worker[None]:
    """Run a job in a worker of `node`.

    `exclusive`: cancel the other jobs of the group. A job that is cancelled before it begins has
    made no coroutine, so none is left unawaited.
    """
    # mypy cannot choose among the three kinds of work that `run_worker` takes.
    work: Any = job
    return node.run_worker(work, group=group, exclusive=exclusive)
