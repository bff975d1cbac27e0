"""Watchers are notified of every change of state until they unsubscribe."""

from gistread.engine.observable import Observable
from gistread.engine.protocol import EngineState, Phase

LOADING, IDLE = EngineState(Phase.LOADING), EngineState(Phase.IDLE)


def test_every_watcher_is_notified() -> None:
    watched, one, other = Observable(), list[EngineState](), list[EngineState]()
    assert watched.state.phase is Phase.STOPPED
    watched.watch(one.append)
    watched.publish(LOADING)
    watched.watch(other.append)
    watched.publish(IDLE)
    assert (one, other) == ([LOADING, IDLE], [IDLE])
    assert watched.state == IDLE


def test_an_unsubscribed_watcher_is_not_notified_and_may_unsubscribe_twice() -> None:
    watched, seen = Observable(), list[EngineState]()
    unwatch = watched.watch(seen.append)
    watched.watch(seen.append)
    unwatch()
    unwatch()
    watched.publish(IDLE)
    assert seen == [IDLE]


def test_a_watcher_may_unsubscribe_during_a_notification() -> None:
    watched, seen = Observable(), list[EngineState]()

    def once(state: EngineState) -> None:
        seen.append(state)
        unwatch()

    unwatch = watched.watch(once)
    watched.watch(seen.append)
    watched.publish(LOADING)
    watched.publish(IDLE)
    assert seen == [LOADING, LOADING, IDLE]
