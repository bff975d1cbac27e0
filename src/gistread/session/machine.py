"""The session's state machine: how the reading moves between states, and which jobs run in each situation.

Pure. `Session` turns every command and every finished job into a `Signal`, then starts and stops jobs until exactly
those of `jobs_for` run.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from gistread.session.events import ReadingState as R


class Signal(StrEnum):
    """What can happen to the reading."""

    MODEL_CHOSEN = "model chosen"
    MODEL_DROPPED = "model dropped"
    MEMORY_CHOSEN = "memory chosen"
    READ = "read"
    """Start reading, or go on."""
    OPENED = "opened"
    """The model is loaded and its own memory lacks pages."""
    OPENED_OTHER = "opened other"
    """The model is loaded, and the memory of another one stays on show."""
    COMPLETE = "complete"
    """Every page of the book is in the model's memory."""
    PAUSE = "pause"
    YIELD = "yield"
    """Another model on this machine begins to answer a question."""
    REGAIN = "regain"
    """That question has ended."""
    FAIL = "fail"


_CHOSEN = tuple(state for state in R if state is not R.NO_MODEL)

TRANSITIONS: Mapping[Signal, Mapping[R, R]] = MappingProxyType(
    {
        Signal.MODEL_DROPPED: dict.fromkeys(R, R.NO_MODEL),
        Signal.MODEL_CHOSEN: dict.fromkeys(R, R.IDLE),
        Signal.MEMORY_CHOSEN: dict.fromkeys(_CHOSEN, R.IDLE),
        Signal.READ: dict.fromkeys((R.IDLE, R.OFFERED, R.PAUSED, R.FAILED), R.LOADING),
        Signal.OPENED: {R.LOADING: R.RUNNING},
        Signal.OPENED_OTHER: {R.LOADING: R.OFFERED},
        Signal.COMPLETE: dict.fromkeys((R.LOADING, R.RUNNING), R.DONE),
        Signal.PAUSE: dict.fromkeys((R.LOADING, R.RUNNING), R.PAUSED),
        Signal.YIELD: dict.fromkeys((R.LOADING, R.RUNNING), R.WAITING),
        Signal.REGAIN: {R.WAITING: R.LOADING},
        Signal.FAIL: dict.fromkeys((R.LOADING, R.RUNNING), R.FAILED),
    }
)
"""The state after a signal, by the state before; a state that is not listed stays."""

UNDER_WAY = frozenset({R.LOADING, R.RUNNING, R.WAITING})
"""States that lead on by themselves."""


def after(state: R, signal: Signal) -> R:
    """The state that a signal leads to."""
    return TRANSITIONS[signal].get(state, state)


class Job(StrEnum):
    """What a session does in the background; one task each."""

    LOAD = "load"
    """Load the model that reads and open its memory of the book."""
    READ = "read"
    PREPARE = "prepare"
    """Evaluate what every question over the memory begins with."""
    CHECK = "check"
    """Check once what the model is good for."""
    BUILD = "build"
    """Build the artifacts that are wanted."""
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class Situation:
    """All that decides which jobs run."""

    reading: R
    has_pages: bool = False
    question: bool = False
    """One was asked, and may still wait for the model or the first page."""
    answering: bool = False
    """Its model and memory are there."""
    prompt_due: bool = False
    check_due: bool = False
    artifacts_due: bool = False


def jobs_for(now: Situation) -> frozenset[Job]:
    """The jobs to run."""
    jobs = set()
    if now.reading is R.LOADING:
        jobs.add(Job.LOAD)
    if now.reading is R.RUNNING:
        jobs.add(Job.READ)
    if now.answering:
        jobs.add(Job.ANSWER)
    if now.reading is R.DONE and now.prompt_due:
        jobs.add(Job.PREPARE)
    if not now.question:  # A person who waits has the model to themselves, but for the pages still to be read.
        if now.check_due and now.reading in (R.RUNNING, R.DONE):
            jobs.add(Job.CHECK)
        settled = now.reading not in (R.NO_MODEL, R.LOADING, R.WAITING)
        if now.artifacts_due and now.has_pages and settled and Job.PREPARE not in jobs:
            jobs.add(Job.BUILD)
    return frozenset(jobs)
