"""`gistread ask BOOK QUESTION`: the reader's steps go to standard error, the answer to standard output."""

import argparse
import sys
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, nullcontext, suppress
from dataclasses import replace

from gistread.book.model import Book
from gistread.cli import memories
from gistread.cli.decisions import check_terminal, format_prompt, read_decisions
from gistread.cli.interrupt import run_until_interrupted
from gistread.cli.json_output import Json, ask_document, reader_document, step_document
from gistread.cli.opening import check_models, load_settings, open_named, resolve_bound
from gistread.cli.output import say, write_json
from gistread.cli.progress import ProgressLine
from gistread.cli.sessions import new_session, read_to_end
from gistread.cli.streamed_answer import StreamedAnswer
from gistread.config import Config
from gistread.engine.models import find_chosen, fingerprint_of
from gistread.errors import EngineError, ExitStatus, StorageError, UsageError
from gistread.memory.focus import DEFAULT_FOCUS
from gistread.memory.front_matter import front_matter_end
from gistread.memory.passages import Passage
from gistread.memory.sizes import unread_memory
from gistread.memory.writer import MemoryHeader
from gistread.paths import default_paths
from gistread.readers import events as reader_events
from gistread.readers.choices import with_options
from gistread.readers.cost import QUICK
from gistread.readers.registry import DEFAULT_READER, METHODS, find_method
from gistread.readers.selection import abbreviate, extend_bound, question_about, question_alone
from gistread.readers.steering import Steps
from gistread.readers.trace import Places, describe_scope, progress_of, step_of
from gistread.search.book_search import FoldedText
from gistread.session.estimate import find_cheaper, is_long, seconds_to_answer
from gistread.session.questions import AskOptions, thread_of, with_answer
from gistread.session.session import Session
from gistread.store.model import Citation, SavedQuestion, SavedThread
from gistread.store.user_data import UserData
from gistread.units import format_duration

_UPTO_HERE = "Asked over the book up to your place; `--upto all` asks the whole book."


def run(arguments: argparse.Namespace) -> ExitStatus:
    if arguments.all:
        from gistread.cli.ask_all import ask_all  # imported here: it imports this module

        return ask_all(arguments)
    again = _resume_interrupted(arguments) if arguments.again else None
    if not arguments.question.strip():
        raise UsageError("The question is empty.", 'Example: gistread ask BOOK "Who is Justine?"')
    with_options(arguments.question, arguments.choice)  # Raises UsageError for unusable options.
    config = load_settings(arguments)
    reader = arguments.reader or config.reader or DEFAULT_READER
    find_method(reader, "" if arguments.reader else " in config.toml")
    steps = Steps(arguments.steps or config.steps)
    if arguments.steps:
        check_terminal(steps)
    elif not sys.stdin.isatty():
        steps = Steps.ALONE  # The setting is for interactive use.
    memories.check_preset(config)
    check_models(arguments)
    query = memories.memory_query(arguments)
    book = open_named(arguments.book)
    config = replace(config, reader=reader, steps=steps.value)
    passage = again.passage if again else None
    if arguments.passage:
        passage = _passage(arguments.passage, book)
    header = None if arguments.index else _choose_memory(book, config, query, arguments, passage)
    run_until_interrupted(_ask(book, config, query.task, arguments, header, passage, again))
    return ExitStatus.DONE


def _choose_memory(
    book: Book, config: Config, query: memories.MemoryQuery, arguments: argparse.Namespace, passage: Passage | None
) -> MemoryHeader | None:
    """The memory to ask over; None if there is none and the reader needs none. Raises GistreadError."""
    headers = memories.saved_memories(book, arguments.book)
    needs_memory = METHODS[config.reader].needs_memory and passage is None
    if not needs_memory and not any(header.read_until for header in headers):
        return None
    fingerprint = ""
    if config.asking_model:  # `--model` names the model that has read.
        try:
            fingerprint = fingerprint_of(find_chosen(arguments.model, config))
        except EngineError:
            if arguments.model:
                raise
        if arguments.model and arguments.asking_model and fingerprint:
            headers = memories.memories_by(fingerprint, arguments.model, headers)
    header = memories.find_memory(headers, query, prefer=fingerprint)
    if header.focus != DEFAULT_FOCUS:
        say(f"The book was read {header.focus.description}.")
    return header


