"""Selects the memory for a model by the user's choice, the settings and the memories on disk. Call it in a thread."""

from dataclasses import replace
from pathlib import Path

from gistread.book.model import Book
from gistread.config import Config
from gistread.engine.protocol import EngineInfo
from gistread.memory.focus import GistFocus
from gistread.memory.model import DEFAULT_READING_MODE, GistMemory, ReadingMode
from gistread.memory.preset_detection import detect_preset
from gistread.memory.sizes import choose_sizes
from gistread.memory.store import MemoryRequest, MemoryStore
from gistread.memory.writer import MemoryHeader, MemoryWriter
from gistread.presets import AUTO, Preset, find_preset
from gistread.units import counted


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
        self._wanted, self._own = wanted, True

    def want_own(self) -> None:
        """Continue the model's own memory even if another is shown."""
        self._own = True

    def model_changed(self) -> None:
        """Forget the wish for a new memory, so that the next model does not reread the book."""
        self._own = False

    def memories(self) -> list[MemoryHeader]:
        return [header for header in self._store.find(self._book) if header.pages]

    def load(self, header: MemoryHeader) -> GistMemory:
        """Load a memory to show or to ask. Raises StorageError."""
        return self._store.load(self._book, header)

    def latest(self) -> GistMemory | None:
        """The furthest memory, if any. Raises StorageError."""
        headers = self.memories()
        return self.load(headers[0]) if headers and headers[0].read_until else None

    def is_damaged(self) -> bool:
        return self._store.is_damaged(self._book)

    def open(self, info: EngineInfo) -> MemoryWriter:
        """Open the memory that this model continues. Raises StorageError, EngineError, UsageError."""
        wanted = self._wanted if self._wanted is not None else self._task
        chosen = wanted.focus if isinstance(wanted, MemoryHeader) else wanted
        request = resolve_memory(self._book, self._store, info, self._config, self._presets, chosen)
        writer = None
        if isinstance(wanted, MemoryHeader) and wanted.fingerprint in (info.fingerprint, *info.aliases):
            writer = self._store.reopen(self._book, wanted, request.size)
        return writer or self._store.open(self._book, request)

    def keeps_shown(self, shown: GistMemory | None, own: GistMemory) -> bool:
        """Whether to keep the memory shown: any model can answer over it (D5), and rereading may take hours."""
        if isinstance(self._wanted, MemoryHeader):
            return not self._wanted.describes(own)
        if self._own or shown is None or not shown.entries or own.entries:
            return False
        return shown.complete or shown.model_name != own.model_name

    def note(self, shown: GistMemory | None, model_name: str) -> str:
        """A notice that another model's memory is kept; empty if the user chose it or this model made it."""
        if shown is None or shown.model_name == model_name or isinstance(self._wanted, MemoryHeader):
            return ""
        has = f"{shown.model_name} has, {counted(len(shown.entries), 'page')}"
        return f"{model_name} has not read this book; {has}. Questions are asked over that memory."


def resolve_memory(
    book: Book,
    store: MemoryStore,
    info: EngineInfo,
    config: Config,
    own_presets: Path,
    chosen: GistFocus | str | None = None,
) -> MemoryRequest:
    """The memory with this focus or task, by default the furthest. Reads the disk. Raises EngineError, UsageError."""
    sizes = choose_sizes(book, info.context_tokens, min_words=config.min_words, max_words=config.max_words)
    begun = [header for header in store.find(book) if header.pages]
    names = {header.fingerprint for header in begun}
    fingerprint = next((one for one in (info.fingerprint, *info.aliases) if one in names), info.fingerprint)
    own = [header for header in begun if header.fingerprint == fingerprint]
    if chosen is None and own and config.preset in (AUTO, own[0].focus.preset.name):
        focus = own[0].focus
    elif isinstance(chosen, GistFocus):
        focus = chosen
    else:
        task = chosen or ""
        focus = GistFocus(_preset(config.preset, own_presets, book, own, task), task)
    mode = ReadingMode(config.reading or DEFAULT_READING_MODE)
    focus = replace(focus, wording=focus.wording or info.wording)
    return MemoryRequest(info.name, fingerprint, sizes, mode, focus)


def _preset(name: str, own_presets: Path, book: Book, begun: list[MemoryHeader], task: str) -> Preset:
    if name != AUTO:
        return find_preset(name, own_presets)
    if similar := [header for header in begun if header.focus.task in ("", task)]:
        return max(similar, key=lambda header: (header.focus.task == task, header.modified_s)).focus.preset
    return find_preset(detect_preset(book), own_presets)
