"""`gistread index BOOK`: reads the rest of the book, and builds the artifacts of readers (`--for`)."""

import argparse
import asyncio
import shlex
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gistread.book.model import Book
from gistread.cli.interrupt import InterruptError, run_until_interrupted
from gistread.cli.json_output import Json, artifact_document, index_document
from gistread.cli.loading import choose_embedding_model
from gistread.cli.memories import check_preset, task_of
from gistread.cli.opening import check_models, load_settings, open_named
from gistread.cli.output import write_json
from gistread.cli.progress import ProgressLine, artifact_line, at_work
from gistread.cli.sessions import new_session, read_to_end
from gistread.config import Config
from gistread.engine.protocol import EngineInfo
from gistread.errors import ExitStatus
from gistread.memory.artifacts import ARTIFACTS, VECTORS, Artifact, ArtifactModels, build_artifacts
from gistread.memory.estimate import RemainingWork
from gistread.memory.model import GistMemory, GistSource
from gistread.readers.registry import METHODS
from gistread.session.session import Session
from gistread.units import counted, format_duration


def run(arguments: argparse.Namespace) -> ExitStatus:
    config = replace(load_settings(arguments), asking_model="")  # No questions are asked.
    check_preset(config)
    check_models(arguments)
    task = task_of(arguments)
    embedding_model = choose_embedding_model(arguments.embedding_model, config, arguments.readers)
    document = run_until_interrupted(_index(open_named(arguments.book), config, task, embedding_model, arguments))
    if arguments.json:
        write_json(document)
    elif arguments.events:
        write_json({"event": "done", **document})
    return ExitStatus.DONE


async def _index(
    book: Book, config: Config, task: str, embedding_model: Path | None, arguments: argparse.Namespace
) -> Json:
    names = dict.fromkeys(name for reader in arguments.readers for name in METHODS[reader].artifacts)
    if arguments.embedding_model:
        names.setdefault(VECTORS)
    artifacts = tuple(ARTIFACTS[name] for name in names)
    with ProgressLine() as line:
        async with new_session(book, config, line, arguments, task, embedding_model) as session:

            async def say_estimates() -> None:
                memory, models = _opened(session)
                for artifact in artifacts:
                    work = await artifact.remaining(memory, models)
                    if not work.needless:
                        line.say(f"{artifact.name.capitalize()}: {_estimate(work, models.engine.info)}.")

            began = time.monotonic()
            resumed_pages = await read_to_end(
                session, line, arguments.book, events=arguments.events, on_open=say_estimates, must_save=True
            )
            memory, models = _opened(session)
            line.say(_summary(memory, resumed_pages, time.monotonic() - began))
            # By chapters, to keep messages to the engine small.
            tokens = sum([await models.engine.count(book.text[one.start : one.end]) for one in book.chapters])
            document = index_document(memory, models.engine.info, resumed_pages=resumed_pages, book_tokens=tokens)
            if artifacts:
                document["needs"] = await _build(artifacts, memory, models, arguments, line)
            return document


def _opened(session: Session) -> tuple[GistMemory, ArtifactModels]:
    assert session.memory is not None
    assert session.engine is not None
    return session.memory, ArtifactModels(session.engine, session.embedder)


def _summary(memory: GistMemory, resumed_pages: int, seconds: float) -> str:
    pages = len(memory.entries)
    if resumed_pages == pages:
        began = f"All {pages} pages had been read {memory.focus.description}"
    else:
        before = f", {resumed_pages} of them before" if resumed_pages else ""
        began = f"Read {counted(pages, 'page')} in {format_duration(seconds)}{before}, {memory.focus.description}"
    read = sum(entry.page.words for entry in memory.entries)
    text = f"{began}: {read:,} words in {memory.gist_words:,} ({memory.compression_rate():.1f}% shorter)."
    extracts = sum(entry.gist.source is GistSource.EXTRACTIVE for entry in memory.entries)
    if extracts:
        text += f"\n{extracts} of the gists are sentences from the page, because the model's own failed the checks."
    return text


async def _build(
    artifacts: Sequence[Artifact],
    memory: GistMemory,
    models: ArtifactModels,
    arguments: argparse.Namespace,
    line: ProgressLine,
) -> Json:
    document: Json = {}
    for artifact in artifacts:
        work = await artifact.remaining(memory, models)
        if work.needless:
            continue
        began = time.monotonic()
        if work.complete:
            line.say(f"{artifact.name.capitalize()}: {_estimate(work, models.engine.info)}.")
        else:
            await _build_one(artifact, work, memory, models, arguments, line)
        built, seconds = work.total - work.done, 0.0 if work.complete else round(time.monotonic() - began, 3)
        document[artifact.name] = {"total": work.total, "made": built, "seconds": seconds}
    return document


async def _build_one(
    artifact: Artifact,
    work: RemainingWork,
    memory: GistMemory,
    models: ArtifactModels,
    arguments: argparse.Namespace,
    line: ProgressLine,
) -> None:
    done, began = work.done, time.monotonic()
    try:
        async for _, current in build_artifacts([artifact.name], memory, models):
            done = max(done, current.done)
            seconds_each = (time.monotonic() - began) / max(1, done - work.done)
            left_s = seconds_each * max(0, current.total - done)
            line.show(artifact_line(artifact.name, done, current.total, left_s))
            if arguments.events:
                write_json(artifact_document(artifact.name, done, current.total))
            if memory.derived.failure:
                raise memory.derived.failure
    except asyncio.CancelledError:
        raise InterruptError(
            f"Stopped after {done} of {work.total} {artifact.name}; they are saved.",
            f"Run `gistread index {shlex.quote(arguments.book)}` with the same --for to resume.",
        ) from None
    finally:
        line.clear()
    built, seconds = work.total - work.done, time.monotonic() - began
    line.say(f"{artifact.name.capitalize()}: built {built} in {format_duration(seconds)}.")


def _estimate(work: RemainingWork, info: EngineInfo) -> str:
    if work.complete:
        return f"all {work.total} exist already"
    missing, known = work.total - work.done, f", {work.done} exist already" if work.done else ""
    seconds = work.seconds(info)
    if seconds is None:
        return f"{missing} to build{known}"
    where = at_work(info) if work.by_engine else "the embedding model"
    return f"about {missing} to build, {format_duration(seconds)} with {where}{known}"