async def _ask(
    book: Book,
    config: Config,
    task: str,
    arguments: argparse.Namespace,
    header: MemoryHeader | None,
    passage: Passage | None,
    again: SavedQuestion | None,
) -> None:
    with ProgressLine() as line:
        async with new_session(book, config, line, arguments, task) as session:
            if arguments.index:
                await read_to_end(session, line, arguments.book, events=arguments.events)
                if session.activity.asking_model:
                    await session.unload_model()  # One model at a time uses the whole machine.
            elif header is not None:
                await session.use_memory(header)
            memory = session.memory or unread_memory(book)
            pinned = again.pinned if again else ()
            before = _thread(book, arguments)
            upto = resolve_bound(arguments.upto, memory, _UPTO_HERE)
            if before and upto is None and not arguments.upto and (upto := before.questions[-1].upto) is not None:
                share = f"{upto / len(book.text):.0%}"
                say(f"Asked over the book up to {share}, as the last question; `--upto all` asks the whole book.")
            if not passage and upto is not None and upto <= front_matter_end(book):
                say("The text begins after this place; `--upto all` asks the whole book.")
            upto = extend_bound(passage, upto, book)
            options: AskOptions = {"pinned": pinned, "upto": upto, "choices": tuple(arguments.choice)}
            options["thread"] = thread_of(before.questions) if before else ()
            options["steps"] = Steps(config.steps)
            shown = arguments.question
            if passage is not None:
                options["passage"], shown = passage, question_about(passage, shown, book)
            asked_at = again.asked_at if again else time.time()
            thread = before.id if before and before.id != asked_at else 0.0
            asked = SavedQuestion(
                shown,
                "",
                False,
                reader=config.reader,
                asked_at=asked_at,
                upto=upto,
                thread=thread,
                pinned=tuple(pinned),
                passage=passage,
            )
            stream = session.stream_answer(arguments.question, **options)  # Raises UsageError
            _save(book, asked)
            decisions = read_decisions(lambda: session.steering, line, len(book.text))
            async with aclosing(stream) as events:
                shown_events = events if passage else _with_estimate(events, session, upto)
                with nullcontext() if config.steps == "alone" else decisions:
                    reader, steps, answered = await _show_events(
                        shown_events, book, Places(len(book.text), memory), config.reader, arguments, line
                    )
            info = session.models.answering.info
            assert info is not None
            if upto is not None:
                memory = memory.upto(upto)
            if arguments.json:
                write_json(ask_document(reader, info, memory, steps, answered))
            made_by = memory.model_name if memory.entries else ""
            _save(book, with_answer(asked, answered, model=info.name, memory=made_by))


def _save(book: Book, question: SavedQuestion) -> None:
    try:
        UserData(default_paths()).add_question(book.sha256, question)
    except StorageError as error:
        say(f"Note: the question could not be saved: {error.message}")


def _resume_interrupted(arguments: argparse.Namespace) -> SavedQuestion:
    """Set the arguments to those of the last interrupted question. Raises GistreadError."""
    book = open_named(arguments.book)
    user_data = UserData(default_paths())
    interrupted = [one for one in user_data.questions(book.sha256) if not one.answer]
    if not interrupted or arguments.question:
        what = "--again takes no question" if interrupted else "No question about this book was interrupted"
        raise UsageError(f"{what}.", "`gistread threads BOOK` lists the questions.")
    last = interrupted[-1]
    arguments.question = question_alone(last.passage, last.question, book)
    arguments.upto = arguments.upto or ("all" if last.upto is None else str(last.upto))
    arguments.reader = arguments.reader or last.reader
    if last.thread and not (arguments.thread or arguments.continues):
        threads = [one.id for one in user_data.threads(book.sha256)]
        arguments.thread = threads.index(last.thread) + 1
    return last


