"""`gistread pages BOOK`: what is in the memory of a book. Needs no model."""

import argparse
import shlex
import textwrap

from gistread.cli.loading import memory_store
from gistread.cli.opening import open_named
from gistread.cli.output import say, write, write_json
from gistread.cli.shapes import chapter_title, pages_document
from gistread.errors import ExitStatus, GistreadError
from gistread.memory.model import Entry, GistMemory, GistSource
from gistread.memory.store import MemoryHeader

_COLUMNS = 78


def run(arguments: argparse.Namespace) -> ExitStatus:
    book = open_named(arguments.book)
    store = memory_store()
    memory = store.load(book, _fullest(store.find(book), arguments.book, arguments.model))
    if arguments.json:
        write_json(pages_document(memory))
    else:
        for entry in memory.entries:
            write(_shown(memory, entry))
    if not memory.complete:
        say(f"{len(memory.entries)} of about {memory.estimated_pages} pages have been read so far.")
    return ExitStatus.DONE


def _fullest(headers: list[MemoryHeader], book: str, model: str | None) -> MemoryHeader:
    """The memory that got furthest, among those of `model` if one is named; `book` as it was typed."""
    readers = sorted({header.model_name for header in headers if header.pages})
    for header in headers:
        if header.pages and (model is None or model.casefold() in header.model_name.casefold()):
            return header
    if readers:
        raise GistreadError(f"No model {model!r} has read this book.", f"It was read by: {', '.join(readers)}.")
    raise GistreadError(
        "Nothing of this book has been read yet.", f"`gistread index {shlex.quote(book)}` lets the model read it."
    )


def _shown(memory: GistMemory, entry: Entry) -> str:
    page = entry.page
    mark = "" if entry.gist.source is GistSource.MODEL else f" · {entry.gist.source}"
    place = f"{page.start}–{page.end}"
    head = f"{page.number}  {chapter_title(memory.book, page.start)} · {page.words} words · {place}{mark}"
    gist = textwrap.fill(entry.gist.text, _COLUMNS, initial_indent="   ", subsequent_indent="   ")
    return f"{head}\n{gist}\n"
