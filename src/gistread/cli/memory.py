"""`gistread memory …` lists and deletes memories, `gistread pages` shows one.

Selects the memory of other commands.
"""

import argparse
import contextlib
import shlex
import sys
import textwrap
import time
from collections.abc import Sequence
from itertools import groupby

from gistread.book.model import Book
from gistread.cli.interrupt import InterruptError
from gistread.cli.json_output import memories_document, pages_document
from gistread.cli.opening import open_named, resolve_bound
from gistread.cli.output import report, say
from gistread.config import Config
from gistread.engine.model_search import plain_name
from gistread.engine.models import find_source
from gistread.errors import EngineError, GistreadError
from gistread.library.figures import describe_memory
from gistread.memory.front_matter import without_front_matter
from gistread.memory.model import DEFAULT_FOCUS, GistMemory, GistSource, MemoryEntry
from gistread.memory.store import MemoryHeader, MemoryStore
from gistread.paths import default_paths
from gistread.presets import AUTO, find_preset
from gistread.units import counted

_COLUMNS = 78


def run(arguments: argparse.Namespace) -> None:
    book = open_named(arguments.book)
    headers = saved_memories(book, arguments.book)
    if arguments.command == "memory" and arguments.action == "list":
        _list(book, headers, arguments)
        return
    header = find_memory(headers, arguments, model=arguments.model or "")
    if arguments.command == "pages":
        _show(book, headers, header, arguments)
    else:
        _confirm_removal(header, yes=arguments.yes)
        _remove(header, arguments)


def _confirm_removal(header: MemoryHeader, *, yes: bool) -> None:
    """Ask before hours of work are deleted; without a terminal the command alone decides.

    Raises InterruptError.
    """
    if yes or not sys.stdin.isatty():
        return
    sections = counted(header.pages, "section")
    sys.stderr.write(f"Delete {sections} that {header.model_name} has read? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().casefold() not in ("y", "yes"):
        raise InterruptError("Nothing was deleted.")


def _show(
    book: Book, headers: Sequence[MemoryHeader], header: MemoryHeader, arguments: argparse.Namespace
) -> None:
    memory = memory_store().load(book, header)
    note = "Up to your place; `--upto all` shows all sections."
    bound = resolve_bound(arguments.upto, memory, note)
    known = memory if bound is None else memory.upto(bound)
    story = without_front_matter(known, book)
    read = without_front_matter(memory, book).read_entries
    ahead = [entry.page for entry in read if entry.page.start >= len(known.book.text)]
    document = pages_document(story, header.fingerprint, ahead)
    report(arguments, document, _section_lines(story))
    if ahead:
        verb = "is" if len(ahead) == 1 else "are"
        say(f"{counted(len(ahead), 'more section')} {verb} ahead.")
    _tell_more(memory, headers)


def _section_lines(memory: GistMemory) -> list[str]:
    lines: list[str] = []
    for is_read, group in groupby(memory.entries, key=lambda entry: entry.is_read):
        entries = list(group)
        lines += [_section(memory, entry) for entry in entries] if is_read else [_gap(entries)]
    return lines


def _tell_more(memory: GistMemory, headers: Sequence[MemoryHeader]) -> None:
    """Say how this memory was made, which others there are, and how much is read."""
    if memory.focus != DEFAULT_FOCUS:
        say(f"Read by {memory.model_name} {memory.focus.description}.")
    if others := sum(one.pages > 0 for one in headers) - 1:
        some = "memory" if others == 1 else "memories"
        say(f"This book has {others} other {some}: `gistread memory list BOOK` shows them.")
    if not memory.complete:
        read = len(memory.read_entries)
        say(f"{read} of about {memory.estimated_pages} sections read so far.")


def _gap(entries: Sequence[MemoryEntry]) -> str:
    """The line for neighbouring sections that the model has not read."""
    first, last = entries[0].page, entries[-1].page
    numbers = f"{first.number}" if first is last else f"{first.number} – {last.number}"
    return f"{numbers}  not read yet · {first.start}–{last.end}\n"


def _section(memory: GistMemory, entry: MemoryEntry) -> str:
    page = entry.page
    source = "" if entry.gist.source is GistSource.MODEL else f" · {entry.gist.source}"
    place = f"{page.start}–{page.end}"
    heading = (
        f"{page.number}  {memory.book.chapter_title(page.start)} · {page.words} words · "
        f"{place}{source}"
    )
    gist = textwrap.fill(entry.gist.text, _COLUMNS, initial_indent="   ", subsequent_indent="   ")
    return f"{heading}\n{gist}\n"


def _list(book: Book, headers: Sequence[MemoryHeader], arguments: argparse.Namespace) -> None:
    read = [header for header in headers if header.pages]
    lines = ["\n  ".join(describe_memory(header, book, time.time())) for header in read]
    report(arguments, memories_document(read), lines)
    if not read:
        say("No memories of this book yet.")


def _remove(header: MemoryHeader, arguments: argparse.Namespace) -> None:
    memory_store().delete(header)
    report(arguments, {"deleted": memories_document([header])["memories"]}, ())
    say(
        f"Deleted {counted(header.pages, 'section')} of {header.model_name}, "
        f"{header.focus.description}."
    )


def memory_store() -> MemoryStore:
    return MemoryStore(default_paths().memories)


def saved_memories(book: Book, name: str) -> list[MemoryHeader]:
    """The memories of a book that was typed as `name`; prints a message if one is damaged."""
    store = memory_store()
    if store.is_damaged(book):
        say(
            f"A memory of this book is damaged. `gistread index {shlex.quote(name)}` reads its "
            "lost sections again."
        )
    return store.find(book)


def check_preset(config: Config) -> None:
    """Raises UsageError for an unknown preset, before a model is loaded."""
    if config.preset != AUTO:
        find_preset(config.preset, default_paths().presets)


def find_memory(
    headers: Sequence[MemoryHeader],
    arguments: argparse.Namespace,
    *,
    model: str = "",
    prefer: str = "",
) -> MemoryHeader:
    """The memory that covers most, with the preset and task of the command line, by `model`.

    `prefer`: fingerprint of the model that is taken among equals. Raises GistreadError.
    """
    read = [header for header in headers if header.pages]
    book, task = shlex.quote(arguments.book), arguments.task or ""
    if not read:
        message = "Nothing of this book has been read yet."
        raise GistreadError(message, f"Run `gistread index {book}` first, or use `ask --index`.")
    name = model.casefold()
    with contextlib.suppress(EngineError):
        name = plain_name(find_source(model).name).casefold() if model else ""
    by_model = [header for header in read if name in header.model_name.casefold()]
    if not by_model:
        models = ", ".join(sorted({header.model_name for header in read}))
        raise GistreadError(f"No model {model!r} has read this book.", f"These have: {models}.")
    preset = "" if arguments.preset in (None, AUTO) else arguments.preset
    found = [
        one
        for one in by_model
        if preset in ("", one.focus.preset.name) and task in ("", one.focus.task)
    ]
    if not found:
        raise GistreadError(
            "This book has not been read with this preset and task.",
            f"`gistread memory list {book}` shows how, and `gistread index {book}` with the same "
            "options reads it so.",
        )
    best = found[0]
    furthest = [
        one
        for one in found
        if (one.characters, one.focus.task) == (best.characters, best.focus.task)
    ]
    return next((header for header in furthest if header.fingerprint == prefer), best)
