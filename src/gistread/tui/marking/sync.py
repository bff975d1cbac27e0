"""The marks of the open book.

They are saved in the background, with retries, and merged with what other processes save.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from gistread.errors import StorageError
from gistread.marking import Mark, sorted_marks
from gistread.store.user_data import MarkStore, Stamp
from gistread.units import counted

POLL_S = 2.0  # Between two looks for changes by other processes


class _Change(NamedTuple):
    """A change that is still to be saved."""

    mark: Mark
    save: Callable[[], Mark]  # Called in a thread; returns the mark as stored
    remove: bool = False


class MarkSync:
    """The marks of a book and their changes. Use it in one event loop.

    `changed` is called after every change of `marks`.
    """

    def __init__(
        self,
        store: MarkStore,
        sha256: str,
        warn: Callable[[str], None],
        changed: Callable[[], None],
    ) -> None:
        self._store = store
        self._sha256 = sha256
        self._warn = warn
        self._changed = changed
        self._marks: dict[str, Mark] = {}
        self._pending: list[_Change] = []  # The oldest first
        self._removed: list[Mark] = []  # What `undo` restores; the latest is the last
        self._stamp: Stamp | None = None  # Stamp of the file when it was read last
        self._refused = False  # Whether the last access to the file failed
        self._busy = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def marks(self) -> list[Mark]:
        """All marks by place."""
        return sorted_marks(list(self._marks.values()))

    def put(self, mark: Mark, base: Mark | None = None) -> None:
        """Add a mark, or change it. `base`: the mark before the change."""
        self._marks[mark.id] = mark
        save = partial(self._store.put, self._sha256, mark, base)
        self._do(_Change(mark, save))

    def remove(self, mark: Mark) -> None:
        """Delete a mark; `undo` restores it."""
        self._marks.pop(mark.id, None)
        self._removed.append(mark)
        save = partial(self._store.remove, self._sha256, mark)
        self._do(_Change(mark, save, remove=True))

    def undo(self) -> Mark | None:
        """Restore and return the mark that was removed last; None without one."""
        if not self._removed:
            return None
        mark = self._removed.pop()
        self.put(mark)
        return mark

    async def sync(self) -> None:
        """Save pending changes, then load those of other processes."""
        async with self._busy:
            await self._write()
            if self._pending:
                return
            try:
                stamp = await asyncio.to_thread(self._store.stamp, self._sha256)
                if stamp == self._stamp:
                    return
                marks = await asyncio.to_thread(self._store.marks, self._sha256)
            except StorageError as error:
                self._refuse(f"The marks in this book cannot be read: {error}")
                return
            if self._pending:
                return  # The user has changed marks meanwhile; the next sync sees both.
            self._stamp, self._refused = stamp, False
            self._marks = {mark.id: mark for mark in marks}
        self._changed()

    async def flush(self) -> str:
        """Save pending changes. Returns a message about what was not saved."""
        await asyncio.gather(*self._tasks)
        async with self._busy:
            await self._write()
        if not self._pending:
            return ""
        return f"{counted(len(self._pending), 'change')} to your marks cannot be saved."

    def _do(self, change: _Change) -> None:
        """Save a change in the background."""
        self._pending.append(change)
        self._changed()
        task = asyncio.create_task(self.sync(), name="save marks")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _write(self) -> None:
        """Save pending changes; after a failure, the rest waits for the next time."""
        while self._pending:
            change = self._pending[0]
            try:
                stored = await asyncio.to_thread(change.save)
            except StorageError as error:
                notice = "Your marks cannot be saved yet; gistread keeps trying."
                self._refuse(f"{notice} {error}")
                return
            self._pending.pop(0)
            self._refused = False
            self._replace(change, stored)

    def _replace(self, change: _Change, stored: Mark) -> None:
        """Put a mark as it is stored in place of the changed one, unless that changed again."""
        mark = change.mark
        if change.remove:
            if mark in self._removed:
                self._removed[self._removed.index(mark)] = stored
        elif self._marks.get(mark.id) == mark:
            self._marks[mark.id] = stored

    def _refuse(self, problem: str) -> None:
        """Warn of a problem with the file, once until it works again."""
        if not self._refused:
            self._refused = True
            self._warn(problem)
