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
        """`at`: id of the thread for the cursor."""
        self._threads = list(reversed(threads))
        self._delete, self._restore = delete, restore
        self._deleted: list[tuple[int, SavedThread]] = []
        here = next((thread for thread in threads if thread.id == at), None)
        super().__init__("Past questions", at=here)

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
        at = self._threads.index(self.chosen)
        thread = self._threads.pop(at)
        self._deleted.append((at, thread))
        await self._delete(thread)
        self.note = "Deleted; U restores it."
        self.show_rows(
            self._threads[min(at, len(self._threads) - 1)] if self._threads else None
        )

    async def action_undo(self) -> None:
        if self._deleted:
            at, thread = self._deleted.pop()
            self._threads.insert(at, thread)
            await self._restore(thread)
            self.note = ""
            self.show_rows(thread)
