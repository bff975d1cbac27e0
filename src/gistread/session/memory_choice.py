"""Which memory of a book a model opens, and whether it takes the place of the one that is shown.

It follows from what the person chose, from the settings, and from what is on disk. Reads the disk: for a thread.
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
    """Of one book. `presets`: the folder of the person's own."""

    def __init__(self, book: Book, store: MemoryStore, config: Config, presets: Path) -> None:
        self._book = book
        self._store = store
        self._config = config
        self._presets = presets
        self._wanted: GistFocus | MemoryHeader | None = None
        self._insists = False

    def want(self, wanted: GistFocus | MemoryHeader) -> None:
        """The person chose what the model in use is to read the book for, or which memory to see."""
        self._wanted, self._insists = wanted, True

    def model_changed(self) -> None:
        """What was chosen for the one before is not meant to have another read the book anew."""
        self._insists = False

    def memories(self) -> list[MemoryHeader]:
        """Those with a page at least, the one that got furthest first."""
        return [header for header in self._store.find(self._book) if header.pages]

    def load(self, header: MemoryHeader) -> GistMemory:
        """To be shown and asked over. Raises StorageError."""
        return self._store.load(self._book, header)

    def latest(self) -> GistMemory | None:
        """The one that got furthest, if there is any. Raises StorageError."""
        headers = self.memories()
        return self.load(headers[0]) if headers else None

    def open(self, info: EngineInfo) -> MemoryWriter:
        """The one that this model reads on in, begun or empty. Raises StorageError, EngineError, UsageError."""
        chosen = self._wanted.focus if isinstance(self._wanted, MemoryHeader) else self._wanted
        request = resolve_memory(self._book, self._store, info, self._config, self._presets, chosen)
        match self._wanted:
            case MemoryHeader() as header if header.fingerprint in (info.fingerprint, *info.aliases):
                if (writer := self._store.reopen(self._book, header, request.size)) is not None:
                    return writer
        return self._store.open(self._book, request)

    def stays(self, shown: GistMemory | None, own: GistMemory) -> bool:
        """Whether the memory on screen, which is not this model's `own`, is to stay there and be asked over.

        Any model can be asked over any memory (design D5), and reading a book anew may take hours.
        """
        match self._wanted:
            case MemoryHeader() as header:
                return not header.describes(own)
            case GistFocus() if self._insists:
                return False
        if shown is None or not shown.entries or own.entries:
            return False
        return shown.complete or shown.model_name != own.model_name

    def offer(self, shown: GistMemory | None, info: EngineInfo) -> str:
        """What to say of a memory that stays; empty where the person chose it, or it is this model's in another way."""
        if shown is None or shown.model_name == info.name or isinstance(self._wanted, MemoryHeader):
            return ""
        pages = "1 page" if len(shown.entries) == 1 else f"{len(shown.entries)} pages"
        return (
            f"{info.name} has not read this book; {shown.model_name} has, {pages}. "
            "Questions are asked over that memory. r lets the book be read anew."
        )
