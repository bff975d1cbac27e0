"""Something whose state others watch. What its states mean, and when they change, it alone knows."""

from collections.abc import Callable

from gistread.engine.protocol import EngineState, Phase


class Observable:
    """Stopped, until it tells something else."""

    def __init__(self) -> None:
        self._state = EngineState(Phase.STOPPED)
        self._watchers: dict[object, Callable[[EngineState], None]] = {}

    @property
    def state(self) -> EngineState:
        """As it was told last."""
        return self._state

    def watch(self, callback: Callable[[EngineState], None]) -> Callable[[], None]:
        """Call back on every change of state; the returned function ends it."""
        key = object()
        self._watchers[key] = callback

        def unwatch() -> None:
            self._watchers.pop(key, None)

        return unwatch

    def tell(self, state: EngineState) -> None:
        """This is what goes on now."""
        self._state = state
        for callback in tuple(self._watchers.values()):
            callback(state)
