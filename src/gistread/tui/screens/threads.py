"""The list of past questions by thread: continue, name, copy, delete and restore one."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from gistread.store.model import SavedThread
from gistread.tui.commands import own_keys
from gistread.tui.screens.listing import ListScreen, Row
from gistread.units import counted


class ThreadsScreen(ListScreen[SavedThread]):
    """Dismissed with a thread, to `go` on with it, to `name` or to `copy` it."""

    KEYS = (
        ("e", "leave_with('name')", "name"),
        ("y", "leave_with('copy')", "copy"),
        ("x,delete", "delete", "delete"),
        ("U", "undo", "restore"),
    )
    BINDINGS = own_keys(*KEYS)
    ENTER = "go on"
    LETTERS = True

    def __init__(
        self,
        threads: Sequence[SavedThread],
        at: float,
        delete: Callable[[SavedThread], Awaitable[None]],
        restore: Callable[[SavedThread], Awaitable[None]],
    ) -> None:
        """`at`: id of the thread for the cursor. `delete`, `restore`: change the saved threads."""
        self._threads = list(reversed(threads))
        self._delete, self._restore = delete, restore
        # Deleted threads with their places in the list; the last one is restored first
        self._deleted: list[tuple[int, SavedThread]] = []
        current = [thread for thread in threads if thread.id == at]
        super().__init__("Past questions", at=current[0] if current else None)

    def rows_for(self, typed: str) -> Sequence[Row[SavedThread]]:
        rows = []
        for thread in self._threads:
            last = thread.questions[-1]
            when = datetime.fromtimestamp(last.asked_at).strftime("%Y-%m-%d")
            about = f"{counted(len(thread.questions), 'question')} · {when}"
            if not last.answer:
                about += " · interrupted"
            rows.append(Row(thread, thread.name, about))
        return rows

    @property
    def nothing(self) -> str:
        return "No questions yet."

    async def action_delete(self) -> None:
        if self.chosen is None:
            return
        index = self._threads.index(self.chosen)
        thread = self._threads.pop(index)
        self._deleted.append((index, thread))
        await self._delete(thread)
        self.note = "Deleted; U restores it."
        # The cursor goes to the next thread, or else to the last.
        following = self._threads[index:] or self._threads[-1:]
        self.show_rows(following[0] if following else None)

    async def action_undo(self) -> None:
        if self._deleted:
            index, thread = self._deleted.pop()
            self._threads.insert(index, thread)
            await self._restore(thread)
            self.note = ""
            self.show_rows(thread)
