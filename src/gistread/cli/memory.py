"""`gistread memory …` lists and deletes memories; `gistread pages` shows one.

`find_memory` selects the memory that other commands use.
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
from gistread.cli.opening import open_named, story_bound
from gistread.cli.output import report, say
from gistread.config import Config
from gistread.engine.model_search import plain_name
from gistread.engine.models import find_source
from gistread.errors import EngineError, GistreadError, UsageError
from gistread.library.figures import describe_memory
from gistread.memory.front_matter import sections_ahead, without_imprint
from gistread.memory.model import DEFAULT_FOCUS, GistMemory, GistSource, MemoryEntry
from gistread.memory.store import MemoryHeader, MemoryStore
from gistread.paths import default_paths
from gistread.presets import AUTO, find_preset
from gistread.units import agreeing, counted

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
    """Ask before hours of work are deleted, unless `yes`. Raises UsageError, InterruptError."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(
            "Deleting a memory needs --yes: standard input is no terminal."
        )
    sections = counted(header.pages, "section")
    sys.stderr.write(f"Delete {sections} that {header.model_name} has read? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().casefold() not in ("y", "yes"):
        raise InterruptError("Nothing was deleted.")


def _show(
    book: Book,
    headers: Sequence[MemoryHeader],
    header: MemoryHeader,
    arguments: argparse.Namespace,
) -> None:
    memory = memory_store().load(book, header)
    bound = story_bound(arguments.upto, memory, "shows all sections")
    up_to_bound = memory if bound is None else memory.upto(bound)
    story = without_imprint(up_to_bound, book)
    ahead = sections_ahead(memory, book, len(up_to_bound.book.text))
    document = pages_document(story, header.fingerprint, ahead)
    report(arguments, document, _section_lines(story))
    if ahead:
        verb = agreeing(len(ahead), "is", "are")
        say(f"{counted(len(ahead), 'more section')} {verb} ahead.")
    _tell_more(memory, headers)


def _section_lines(memory: GistMemory) -> list[str]:
    """A line for each section, and one for neighbours that the model has not read."""
    lines: list[str] = []
    for is_read, group in groupby(memory.entries, key=lambda entry: entry.is_read):
        entries = list(group)
        if is_read:
            lines += [_section(memory, entry) for entry in entries]
        else:
            lines.append(_gap(entries))
    return lines


def _tell_more(memory: GistMemory, headers: Sequence[MemoryHeader]) -> None:
    """Say how this memory was made, which others there are, and how much is read."""
    if memory.focus != DEFAULT_FOCUS:
        say(f"Read by {memory.model_name} {memory.focus.description}.")
    others = sum(header.pages > 0 for header in headers) - 1  # Without this one
    if others:
        noun = agreeing(others, "memory", "memories")
        say(
            f"This book has {others} other {noun}: "
            "`gistread memory list BOOK` shows them."
        )
    if not memory.complete:
        sections_read = len(memory.read_entries)
        say(f"{sections_read} of about {memory.estimated_pages} sections read so far.")


def _gap(entries: Sequence[MemoryEntry]) -> str:
    """The line for neighbouring sections that the model has not read."""
    first = entries[0].page
    last = entries[-1].page
    numbers = f"{first.number}"
    if last is not first:
        numbers += f" – {last.number}"
    return f"{numbers}  not read yet · {first.start}–{last.end}\n"


def _section(memory: GistMemory, entry: MemoryEntry) -> str:
    """The heading and the gist of a section."""
    page = entry.page
    chapter = memory.book.chapter_title(page.start)
    heading = f"{page.number}  {chapter} · {page.words} words · {page.start}–{page.end}"
    if entry.gist.source is not GistSource.MODEL:
        heading += f" · {entry.gist.source}"
    gist = textwrap.fill(
        entry.gist.text, _COLUMNS, initial_indent="   ", subsequent_indent="   "
    )
    return f"{heading}\n{gist}\n"


def _list(
    book: Book, headers: Sequence[MemoryHeader], arguments: argparse.Namespace
) -> None:
    nonempty = [header for header in headers if header.pages]
    now_s = time.time()
    lines = ["\n  ".join(describe_memory(header, book, now_s)) for header in nonempty]
    report(arguments, memories_document(nonempty), lines)
    if not nonempty:
        say("No memories of this book yet.")


def _remove(header: MemoryHeader, arguments: argparse.Namespace) -> None:
    memory_store().delete(header)
    deleted = memories_document([header])["memories"]
    report(arguments, {"deleted": deleted}, ())
    sections = counted(header.pages, "section")
    say(f"Deleted {sections} of {header.model_name}, {header.focus.description}.")


def memory_store() -> MemoryStore:
    return MemoryStore(default_paths().memories)


def saved_memories(book: Book, name: str) -> list[MemoryHeader]:
    """The memories of a book that was typed as `name`; prints a message if one is damaged."""
    store = memory_store()
    if store.is_damaged(book):
        command = f"gistread index {shlex.quote(name)}"
        say(
            f"A memory of this book is damaged. `{command}` reads its lost sections again."
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
    """The furthest memory that has the preset and task of the command line.

    `headers`: the furthest first. `model`: only memories of this model; empty: of any. `prefer`:
    fingerprint of the model whose memory is chosen among equally good ones. Raises GistreadError.
    """
    candidates = _memories_asked_for(headers, arguments, model)
    furthest = candidates[0]
    for header in candidates:
        is_equal = _rank(header) == _rank(furthest)
        if is_equal and header.fingerprint == prefer:
            return header
    return furthest


def _memories_asked_for(
    headers: Sequence[MemoryHeader], arguments: argparse.Namespace, model: str
) -> list[MemoryHeader]:
    """The memories of the model with the preset and task of the command line, in their order.

    Raises GistreadError if there is none.
    """
    nonempty = [header for header in headers if header.pages]
    book = shlex.quote(arguments.book)
    if not nonempty:
        hint = f"Run `gistread index {book}` first, or use `ask --index`."
        raise GistreadError("Nothing of this book has been read yet.", hint)
    by_model = _by_model(nonempty, model)
    if not by_model:
        names = ", ".join(sorted({header.model_name for header in nonempty}))
        message = f"No model {model!r} has read this book."
        raise GistreadError(message, f"These have: {names}.")
    candidates = _by_focus(by_model, arguments)
    if not candidates:
        raise GistreadError(
            "This book has not been read with this preset and task.",
            f"`gistread memory list {book}` shows how, and `gistread index {book}` with the same "
            "options reads it so.",
        )
    return candidates


def _by_model(headers: Sequence[MemoryHeader], model: str) -> list[MemoryHeader]:
    """The memories of models whose names contain this one; all if it is empty."""
    name = model
    if model:
        # A model that is not on this machine is named by a part of its name.
        with contextlib.suppress(EngineError):
            name = plain_name(find_source(model).name)
    name = name.casefold()
    return [header for header in headers if name in header.model_name.casefold()]


def _by_focus(
    headers: Sequence[MemoryHeader], arguments: argparse.Namespace
) -> list[MemoryHeader]:
    """The memories with the preset and the task of the command line, if it names any."""
    chosen = list(headers)
    preset = arguments.preset
    if preset not in (None, "", AUTO):
        chosen = [header for header in chosen if header.focus.preset.name == preset]
    if arguments.task:
        chosen = [header for header in chosen if header.focus.task == arguments.task]
    return chosen


def _rank(header: MemoryHeader) -> tuple[int, str]:
    """Equal for memories that are equally good for any question."""
    return header.characters, header.focus.task
