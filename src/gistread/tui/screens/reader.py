"""Choose how questions are answered: every reader, by what it does."""

from gistread.readers.registry import DEFAULT_READER, METHODS
from gistread.tui.screens.listing import ListScreen, Row


class ReaderScreen(ListScreen):
    """Dismissed with the name of a reader."""

    def __init__(self, current: str) -> None:
        super().__init__("Choose a reader", "How the next question is answered.")
        self._current = current or DEFAULT_READER

    def on_mount(self) -> None:
        rows = [
            Row(
                method.name,
                ("● " if method.name == self._current else "") + method.name,
                method.summary + ("" if method.needs_memory else " · needs no memory"),
            )
            for method in METHODS.values()
        ]
        self.show_rows(rows, next((at for at, row in enumerate(rows) if row.id == self._current), 0))
