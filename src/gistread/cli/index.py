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
    document = run_until_interrupted(
        _index(open_named(arguments.book), config, arguments)
    )
    if arguments.json or arguments.events:
        write_json(document if arguments.json else {"event": "done", **document})


async def _index(book: Book, config: Config, arguments: argparse.Namespace) -> Json:
    with ProgressLine() as line:
        async with new_session(book, config, line, arguments) as session:
            began = time.monotonic()
            resumed = await read_to_end(
                session, line, arguments.book, events=arguments.events, must_save=True
            )
            memory, engine = session.memory, session.models.reading.engine
            assert memory is not None
            assert engine is not None
            line.say(_summary(memory, resumed, time.monotonic() - began))
            # By chapters, to keep messages to the engine small.
            tokens = sum(
                [
                    await engine.count(book.text[chapter.start : chapter.end])
                    for chapter in book.chapters
                ]
            )
            return index_document(
                memory, engine.info, resumed_pages=resumed, book_tokens=tokens
            )


def _summary(memory: GistMemory, resumed: int, seconds: float) -> str:
    count = len(memory.read_entries)
    if resumed == count:
        began = f"All {count} sections had been read {memory.focus.description}"
    else:
        before = f", {resumed} of them before" if resumed else ""
        began = (
            f"Read {counted(count, 'section')} in {format_duration(seconds)}{before}, "
            f"{memory.focus.description}"
        )
    read = sum(entry.page.words for entry in memory.read_entries)
    text = (
        f"{began}: {read:,} words in {memory.gist_words:,} ({memory.compression_rate():.1f}% "
        "shorter)."
    )
    extracts = sum(
        entry.gist.source is GistSource.EXTRACTIVE for entry in memory.entries
    )
    if extracts:
        text += (
            f"\n{extracts} of the gists are sentences from the book, because the model's own "
            "failed the checks."
        )
    if any(entry.gist.source is GistSource.QUOTED for entry in memory.entries):
        text += (
            "\nThe starter's gists are sentences from the book, because what it writes itself is "
            "often wrong."
        )
    return text
