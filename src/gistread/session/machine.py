"""The session's state machine: transitions of reading, and the jobs that run in each situation. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from gistread.session.events import ReadingState as R


class Signal(StrEnum):
    MODEL_CHOSEN = "model chosen"
    MODEL_DROPPED = "model dropped"
    MEMORY_CHOSEN = "memory chosen"
    READ = "read"  # Start or continue reading
    OPENED = "opened"  # The model is loaded and its own memory lacks pages
    OPENED_OTHER = "opened other"  # The model is loaded, and another model's memory stays shown
    COMPLETE = "complete"  # Every page of the book is in the model's memory
    PAUSE = "pause"
    YIELD = "yield"  # Another model on this machine begins to answer a question
    REGAIN = "regain"  # The question of the other model has ended
    FAIL = "fail"


_CHOSEN = tuple(state for state in R if state is not R.NO_MODEL)

# New state by signal and old state; states not listed stay unchanged.
TRANSITIONS: Mapping[Signal, Mapping[R, R]] = MappingProxyType(
    {
        Signal.MODEL_DROPPED: dict.fromkeys(R, R.NO_MODEL),
        Signal.MODEL_CHOSEN: dict.fromkeys(R, R.IDLE),
        Signal.MEMORY_CHOSEN: dict.fromkeys(_CHOSEN, R.IDLE),
        Signal.READ: dict.fromkeys((R.IDLE, R.OFFERED, R.PAUSED, R.FAILED), R.LOADING),
        Signal.OPENED: {R.LOADING: R.RUNNING},
        Signal.OPENED_OTHER: {R.LOADING: R.OFFERED},
        Signal.COMPLETE: dict.fromkeys((R.LOADING, R.RUNNING), R.DONE),
        Signal.PAUSE: dict.fromkeys((R.LOADING, R.RUNNING, R.WAITING), R.PAUSED),
        Signal.YIELD: dict.fromkeys((R.LOADING, R.RUNNING), R.WAITING),
        Signal.REGAIN: {R.WAITING: R.LOADING},
        Signal.FAIL: dict.fromkeys((R.LOADING, R.RUNNING), R.FAILED),
    }
)

UNDER_WAY = frozenset({R.LOADING, R.RUNNING, R.WAITING})  # States that end without a command


def next_state(state: R, signal: Signal) -> R:
    return TRANSITIONS[signal].get(state, state)


class Job(StrEnum):
    """Background jobs of a session, one task each."""

    LOAD = "load"  # Load the reading model and open its memory of the book
    READ = "read"
    PREPARE = "prepare"  # Evaluate the common beginning of all questions
    CHECK = "check"  # Check the model
    BUILD = "build"  # Build the queued artifacts
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class Situation:
    reading: R
    has_pages: bool = False
    question: bool = False  # A question was asked; it may still wait for the model or the first page
    answering: bool = False  # The model and memory of the question are ready
    prompt_due: bool = False
    check_due: bool = False
    artifacts_due: bool = False


def jobs_for(now: Situation) -> frozenset[Job]:
    jobs = set()
    if now.reading is R.LOADING:
        jobs.add(Job.LOAD)
    if now.reading is R.RUNNING:
        jobs.add(Job.READ)
    if now.answering:
        jobs.add(Job.ANSWER)
    if now.reading is R.DONE and now.prompt_due:
        jobs.add(Job.PREPARE)
    if not now.question:  # While a question is answered, nothing else uses the model but reading.
        if now.check_due and now.reading in (R.RUNNING, R.DONE):
            jobs.add(Job.CHECK)
        settled = now.reading not in (R.NO_MODEL, R.LOADING, R.WAITING)
        if now.artifacts_due and now.has_pages and settled and Job.PREPARE not in jobs:
            jobs.add(Job.BUILD)
    return frozenset(jobs)
