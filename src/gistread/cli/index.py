"""`gistread index BOOK`: reads the rest of the book."""

import argparse
import time
from dataclasses import replace

from gistread.book.model import Book
from gistread.cli.interrupt import run_until_interrupted
from gistread.cli.json_output import index_document
from gistread.cli.memory import check_preset
from gistread.cli.opening import check_models, load_settings, open_named
from gistread.cli.output import Json, write_json
from gistread.cli.progress import ProgressLine
from gistread.cli.sessions import new_session, read_to_end
from gistread.config import Config
from gistread.memory.model import GistMemory, GistSource
from gistread.units import counted, format_duration


def run(arguments: argparse.Namespace) -> None:
    # No questions are asked.
    config = replace(load_settings(arguments), asking_model="")
    check_preset(config)
    check_models(arguments)
    book = open_named(arguments.book)
    document = run_until_interrupted(_index(book, config, arguments))
    if arguments.json:
        write_json(document)
    elif arguments.events:
        write_json({"event": "done", **document})


async def _index(book: Book, config: Config, arguments: argparse.Namespace) -> Json:
    """Read the book to its end; return what `--json` prints. Raises GistreadError."""
    with ProgressLine() as line:
        async with new_session(book, config, line, arguments) as session:
            began = time.monotonic()
            resumed_pages = await read_to_end(
                session, line, arguments.book, events=arguments.events, must_save=True
            )
            memory = session.memory
            engine = session.models.reading.engine
            assert memory is not None
            assert engine is not None
            line.say(_summary(memory, resumed_pages, time.monotonic() - began))
            tokens = 0
            # Counted by chapters, to keep messages to the engine small
            for chapter in book.chapters:
                tokens += await engine.count(book.text[chapter.start : chapter.end])
            return index_document(
                memory, engine.info, resumed_pages=resumed_pages, book_tokens=tokens
            )


def _summary(memory: GistMemory, resumed_pages: int, seconds: float) -> str:
    """How much was read, how long it took, and which gists are not the model's own.

    `resumed_pages`: sections that had been read before.
    """
    count = len(memory.read_entries)
    if resumed_pages == count:
        reading = f"All {count} sections had been read"
    else:
        sections = counted(count, "section")
        before = f", {resumed_pages} of them before," if resumed_pages else ","
        reading = f"Read {sections} in {format_duration(seconds)}{before}"
    words = sum(entry.page.words for entry in memory.read_entries)
    lines = [
        f"{reading} {memory.focus.description}: {words:,} words in "
        f"{memory.gist_words:,} ({memory.compression_rate():.1f}% shorter)."
    ]
    sources = [entry.gist.source for entry in memory.entries]
    extracts = sources.count(GistSource.EXTRACTIVE)
    if extracts:
        lines.append(
            f"{extracts} of the gists are sentences from the book, "
            "because the model's own failed the checks."
        )
    if GistSource.QUOTED in sources:
        lines.append(
            "The starter's gists are sentences from the book, "
            "because what it writes itself is often wrong."
        )
    return "\n".join(lines)
