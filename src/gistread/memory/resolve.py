"""Decides which memory of a book a model continues, and with which preset."""

from pathlib import Path

from gistread.book.model import Book
from gistread.config import Config
from gistread.engine.protocol import EngineInfo
from gistread.memory.focus import GistFocus
from gistread.memory.model import DEFAULT_READING_MODE, ReadingMethod, ReadingMode
from gistread.memory.preset_detection import detect_preset
from gistread.memory.sizes import choose_sizes
from gistread.memory.store import MemoryRequest, MemoryStore
from gistread.memory.writer import MemoryHeader
from gistread.presets import AUTO, Preset, find_preset


def resolve_memory(
    book: Book,
    store: MemoryStore,
    info: EngineInfo,
    config: Config,
    own_presets: Path,
    chosen: GistFocus | str | None = None,
) -> MemoryRequest:
    """The memory of this book for this model, existing or new. Reads the disk.

    `chosen` is a focus, a task ("" for none) with the preset still open, or None to continue the model's furthest
    memory. `own_presets` is the folder of the user's presets. Raises EngineError, UsageError.
    """
    sizes = choose_sizes(book, info.context_tokens, min_words=config.min_words, max_words=config.max_words)
    begun = [header for header in store.find(book) if header.pages]
    fingerprint = _known_fingerprint(info, {header.fingerprint for header in begun})
    own = [header for header in begun if header.fingerprint == fingerprint]
    if chosen is None and own and config.preset in (AUTO, own[0].focus.preset.name):
        focus = own[0].focus
    elif isinstance(chosen, GistFocus):
        focus = chosen
    else:
        task = chosen or ""
        focus = GistFocus(_preset(config.preset, own_presets, book, own, task), task)
    method = ReadingMethod(ReadingMode(config.reading or DEFAULT_READING_MODE))
    return MemoryRequest(info.name, fingerprint, sizes, method, focus)


def _known_fingerprint(info: EngineInfo, begun: set[str]) -> str:
    """The model's fingerprint, or the alias under which it began this book."""
    return next((one for one in (info.fingerprint, *info.aliases) if one in begun), info.fingerprint)


def _preset(name: str, own_presets: Path, book: Book, begun: list[MemoryHeader], task: str) -> Preset:
    """The named preset; for `auto` that of the latest memory with this task or none, else one that suits the book."""
    if name != AUTO:
        return find_preset(name, own_presets)
    if similar := [header for header in begun if header.focus.task in ("", task)]:
        return max(similar, key=lambda header: (header.focus.task == task, header.modified_s)).focus.preset
    return find_preset(detect_preset(book), own_presets)
