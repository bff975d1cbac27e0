"""Which preset a book is read with: the one that is named, the one it was begun with, or the one its form suggests."""

from pathlib import Path

from gistread.book.model import Book
from gistread.memory.aim import Aim
from gistread.memory.detecting import detect
from gistread.memory.store import MemoryStore
from gistread.presets import AUTO, Preset, preset_named


def choose_preset(name: str, own: Path, book: Book, store: MemoryStore, fingerprint: str, task: str = "") -> Preset:
    """The preset called `name`, of those in the folder `own` and ours; for `auto` one that suits the book.

    A book that this model has begun to read, for this task or for none, goes on as it was begun: what a person once
    chose for a book holds, and what was read is of use. Raises UsageError for a name that there is not.
    """
    if name != AUTO:
        return preset_named(name, own)
    begun = [one for one in store.find(book) if one.fingerprint == fingerprint and one.pages]
    if akin := [one for one in begun if one.aim.task in ("", task)]:
        return max(akin, key=lambda header: (header.aim.task == task, header.modified_s)).aim.preset
    return preset_named(detect(book), own)


def aim_to_go_on_with(name: str, own: Path, book: Book, store: MemoryStore, fingerprint: str) -> Aim:
    """The aim of the memory of this book in which this model got furthest, a task included, if the preset called `name`
    allows it; where there is none, what `choose_preset` says. Raises UsageError for a name that there is not."""
    furthest = next((one for one in store.find(book) if one.fingerprint == fingerprint and one.pages), None)
    if furthest is not None and name in (AUTO, furthest.aim.preset.name):
        return furthest.aim
    return Aim(choose_preset(name, own, book, store, fingerprint))
