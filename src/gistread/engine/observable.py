"""An observable engine state."""

from collections.abc import Callable

from gistread.engine.protocol import EngineState, Phase


class Observable:
    """Holds a state, STOPPED at first, and notifies watchers of changes."""

    def __init__(self) -> None:
        self._state = EngineState(Phase.STOPPED)
        self._watchers: dict[object, Callable[[EngineState], None]] = {}

    @property
    def state(self) -> EngineState:
        return self._state

    def watch(self, callback: Callable[[EngineState], None]) -> Callable[[], None]:
        """Call `callback` on every change. Returns a function that unsubscribes it."""
        key = object()
        self._watchers[key] = callback

        def unwatch() -> None:
            self._watchers.pop(key, None)

        return unwatch

    def publish(self, state: EngineState) -> None:
        self._state = state
        for callback in tuple(self._watchers.values()):
            callback(state)
