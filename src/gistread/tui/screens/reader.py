"""The list of readers, with what each needs and how long that takes."""

from typing import TYPE_CHECKING

from gistread.engine.protocol import EngineInfo
from gistread.readers.registry import DEFAULT_READER, METHODS, Method
from gistread.tui.screens.listing import ListScreen, Row
from gistread.units import format_duration

if TYPE_CHECKING:
    from gistread.memory.estimate import RemainingWork
    from gistread.session.session import Session


def need_words(name: str, left: "RemainingWork | None", info: EngineInfo | None) -> str:
    """`needs facts: about 12 min`, `facts are ready`; empty if nothing is needed or `left` is None."""
    if left is not None and left.needless:
        return ""
    if left is None or (not left.total and not left.done):
        return f"needs {name}"
    if left.complete:
        return f"{name} are ready"
    seconds = left.seconds(info) if info is not None else None
    time = "" if seconds is None else f"about {format_duration(seconds)}"
    if left.done:
        return f"{name}: {left.done} of {left.total} ready" + (f", {time} more" if time else "")
    return f"needs {name}" + (f": {time}" if time else "")


class ReaderScreen(ListScreen):
    """Dismissed with the name of a reader."""

    def __init__(self, current: str, session: "Session | None" = None) -> None:
        self._current = current or DEFAULT_READER
        self._session = session
        super().__init__("Choose a reader", "How the next question is answered.", self._rows_with({}), self._current)

    def on_mount(self) -> None:
        if self._session is not None:
            self.run_worker(self._measure(self._session))

    async def _measure(self, session: "Session") -> None:
        """For a long book, measuring the remaining work takes a moment."""
        if left := await session.artifacts_left():
            self.show_rows(self._rows_with(left), self.chosen or self._current)

    def _rows_with(self, left: "dict[str, RemainingWork]") -> list[Row]:
        return [self._row(method, left) for method in METHODS.values()]

    def _row(self, method: Method, left: "dict[str, RemainingWork]") -> Row:
        info = self._session.info if self._session is not None else None
        about = [method.summary, *([] if method.needs_memory else ["needs no memory"])]
        about += filter(None, (need_words(name, left.get(name), info) for name in method.artifacts))
        return Row(method.name, ("● " if method.name == self._current else "") + method.name, " · ".join(about))
