"""`gistread pages BOOK`: the pages and gists of a memory, a list of the book's memories, or one memory less."""

import argparse
import textwrap
import time

from gistread.cli.json_output import memories_document, pages_document
from gistread.cli.memories import find_memory, memory_query, memory_store, saved_memories
from gistread.cli.opening import open_named
from gistread.cli.output import say, write, write_json
from gistread.errors import ExitStatus
from gistread.library.text import describe_memory
from gistread.memory.focus import DEFAULT_FOCUS
from gistread.memory.model import GistMemory, GistSource, MemoryEntry
from gistread.units import counted

_COLUMNS = 78


def run(arguments: argparse.Namespace) -> ExitStatus:
    book = open_named(arguments.book)
    headers = saved_memories(book, arguments.book)
    read = [header for header in headers if header.pages]
    if arguments.list:
        if arguments.json:
            write_json(memories_document(read))
            return ExitStatus.DONE
        for header in read:
            write("\n  ".join(describe_memory(header, book, time.time())))
        if not read:
            say("No memories of this book yet.")
        return ExitStatus.DONE
    header = find_memory(headers, memory_query(arguments, arguments.model))
    if arguments.delete:
        memory_store().delete(header)
        say(f"Deleted {counted(header.pages, 'page')} of {header.model_name}, {header.focus.description}.")
        return ExitStatus.DONE
    memory = memory_store().load(book, header)
    if arguments.json:
        write_json(pages_document(memory))
    else:
        for entry in memory.entries:
            write(_page(memory, entry))
    if memory.focus != DEFAULT_FOCUS:
        say(f"Read by {memory.model_name} {memory.focus.description}.")
    if others := len(read) - 1:
        say(f"This book has {others} other {'memory' if others == 1 else 'memories'}; --list shows them.")
    if not memory.complete:
        say(f"{len(memory.entries)} of about {memory.estimated_pages} pages read so far.")
    return ExitStatus.DONE


def _page(memory: GistMemory, entry: MemoryEntry) -> str:
    page = entry.page
    source = "" if entry.gist.source is GistSource.MODEL else f" · {entry.gist.source}"
    place = f"{page.start}–{page.end}"
    heading = f"{page.number}  {memory.book.chapter_title(page.start)} · {page.words} words · {place}{source}"
    gist = textwrap.fill(entry.gist.text, _COLUMNS, initial_indent="   ", subsequent_indent="   ")
    return f"{heading}\n{gist}\n"