def _passage(words: str, book: Book) -> Passage:
    """The range of the selected words: the nearest to the user's place if there are several. Raises UsageError."""
    places = list(FoldedText(book.text).find(words))
    if not places:
        raise UsageError(f"The book does not have {abbreviate(words)}.", "`gistread search` finds similar ones.")
    here = 0
    with suppress(StorageError):
        here = UserData(default_paths()).reading_place(book.sha256).offset
    nearest = min(places, key=lambda place: abs(place[0] - here))
    if len(places) > 1:
        which = f"the {'one nearest to your place' if here else 'first'}, in {book.chapter_title(nearest[0])}"
        say(f"These words stand at {len(places)} places; asked about {which}. Quote more words for another.")
    return nearest


def _thread(book: Book, arguments: argparse.Namespace) -> SavedThread | None:
    """The thread that the question continues. Raises UsageError, StorageError."""
    if not arguments.continues and not arguments.thread:
        return None
    threads = UserData(default_paths()).threads(book.sha256)
    number = arguments.thread or len(threads)
    if not 1 <= number <= len(threads):
        raise UsageError("There is no such thread of questions.", "`gistread threads BOOK` lists them.")
    return threads[number - 1]


async def _with_estimate(
    events: AsyncIterator[reader_events.ReaderEvent], session: Session, upto: int | None
) -> AsyncIterator[reader_events.ReaderEvent]:
    """Pass the events on; before the first, when the model is loaded, print the expected time of a long answer."""
    is_first = True
    async for event in events:
        if is_first:
            is_first = False
            await _say_estimate(session, upto)
        yield event


async def _say_estimate(session: Session, upto: int | None) -> None:
    """Print the expected time of a long answer, and a quicker reader."""
    memory = session.memory or unread_memory(session.book)
    known = memory if upto is None else memory.upto(upto)
    seconds = await seconds_to_answer(session, upto=upto)
    if not is_long(session.reader, seconds, known):
        return
    if seconds is None:
        pages = f"{session.reader} reads ~{known.estimated_pages} sections; this model's speed is not known yet."
        say(f"{pages} `--reader {QUICK}` is quicker.")
    else:
        quick = await find_cheaper(session, seconds, upto)
        other = f" `--reader {quick[0]}` takes about {format_duration(quick[1])}." if quick and quick[1] else ""
        say(f"{session.reader} takes about {format_duration(seconds)}.{other}")


async def _show_events(
    events: AsyncIterator[reader_events.ReaderEvent],
    book: Book,
    places: Places,
    reader: str,
    arguments: argparse.Namespace,
    line: ProgressLine,
) -> tuple[str, list[Json], reader_events.Answered]:
    as_json = arguments.json or arguments.events
    steps: list[Json] = []
    answered: reader_events.Answered | None = None
    trace: list[reader_events.ReaderEvent] = []
    answer = StreamedAnswer(live=not as_json and sys.stdout.isatty())
    async for event in events:
        if document := step_document(event):
            steps.append(document)
        if arguments.events:
            write_json(reader_document(event))
        if step := step_of(event, places):
            line.say(f"  {step}")
        if not isinstance(event, reader_events.AnswerDelta):
            trace.append(event)
            if under_way := progress_of(trace):
                line.show("{}: {} of {}".format(*under_way))
        match event:
            case reader_events.Proposed():
                line.say(format_prompt(event, len(book.text)))
            case reader_events.Started(reader=name):
                reader = name
                if scope := describe_scope(event):
                    line.say(scope)
            case reader_events.AnswerDelta(text=text):
                line.clear()
                answer.add(text)
            case reader_events.Restarted() | reader_events.SteppedBack():
                answer.restart()
            case reader_events.Answered():
                answered = event
    line.clear()
    assert answered is not None, "a reader ends with Answered"
    if not as_json:
        answer.finish(answered, lambda citation: _place(citation, book))
    return reader, steps, answered


def _place(citation: Citation, book: Book) -> str:
    place = f"section {citation.page}" if citation.page else f"{citation.start / len(book.text):.0%}"
    return " · ".join(filter(None, (place, book.volume_title(citation.start))))
