"""`gistread pages BOOK`: what is in the memory of a book. Needs no model."""

import argparse
import textwrap
import time
from collections.abc import Sequence

from gistread.book.model import Book
from gistread.cli.json_output import memories_document, pages_document
from gistread.cli.loading import memory_store
from gistread.cli.memories import meant
from gistread.cli.opening import open_named
from gistread.cli.output import say, write, write_json
from gistread.errors import ExitStatus
from gistread.library.memories import describe_memory
from gistread.memory.focus import DEFAULT_FOCUS
from gistread.memory.model import GistMemory, GistSource, MemoryEntry
from gistread.memory.writer import MemoryHeader

_COLUMNS = 78


def run(arguments: argparse.Namespace) -> ExitStatus:
    book = open_named(arguments.book)
    store = memory_store()
    headers = store.find(book)
    if arguments.list:
        _list([header for header in headers if header.pages], book, json=arguments.json)
        return ExitStatus.DONE
    memory = store.load(book, meant(headers, arguments, arguments.model))
    if arguments.json:
        write_json(pages_document(memory))
    else:
        for entry in memory.entries:
            write(_shown(memory, entry))
    if memory.focus != DEFAULT_FOCUS:
        say(f"Read by {memory.model_name} {memory.focus.description}.")
    if others := sum(header.pages > 0 for header in headers) - 1:
        say(f"There {'is another memory' if others == 1 else f'are {others} other memories'} of this book: --list.")
    if not memory.complete:
        say(f"{len(memory.entries)} of about {memory.estimated_pages} pages have been read so far.")
    return ExitStatus.DONE


def _list(headers: Sequence[MemoryHeader], book: Book, *, json: bool) -> None:
    if json:
        write_json(memories_document(headers))
        return
    for header in headers:
        write("\n  ".join(describe_memory(header, book, time.time())))
    if not headers:
        say("Nothing of this book has been read yet.")


def _shown(memory: GistMemory, entry: MemoryEntry) -> str:
    page = entry.page
    mark = "" if entry.gist.source is GistSource.MODEL else f" · {entry.gist.source}"
    place = f"{page.start}–{page.end}"
    head = f"{page.number}  {memory.book.chapter_title(page.start)} · {page.words} words · {place}{mark}"
    gist = textwrap.fill(entry.gist.text, _COLUMNS, initial_indent="   ", subsequent_indent="   ")
    return f"{head}\n{gist}\n"
