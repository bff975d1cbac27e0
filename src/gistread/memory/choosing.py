"""In which memory a model goes on, and with which preset: that is named, that it was begun with, or that suits."""

from pathlib import Path

from gistread.book.model import Book
from gistread.engine.protocol import EngineInfo
from gistread.memory.focus import GistFocus
from gistread.memory.preset_detection import detect_preset
from gistread.memory.store import MemoryStore
from gistread.presets import AUTO, Preset, find_preset


def begun_as(book: Book, store: MemoryStore, info: EngineInfo) -> str:
    """The fingerprint by which this model goes on: its own, unless only under an alias of it the book was begun."""
    begun = {one.fingerprint for one in store.find(book) if one.pages} if info.aliases else set()
    return next((one for one in (info.fingerprint, *info.aliases) if one in begun), info.fingerprint)


def choose_preset(name: str, own: Path, book: Book, store: MemoryStore, fingerprint: str, task: str = "") -> Preset:
    """The preset called `name`, of those in the folder `own` and ours; for `auto` one that suits the book.

    A book that this model has begun to read, for this task or for none, goes on as it was begun: what a person once
    chose for a book holds, and what was read is of use. Raises UsageError for a name that there is not.
    """
    if name != AUTO:
        return find_preset(name, own)
    begun = [one for one in store.find(book) if one.fingerprint == fingerprint and one.pages]
    if akin := [one for one in begun if one.focus.task in ("", task)]:
        return max(akin, key=lambda header: (header.focus.task == task, header.modified_s)).focus.preset
    return find_preset(detect_preset(book), own)


def aim_to_go_on_with(name: str, own: Path, book: Book, store: MemoryStore, fingerprint: str) -> GistFocus:
    """The focus of the furthest memory by this model if the preset `name` allows it, else that of `choose_preset`.

    Raises UsageError for an unknown preset.
    """
    furthest = next((one for one in store.find(book) if one.fingerprint == fingerprint and one.pages), None)
    if furthest is not None and name in (AUTO, furthest.focus.preset.name):
        return furthest.focus
    return GistFocus(choose_preset(name, own, book, store, fingerprint))
