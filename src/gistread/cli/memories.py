"""Selects the memory that a command works on."""

import argparse
import contextlib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from gistread.book.model import Book
from gistread.cli.output import say
from gistread.config import Config
from gistread.engine.model_search import whole_name
from gistread.engine.models import find_source
from gistread.errors import EngineError, GistreadError
from gistread.memory.focus import parse_task
from gistread.memory.store import MemoryStore
from gistread.memory.writer import MemoryHeader
from gistread.paths import default_paths
from gistread.presets import AUTO, find_preset
from gistread.units import counted


@dataclass(frozen=True, slots=True)
class MemoryQuery:
    """The memory described by the command line. Empty fields match any memory."""

    book: str  # As typed, for hints
    preset: str = ""
    task: str = ""
    model: str = ""  # Part of the model's name


def memory_store() -> MemoryStore:
    return MemoryStore(default_paths().memories)


def saved_memories(book: Book, name: str) -> list[MemoryHeader]:
    """The memories of a book that was typed as `name`; prints a message if one is damaged."""
    store = memory_store()
    if store.is_damaged(book):
        say(f"A memory of this book is damaged. `gistread index {shlex.quote(name)}` reads its lost sections again.")
    return store.find(book)


def check_preset(config: Config) -> None:
    """Raises UsageError for an unknown preset, before a model is loaded."""
    if config.preset != AUTO:
        find_preset(config.preset, default_paths().presets)


def task_of(arguments: argparse.Namespace) -> str:
    """The task of `--task`, or empty. Raises UsageError."""
    return "" if arguments.task is None else parse_task(arguments.task)


def memory_query(arguments: argparse.Namespace, model: str | None = None) -> MemoryQuery:
    """Raises UsageError for an invalid task."""
    preset = "" if arguments.preset in (None, AUTO) else arguments.preset
    return MemoryQuery(arguments.book, preset, task_of(arguments), _name_of(model) if model else "")


def _name_of(model: str) -> str:
    """The full name of a model on this machine, as in memories; else `model` itself, as part of a name."""
    with contextlib.suppress(EngineError):
        return whole_name(find_source(model).name)
    return model


def find_memory(
    headers: Sequence[MemoryHeader], query: MemoryQuery, *, prefer: str = "", from_start: bool = True
) -> MemoryHeader:
    """The furthest matching memory; among equals, the one by the model `prefer`. Raises GistreadError.

    `from_start`: only memories with the first section, which can be shown or asked.
    """
    read = [header for header in headers if header.pages and (header.read_until or not from_start)]
    book = shlex.quote(query.book)
    if not read:
        message = "Nothing of this book has been read yet."
        if after := sum(header.pages for header in headers):
            message = f"The first section of this book is missing, with {counted(after, 'section')} saved after it."
        raise GistreadError(message, f"Run `gistread index {book}` first, or use `ask --index`.")
    by_model = [header for header in read if query.model.casefold() in header.model_name.casefold()]
    if not by_model:
        models = ", ".join(sorted({header.model_name for header in read}))
        raise GistreadError(f"No model {query.model!r} has read this book.", f"These have: {models}.")
    found = [
        header
        for header in by_model
        if query.preset in ("", header.focus.preset.name) and query.task in ("", header.focus.task)
    ]
    if not found:
        raise GistreadError(
            "This book has not been read with this preset and task.",
            f"`gistread memory list {book}` shows how, and `gistread index {book}` with the same options reads it so.",
        )
    best = found[0]
    furthest = [one for one in found if (one.read_until, one.focus.task) == (best.read_until, best.focus.task)]
    return next((header for header in furthest if header.fingerprint == prefer), best)


def memories_by(fingerprint: str, model: str, headers: Sequence[MemoryHeader]) -> list[MemoryHeader]:
    """The memories of the model with this fingerprint. Raises GistreadError if only others have read the book."""
    own = [header for header in headers if header.fingerprint == fingerprint]
    models = sorted({header.model_name for header in headers if header.pages})
    if models and not any(header.pages for header in own):
        raise GistreadError(
            f"{model} has not read this book; these have: {', '.join(models)}.",
            "Leave out --model to use the longest memory, or add --index to read the book first.",
        )
    return own
