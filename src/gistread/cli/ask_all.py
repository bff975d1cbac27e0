"""`gistread ask --all QUESTION`: the books that may answer go to standard error, the answer to standard output."""

import argparse
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing

from gistread.cli.answering import PrintedAnswer
from gistread.cli.interrupt import run_until_interrupted
from gistread.cli.json_output import Json, usage_document
from gistread.cli.opening import check_models, load_settings
from gistread.cli.output import say, write_json
from gistread.cli.progress import ProgressLine, engine_line
from gistread.cli.search import indexed_shelf
from gistread.cli.sessions import loading_notes
from gistread.errors import ExitStatus, GistreadError, UsageError
from gistread.readers import events
from gistread.session.events import ActivityChanged, ModelLoaded, Notice, SessionEvent
from gistread.session.library import BooksNamed, LibraryQuestion, NamedBook
from gistread.session.models import ModelChecks, ModelPair, engine_maker
from gistread.store.model import Citation
from gistread.units import counted, in_quotes


def ask_all(arguments: argparse.Namespace) -> ExitStatus:
    alone = ("question", "reader", "max_pages", "steps", "passage", "choice", "upto", "continues", "thread")
    if given := [name for name in (*alone, "index", "events") if getattr(arguments, name)]:
        what = "two arguments" if given == ["question"] else f"--{given[0].replace('_', '-')}"
        raise UsageError(f"--all takes one QUESTION and no BOOK, not {what}.", 'Example: gistread ask --all "Who …?"')
    check_models(arguments)
    config, shelf = load_settings(arguments), indexed_shelf(arguments.tag)
    question = LibraryQuestion(arguments.book, shelf, config, unread=arguments.unread)
    unread = f"{counted(question.left_out, 'book')} not begun left out" if question.left_out else ""
    if not question.asked:
        raise GistreadError("You have begun none of your books.", f"{unread}; --unread asks them too.")

    async def answer() -> None:
        with ProgressLine() as line:

            def on_event(event: SessionEvent) -> None:
                match event:
                    case ActivityChanged() if models.answering.state:
                        line.show(engine_line(models.answering.state, models.answering.name))
                    case ModelLoaded(info=info, state=state):
                        for note in loading_notes(info, state, config):
                            line.say(f"Note: {note}")
                    case Notice(text=notice):
                        line.say(f"Note: {notice}")

            models = ModelPair(engine_maker(config, shelf.paths), config, on_event)
            try:
                await models.choose(arguments.model or "", arguments.asking_model or "")
                checks = ModelChecks(shelf.paths)
                async with aclosing(question.stream(models.load_asking, checks)) as stream:
                    named, answered = await _show(stream, question, line, as_json=arguments.json)
                info = models.answering.info
                assert info is not None
                if arguments.json:
                    model = {"name": info.name, "fingerprint": info.fingerprint}
                    write_json({**_document(named, answered, question), "model": model})
            finally:
                await models.close()

    try:
        run_until_interrupted(answer())
    finally:
        if unread:
            say(f"{unread}; --unread asks them too.")
    return ExitStatus.DONE


async def _show(
    stream: AsyncIterator[BooksNamed | events.ReaderEvent],
    question: LibraryQuestion,
    line: ProgressLine,
    *,
    as_json: bool,
) -> tuple[tuple[NamedBook, ...], events.Answered]:
    """Print the books that are named, and the answer."""
    named: tuple[NamedBook, ...] = ()
    answer = PrintedAnswer(line, live=not as_json and sys.stdout.isatty())
    async for event in stream:
        if not isinstance(event, BooksNamed):
            answer.add(event)
            continue
        if named:
            line.say(f"The model takes it to be about {event.books[0].book.entry.title}.")
        else:
            for one in event.books:
                line.say(f"  {one.book.entry.title}: {one.reason}: {in_quotes(' '.join(one.best.text.split()))}")
        named = event.books
    if not as_json:
        answer.finish(lambda citation: _place(citation, question))
    assert answer.answered is not None
    return named, answer.answered


def _place(citation: Citation, question: LibraryQuestion) -> str:
    book, (start, _) = question.source(citation)
    chapter = book.indexed.chapter_title(start)
    return " · ".join(filter(None, (book.entry.title, f"{start / book.indexed.length:.0%}", chapter)))


def _document(named: tuple[NamedBook, ...], answered: events.Answered, question: LibraryQuestion) -> Json:
    citations = []
    for citation in answered.citations:
        book, (start, end) = question.source(citation)
        place = {"start": start, "end": end, "quote": citation.quote, "chapter": book.indexed.chapter_title(start)}
        citations.append({**book.document, **place})
    return {
        "answer": answered.answer,
        "found": answered.found,
        "quoted": answered.quoted,
        "books": [{**one.book.document, "passages": one.passages, "words": list(one.words)} for one in named],
        "citations": citations,
        "not_begun": question.left_out,
        "usage": usage_document(answered.usage),
    }
