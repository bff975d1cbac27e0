"""The session's state machine as data: where signals lead, and which jobs run."""

from itertools import product

import pytest

from gistread.session.events import ReadingState as R
from gistread.session.machine import TRANSITIONS, UNDER_WAY, Job, Signal, Situation, jobs_for, next_state

SITUATIONS = [Situation(reading, *flags) for reading in R for flags in product((False, True), repeat=6)]


@pytest.mark.parametrize(
    ("signals", "state"),
    [
        ((Signal.READ,), R.NO_MODEL),
        ((Signal.MODEL_CHOSEN,), R.IDLE),
        ((Signal.MODEL_CHOSEN, Signal.READ), R.LOADING),
        ((Signal.MODEL_CHOSEN, Signal.READ, Signal.OPENED), R.RUNNING),
        ((Signal.MODEL_CHOSEN, Signal.READ, Signal.OPENED, Signal.COMPLETE), R.DONE),
        ((Signal.MODEL_CHOSEN, Signal.READ, Signal.COMPLETE, Signal.READ), R.DONE),
        ((Signal.MODEL_CHOSEN, Signal.READ, Signal.OPENED_OTHER), R.OFFERED),
        ((Signal.MODEL_CHOSEN, Signal.READ, Signal.OPENED_OTHER, Signal.READ), R.LOADING),
        ((Signal.MODEL_CHOSEN, Signal.READ, Signal.OPENED, Signal.PAUSE, Signal.READ), R.LOADING),
        ((Signal.MODEL_CHOSEN, Signal.READ, Signal.OPENED, Signal.YIELD), R.WAITING),
        ((Signal.MODEL_CHOSEN, Signal.READ, Signal.OPENED, Signal.YIELD, Signal.READ), R.WAITING),
        ((Signal.MODEL_CHOSEN, Signal.READ, Signal.OPENED, Signal.YIELD, Signal.REGAIN), R.LOADING),
        ((Signal.MODEL_CHOSEN, Signal.READ, Signal.OPENED, Signal.PAUSE, Signal.YIELD), R.PAUSED),
        ((Signal.MODEL_CHOSEN, Signal.READ, Signal.FAIL, Signal.OPENED), R.FAILED),
        ((Signal.MODEL_CHOSEN, Signal.READ, Signal.MEMORY_CHOSEN), R.IDLE),
        ((Signal.MEMORY_CHOSEN,), R.NO_MODEL),
    ],
)
def test_signals_lead_from_state_to_state(signals: tuple[Signal, ...], state: R) -> None:
    reached = R.NO_MODEL
    for signal in signals:
        reached = next_state(reached, signal)
    assert reached is state


@pytest.mark.parametrize("state", [state for state in R if state is not R.NO_MODEL])
def test_every_state_is_reachable_and_ends_when_the_model_is_dropped(state: R) -> None:
    assert state in {to for moves in TRANSITIONS.values() for to in moves.values()}
    assert next_state(state, Signal.MODEL_DROPPED) is R.NO_MODEL


@pytest.mark.parametrize("state", sorted(UNDER_WAY))
def test_every_running_state_can_be_left(state: R) -> None:
    signals = {Signal.OPENED, Signal.COMPLETE, Signal.FAIL, Signal.REGAIN}
    assert any(next_state(state, signal) is not state for signal in signals)


def test_jobs_in_one_state_never_conflict() -> None:
    for now in SITUATIONS:
        jobs = jobs_for(now)
        assert len(jobs & {Job.LOAD, Job.READ, Job.PREPARE}) <= 1, now
        if now.reading in (R.NO_MODEL, R.WAITING):
            assert jobs <= {Job.ANSWER}, now
        if now.question:
            assert not jobs & {Job.CHECK, Job.BUILD}, now
        if Job.BUILD in jobs:
            assert now.has_pages, now
            assert not jobs & {Job.LOAD, Job.PREPARE}, now
