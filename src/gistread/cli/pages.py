"""`gistread pages BOOK`: the pages and gists of a memory."""

import argparse
import textwrap

from gistread.cli.json_output import pages_document
from gistread.cli.memories import find_memory, memory_query, memory_store, saved_memories
from gistread.cli.opening import open_named
from gistread.cli.output import say, write, write_json
from gistread.errors import ExitStatus
from gistread.memory.focus import DEFAULT_FOCUS
from gistread.memory.model import GistMemory, GistSource, MemoryEntry

_COLUMNS = 78


def run(arguments: argparse.Namespace) -> ExitStatus:
    book = open_named(arguments.book)
    headers = saved_memories(book, arguments.book)
    header = find_memory(headers, memory_query(arguments, arguments.model), from_start=False)
    memory, ahead = memory_store().load(book, header), memory_store().pages_ahead(book, header)
    if arguments.json:
        write_json(pages_document(memory, header.fingerprint, ahead))
    else:
        for entry in memory.entries:
            write(_page(memory, entry))
        if ahead:
            write(f"–  {ahead[0].page.start - memory.read_until:,} characters that are not read yet\n")
        for entry in ahead:
            write(_page(memory, entry))
    if memory.focus != DEFAULT_FOCUS:
        say(f"Read by {memory.model_name} {memory.focus.description}.")
    if others := sum(one.pages > 0 for one in headers) - 1:
        some = "memory" if others == 1 else "memories"
        say(f"This book has {others} other {some}: `gistread memory list BOOK` shows them.")
    if not memory.complete:
        behind = f", {len(ahead)} of them after a gap" if ahead else ""
        say(f"{len(memory.entries) + len(ahead)} of about {memory.estimated_pages} pages read so far{behind}.")
    return ExitStatus.DONE


def _page(memory: GistMemory, entry: MemoryEntry) -> str:
    page = entry.page
    source = "" if entry.gist.source is GistSource.MODEL else f" · {entry.gist.source}"
    place = f"{page.start}–{page.end}"
    heading = f"{page.number or '–'}  {memory.book.chapter_title(page.start)} · {page.words} words · {place}{source}"
    gist = textwrap.fill(entry.gist.text, _COLUMNS, initial_indent="   ", subsequent_indent="   ")
    return f"{heading}\n{gist}\n"
