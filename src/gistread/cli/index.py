"""`gistread index BOOK`: the model reads the book, from where it was left to the end, and makes what readers need."""

import argparse
import time
from dataclasses import replace
from pathlib import Path

from gistread.book.model import Book
from gistread.cli.artifacts import estimate_needs, make_needs, needs_of
from gistread.cli.embedding import chosen_embedding_model
from gistread.cli.interrupt import run_until_interrupted
from gistread.cli.json_output import Json, index_document
from gistread.cli.loading import check_preset
from gistread.cli.memories import task_typed
from gistread.cli.opening import open_named, settings
from gistread.cli.output import write_json
from gistread.cli.progress import ProgressLine
from gistread.cli.sessions import read_to_end, session_for
from gistread.config import Config
from gistread.engine.protocol import Engine
from gistread.errors import ExitStatus
from gistread.memory.artifacts import ArtifactModels
from gistread.memory.model import GistMemory, GistSource
from gistread.session.session import Session
from gistread.units import format_duration


def run(arguments: argparse.Namespace) -> ExitStatus:
    config = replace(settings(arguments), asking_model="")  # Nothing is asked.
    check_preset(config)
    task = task_typed(arguments)
    embedding_model = chosen_embedding_model(arguments, config, arguments.readers)
    book = open_named(arguments.book)
    document = run_until_interrupted(_index(arguments, config, book, task, embedding_model))
    if arguments.json:
        write_json(document)
    elif arguments.events:
        write_json({"event": "done", **document})
    return ExitStatus.DONE


async def _index(
    arguments: argparse.Namespace, config: Config, book: Book, task: str, embedding_model: Path | None
) -> Json:
    needs = needs_of(arguments.readers, vectors=bool(arguments.embedding_model))
    with ProgressLine() as line:
        session = session_for(arguments, config, book, line, task=task, embedding_model=embedding_model)
        async with session:

            async def estimate() -> None:
                memory, models = _opened(session)
                await estimate_needs(memory, models, needs, line)

            began = time.monotonic()
            resumed_pages = await read_to_end(session, line, arguments.book, events=arguments.events, opened=estimate)
            memory, models = _opened(session)
            line.say(_summary(memory, resumed_pages, time.monotonic() - began))
            document = index_document(
                memory,
                models.engine.info,
                resumed_pages=resumed_pages,
                book_tokens=await _book_tokens(book, models.engine),
            )
            if needs:
                name, events = arguments.book, arguments.events
                document["needs"] = await make_needs(memory, models, needs, line, name, events=events)
            return document


def _opened(session: Session) -> tuple[GistMemory, ArtifactModels]:
    """The memory, and the models that artifacts of it are built with."""
    assert session.memory is not None
    assert session.engine is not None
    return session.memory, ArtifactModels(session.engine, session.embedder)


async def _book_tokens(book: Book, engine: Engine) -> int:
    """By chapters, so that no single message to the engine is as long as the book."""
    return sum([await engine.count(book.text[chapter.start : chapter.end]) for chapter in book.chapters])


def _summary(memory: GistMemory, resumed_pages: int, seconds: float) -> str:
    pages = len(memory.entries)
    if resumed_pages == pages:
        began = f"All {pages} pages had been read {memory.focus.description}"
    else:
        again = f", {resumed_pages} of them before" if resumed_pages else ""
        began = f"Read {pages} pages in {format_duration(seconds)}{again}, {memory.focus.description}"
    read = sum(entry.page.words for entry in memory.entries)
    text = f"{began}: {read:,} words in {memory.gist_words:,} ({memory.compression_rate():.1f}% shorter)."
    extracts = sum(entry.gist.source is GistSource.EXTRACTIVE for entry in memory.entries)
    if extracts:
        text += f"\n{extracts} of the gists are sentences of the page itself, since the model's own failed the checks."
    return text
