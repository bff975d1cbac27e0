"""The session's state machine as data: where signals lead, and which jobs run."""

import pytest

from gistread.session.events import ReadingState as R
from gistread.session.machine import Signal, next_state


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
        (
            (Signal.MODEL_CHOSEN, Signal.READ, Signal.OPENED_OTHER, Signal.READ),
            R.LOADING,
        ),
        (
            (
                Signal.MODEL_CHOSEN,
                Signal.READ,
                Signal.OPENED,
                Signal.PAUSE,
                Signal.READ,
            ),
            R.LOADING,
        ),
        ((Signal.MODEL_CHOSEN, Signal.READ, Signal.OPENED, Signal.YIELD), R.WAITING),
        (
            (
                Signal.MODEL_CHOSEN,
                Signal.READ,
                Signal.OPENED,
                Signal.YIELD,
                Signal.READ,
            ),
            R.WAITING,
        ),
        (
            (
                Signal.MODEL_CHOSEN,
                Signal.READ,
                Signal.OPENED,
                Signal.YIELD,
                Signal.REGAIN,
            ),
            R.LOADING,
        ),
        (
            (
                Signal.MODEL_CHOSEN,
                Signal.READ,
                Signal.OPENED,
                Signal.PAUSE,
                Signal.YIELD,
            ),
            R.PAUSED,
        ),
        (
            (
                Signal.MODEL_CHOSEN,
                Signal.READ,
                Signal.OPENED,
                Signal.YIELD,
                Signal.PAUSE,
                Signal.REGAIN,
            ),
            R.PAUSED,
        ),
        ((Signal.MODEL_CHOSEN, Signal.READ, Signal.FAIL, Signal.OPENED), R.FAILED),
        ((Signal.MODEL_CHOSEN, Signal.READ, Signal.MEMORY_CHOSEN), R.IDLE),
        ((Signal.MEMORY_CHOSEN,), R.NO_MODEL),
    ],
)
def test_signals_lead_from_state_to_state(
    signals: tuple[Signal, ...], state: R
) -> None:
    reached = R.NO_MODEL
    for signal in signals:
        reached = next_state(reached, signal)
    assert reached is state
