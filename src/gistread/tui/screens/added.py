"""The result of adding books to the library, and the list of those that could not be read."""

from gistread.library.adding import AddResult
from gistread.tui.screens.listing import ListScreen, Row


def said_of(added: AddResult) -> str:
    parts = [f"{added.new} {'book' if added.new == 1 else 'books'} added"]
    if added.known:
        parts.append(f"{added.known} known already")
    if added.removed:
        parts.append(f"{added.removed} left out, since you took them out before")
    return ", ".join(parts) + "." + (f" {added.cut}" if added.cut else "")


class FailedScreen(ListScreen):
    """The files of a folder that could not be read."""

    def __init__(self, added: AddResult) -> None:
        count = len(added.failed)
        super().__init__(f"{count} {'file' if count == 1 else 'files'} could not be read", "The others were added.")
        self._added = added

    def on_mount(self) -> None:
        rows = [
            Row(str(number), failed.reason, str(failed.path.parent)) for number, failed in enumerate(self._added.failed)
        ]
        self.show_rows(rows)
