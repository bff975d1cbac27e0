"""`gistread recap BOOK`: tells the story so far, from the gists. Needs no model."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict

from gistread.book.model import Book
from gistread.cli.memories import memory_store, saved_memories
from gistread.cli.opening import open_named, resolve_bound
from gistread.cli.output import report, say
from gistread.memory.model import GistMemory
from gistread.memory.sizes import unread_memory
from gistread.memory.writer import MemoryHeader
from gistread.paths import default_paths
from gistread.readers.recap import describe_sources, recap
from gistread.store.user_data import UserData


def run(arguments: argparse.Namespace) -> None:
    book = open_named(arguments.book)
    memory = longest_memory(book, saved_memories(book, arguments.book))
    bound = resolve_bound(arguments.upto, memory, "Up to your place; `--upto all` tells the whole book.")
    corrections = UserData(default_paths()).name_corrections(book.sha256)
    story = recap(memory if bound is None else memory.upto(bound), corrections)
    length, lines = max(1, len(book.text)), []
    for title, part in (("The story before", story.before), (story.title or "So far", story.chapter)):
        if part:
            lines += [title, *(f"{told.start / length:>5.0%}  {told.text}" for told in part), ""]
    if story.people:
        lines.append(f"People here: {', '.join(story.people)}")
    if story.stopped and bound is not None:
        lines.append(f"You stopped at: {' '.join(book.text[slice(*story.stopped)].split())}")
    document = {
        "before": [asdict(told) for told in story.before],
        "chapter": story.title,
        "told": [asdict(told) for told in story.chapter],
        "people": list(story.people),
        "stopped": story.stopped[0] if story.stopped else None,
        "pages": story.pages,
        "summaries": story.summaries,
    }
    report(arguments, document, lines)
    if story.pages:
        say(f"Told {describe_sources(story)}.")
    else:
        say("Nothing has been read: these are sentences of the chapter itself. `gistread index BOOK` reads it.")


def longest_memory(book: Book, headers: Sequence[MemoryHeader]) -> GistMemory:
    """The furthest memory, or an empty one. Raises StorageError."""
    longest = max(headers, key=lambda header: header.read_until, default=None)
    return memory_store().load(book, longest) if longest and longest.read_until else unread_memory(book)
