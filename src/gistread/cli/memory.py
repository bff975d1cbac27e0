"""`gistread memory …` lists and deletes memories, `gistread pages` shows what is in one. Needs no model."""

import argparse
import textwrap
import time

from gistread.book.model import Book
from gistread.cli.json_output import memories_document, pages_document
from gistread.cli.memories import find_memory, memory_query, memory_store, saved_memories
from gistread.cli.opening import open_named
from gistread.cli.output import report, say
from gistread.library.figures import describe_memory, relative_time
from gistread.memory.focus import DEFAULT_FOCUS
from gistread.memory.model import GistMemory, GistSource, MemoryEntry
from gistread.memory.progress import all_memories
from gistread.paths import default_paths
from gistread.units import counted, format_size, iso_time

_COLUMNS = 78


def run(arguments: argparse.Namespace) -> None:
    if not arguments.book:
        _list_all(arguments)
        return
    book = open_named(arguments.book)
    if arguments.command == "pages":
        _show(book, arguments)
    elif arguments.action == "rm":
        _remove(book, arguments)
    else:
        _list(book, arguments)


def _show(book: Book, arguments: argparse.Namespace) -> None:
    headers = saved_memories(book, arguments.book)
    header = find_memory(headers, memory_query(arguments, arguments.model), from_start=False)
    memory, ahead = memory_store().load(book, header), memory_store().pages_ahead(book, header)
    lines = [_section(memory, entry) for entry in memory.entries]
    if ahead:
        lines.append(f"–  {ahead[0].page.start - memory.read_until:,} characters that are not read yet\n")
    lines += [_section(memory, entry) for entry in ahead]
    report(arguments, pages_document(memory, header.fingerprint, ahead), lines)
    if memory.focus != DEFAULT_FOCUS:
        say(f"Read by {memory.model_name} {memory.focus.description}.")
    if others := sum(one.pages > 0 for one in headers) - 1:
        some = "memory" if others == 1 else "memories"
        say(f"This book has {others} other {some}: `gistread memory list BOOK` shows them.")
    if not memory.complete:
        behind = f", {len(ahead)} of them after a gap" if ahead else ""
        say(f"{len(memory.entries) + len(ahead)} of about {memory.estimated_pages} sections read so far{behind}.")


def _section(memory: GistMemory, entry: MemoryEntry) -> str:
    page = entry.page
    source = "" if entry.gist.source is GistSource.MODEL else f" · {entry.gist.source}"
    place = f"{page.start}–{page.end}"
    heading = f"{page.number or '–'}  {memory.book.chapter_title(page.start)} · {page.words} words · {place}{source}"
    gist = textwrap.fill(entry.gist.text, _COLUMNS, initial_indent="   ", subsequent_indent="   ")
    return f"{heading}\n{gist}\n"


def _list(book: Book, arguments: argparse.Namespace) -> None:
    read = [header for header in saved_memories(book, arguments.book) if header.pages]
    lines = ["\n  ".join(describe_memory(header, book, time.time())) for header in read]
    report(arguments, memories_document(read), lines)
    if not read:
        say("No memories of this book yet.")


def _list_all(arguments: argparse.Namespace) -> None:
    found = sorted(all_memories(default_paths().memories), key=lambda one: one.modified_s, reverse=True)
    lines, documents = [], []
    for one in found:
        sections, size, used = counted(one.pages, "section"), format_size(one.size_bytes), one.modified_s
        facts = f"{'damaged · ' * one.is_damaged}{sections} · {size} · {relative_time(used, time.time())}"
        known = f"{one.model_name or 'Unknown model'}, {one.focus.description} · {facts}"
        lines.append(f"{one.title or 'Unknown book'}\n  {one.problem or known}")
        documents.append(
            {
                "book": {"sha256": one.sha256, "title": one.title},
                "model": {"name": one.model_name},
                "preset": one.focus.preset.name,
                "task": one.focus.task or None,
                "pages": one.pages,
                "size": one.size_bytes,
                "used_at": iso_time(used),
                "damaged": one.is_damaged,
                "problem": one.problem or None,
            }
        )
    report(arguments, {"memories": documents}, lines)
    if any(one.is_damaged for one in found):
        say("`gistread index BOOK` reads the lost sections of a damaged memory again.")
    if not found:
        say("No memories yet. `gistread index BOOK` makes one.")


def _remove(book: Book, arguments: argparse.Namespace) -> None:
    headers = saved_memories(book, arguments.book)
    header = find_memory(headers, memory_query(arguments, arguments.model), from_start=False)
    memory_store().delete(header)
    report(arguments, {"deleted": memories_document([header])["memories"]}, ())
    say(f"Deleted {counted(header.pages, 'section')} of {header.model_name}, {header.focus.description}.")
