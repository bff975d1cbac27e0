"""The list of readers, with what each needs and how long that takes."""

from typing import TYPE_CHECKING

from gistread.readers.registry import DEFAULT_READER, METHODS, Method
from gistread.tui.artifact_rows import need_words
from gistread.tui.screens.listing import ListScreen, Row

if TYPE_CHECKING:
    from gistread.memory.estimate import RemainingWork
    from gistread.session.session import Session


class ReaderScreen(ListScreen):
    """Dismissed with the name of a reader."""

    def __init__(self, current: str, session: "Session | None" = None) -> None:
        super().__init__("Choose a reader", "How the next question is answered.")
        self._current = current or DEFAULT_READER
        self._session = session

    def on_mount(self) -> None:
        self._show({})
        if self._session is not None:
            self.run_worker(self._measure(self._session))

    async def _measure(self, session: "Session") -> None:
        """For a long book, measuring the remaining work takes a moment."""
        if left := await session.artifacts_left():
            self._show(left)

    def _show(self, left: "dict[str, RemainingWork]") -> None:
        rows = [self._row(method, left) for method in METHODS.values()]
        at = self.chosen or self._current
        self.show_rows(rows, next((index for index, row in enumerate(rows) if row.id == at), 0))

    def _row(self, method: Method, left: "dict[str, RemainingWork]") -> Row:
        info = self._session.info if self._session is not None else None
        about = [method.summary, *([] if method.needs_memory else ["needs no memory"])]
        about += filter(None, (need_words(name, left.get(name), info) for name in method.artifacts))
        return Row(method.name, ("● " if method.name == self._current else "") + method.name, " · ".join(about))
