"""Selects the memory to use for a model: by the user's choice, the settings, and the memories on disk.

Reads the disk: call it in a thread.
"""

from pathlib import Path

from gistread.book.model import Book
from gistread.config import Config
from gistread.engine.protocol import EngineInfo
from gistread.memory.focus import GistFocus
from gistread.memory.model import GistMemory
from gistread.memory.resolve import resolve_memory
from gistread.memory.store import MemoryStore
from gistread.memory.writer import MemoryHeader, MemoryWriter


class MemoryChoice:
    """The memories of one book, and the user's choice among them."""

    def __init__(self, book: Book, store: MemoryStore, config: Config, presets: Path, task: str | None = None) -> None:
        """`presets`: folder of the user's presets. `task`: what the gists look for; None: as in the furthest memory."""
        self._book = book
        self._store = store
        self._config = config
        self._presets = presets
        self._task = task
        self._wanted: GistFocus | MemoryHeader | None = None
        self._own = False

    def want(self, wanted: GistFocus | MemoryHeader) -> None:
        """Use this focus, or this memory."""
        self._wanted, self._own = wanted, True

    def want_own(self) -> None:
        """Use the model's own memory even if another is shown."""
        self._own = True

    def model_changed(self) -> None:
        """Forget that a new memory was wanted, so that the next model does not reread the book for it."""
        self._own = False

    def memories(self) -> list[MemoryHeader]:
        """Memories with at least one page, furthest first."""
        return [header for header in self._store.find(self._book) if header.pages]

    def load(self, header: MemoryHeader) -> GistMemory:
        """Load a memory to show or to ask. Raises StorageError."""
        return self._store.load(self._book, header)

    def latest(self) -> GistMemory | None:
        """The furthest memory, if any. Raises StorageError."""
        headers = self.memories()
        return self.load(headers[0]) if headers else None

    def open(self, info: EngineInfo) -> MemoryWriter:
        """Open the memory that this model continues. Raises StorageError, EngineError, UsageError."""
        wanted = self._wanted if self._wanted is not None else self._task
        chosen = wanted.focus if isinstance(wanted, MemoryHeader) else wanted
        request = resolve_memory(self._book, self._store, info, self._config, self._presets, chosen)
        writer = None
        if isinstance(wanted, MemoryHeader) and wanted.fingerprint in (info.fingerprint, *info.aliases):
            writer = self._store.reopen(self._book, wanted, request.size)
        return writer or self._store.open(self._book, request)

    def stays(self, shown: GistMemory | None, own: GistMemory) -> bool:
        """Whether the memory shown stays instead of the model's `own`.

        Any model can answer over any memory (design D5), and reading a book again may take hours.
        """
        if isinstance(self._wanted, MemoryHeader):
            return not self._wanted.describes(own)
        if self._own or shown is None or not shown.entries or own.entries:
            return False
        return shown.complete or shown.model_name != own.model_name

    def note(self, shown: GistMemory | None, model_name: str) -> str:
        """A notice about a memory that stays; empty if the user chose it or this model made it."""
        if shown is None or shown.model_name == model_name or isinstance(self._wanted, MemoryHeader):
            return ""
        pages = "1 page" if len(shown.entries) == 1 else f"{len(shown.entries)} pages"
        return (
            f"{model_name} has not read this book; {shown.model_name} has, {pages}. "
            "Questions are asked over that memory."
        )
