"""`gistread recap BOOK`: tells the story so far, from the gists. Needs no model."""

import argparse
from collections.abc import Sequence

from gistread.book.model import Book
from gistread.cli.bound import resolve_bound
from gistread.cli.json_output import Json
from gistread.cli.memories import memory_store, saved_memories
from gistread.cli.opening import open_named
from gistread.cli.output import say, write, write_json
from gistread.errors import ExitStatus
from gistread.memory.model import GistMemory
from gistread.memory.sizes import unread_memory
from gistread.memory.writer import MemoryHeader
from gistread.paths import default_paths
from gistread.readers.recap import Recap, RecapSentence, describe_sources, recap
from gistread.user_data import UserData


def run(arguments: argparse.Namespace) -> ExitStatus:
    book = open_named(arguments.book)
    memory = longest_memory(book, saved_memories(book, arguments.book))
    bound = resolve_bound(arguments.upto, memory, "Up to your place; `--upto all` tells the whole book.")
    corrections = UserData(default_paths().books).name_corrections(book.sha256)
    story = recap(memory if bound is None else memory.upto(bound), corrections)
    if arguments.json:
        write_json(recap_document(story))
        return ExitStatus.DONE
    if not story.pages:
        say("No page has been read: these are sentences of the chapter itself. `gistread index BOOK` reads it.")
    length = max(1, len(book.text))
    for title, part in (("The story before", story.before), (story.title or "So far", story.chapter)):
        if part:
            write(title)
            for told in part:
                write(f"{told.start / length:>5.0%}  {told.text}")
            write("")
    if story.people:
        write(f"People here: {', '.join(story.people)}")
    if story.stopped and bound is not None:
        write(f"You stopped at: {' '.join(book.text[slice(*story.stopped)].split())}")
    if story.pages:
        say(f"Told {describe_sources(story)}.")
    return ExitStatus.DONE


def longest_memory(book: Book, headers: Sequence[MemoryHeader]) -> GistMemory:
    """The furthest memory, or an empty one. Raises StorageError."""
    longest = max(headers, key=lambda header: header.read_until, default=None)
    return memory_store().load(book, longest) if longest and longest.read_until else unread_memory(book)


def recap_document(story: Recap) -> Json:
    """What `recap --json` prints."""
    return {
        "before": [_document(told) for told in story.before],
        "chapter": story.title,
        "told": [_document(told) for told in story.chapter],
        "people": list(story.people),
        "stopped": story.stopped[0] if story.stopped else None,
        "pages": story.pages,
        "summaries": story.summaries,
    }


def _document(told: RecapSentence) -> Json:
    return {"text": told.text, "start": told.start}
