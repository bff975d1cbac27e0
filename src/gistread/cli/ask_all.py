"""`gistread ask --all QUESTION`: the books that may answer go to standard error, the answer to standard output."""

import argparse
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager

from gistread.cli.answering import print_answer
from gistread.cli.interrupt import run_until_interrupted
from gistread.cli.json_output import usage_document
from gistread.cli.opening import check_models, load_settings
from gistread.cli.output import Json, say, write_json
from gistread.cli.progress import ProgressLine, engine_line
from gistread.cli.search import indexed_shelf
from gistread.cli.sessions import announce
from gistread.config import Config
from gistread.errors import GistreadError, UsageError
from gistread.paths import Paths
from gistread.readers import events
from gistread.session.events import ActivityChanged, SessionEvent
from gistread.session.library import BooksNamed, LibraryQuestion, NamedBook
from gistread.session.models import ModelChecks, ModelPair, engine_maker
from gistread.store.model import Citation
from gistread.units import counted, fields, in_quotes


def ask_all(arguments: argparse.Namespace) -> None:
    alone = ("question", "reader", "max_pages", "choice", "upto", "continues", "thread")
    if given := [name for name in (*alone, "index", "events") if getattr(arguments, name)]:
        what = "two arguments" if given == ["question"] else f"--{given[0].replace('_', '-')}"
        raise UsageError(f"--all takes one QUESTION and no BOOK, not {what}.", 'Example: gistread ask --all "Who …?"')
    check_models(arguments)
    config, shelf = load_settings(arguments), indexed_shelf(arguments.tag)
    question = LibraryQuestion(arguments.book, shelf, config, unread=arguments.unread)
    unread = f"{counted(question.left_out, 'unread book')} left out" if question.left_out else ""
    if not question.asked:
        raise GistreadError("You have begun none of your books.", f"{unread}; --unread asks them too.")

    def place(citation: Citation) -> str:
        book, (start, _) = question.source(citation)
        chapter = book.indexed.chapter_title(start)
        return " · ".join(filter(None, (book.entry.title, f"{start / book.indexed.length:.0%}", chapter)))

    async def answer() -> None:
        with ProgressLine() as line:

            def on_event(models: ModelPair, event: SessionEvent) -> None:
                if isinstance(event, ActivityChanged) and models.answering.state:
                    line.show(engine_line(models.answering.state, models.answering.name))
                announce(event, line, config)

            chosen = arguments.model or "", arguments.asking_model or ""
            async with answering_models(config, shelf.paths, chosen, on_event) as (models, checks):
                named: list[NamedBook] = []
                async with aclosing(question.stream(models.load_asking, checks)) as stream:
                    told = _told(stream, named, line)
                    answered = await print_answer(told, line, place, as_json=arguments.json)
                if arguments.json:
                    model = fields(models.answering.info, "name", "fingerprint")
                    write_json({**_document(named, answered, question), "model": model})

    try:
        run_until_interrupted(answer())
    finally:
        if unread:
            say(f"{unread}; --unread asks them too.")


@asynccontextmanager
async def answering_models(
    config: Config, paths: Paths, chosen: tuple[str, str], on_event: Callable[[ModelPair, SessionEvent], None]
) -> AsyncIterator[tuple[ModelPair, ModelChecks]]:
    """The models with these names, for a question about all books, and their checks. Raises EngineError."""
    models = ModelPair(engine_maker(config, paths), config, lambda event: on_event(models, event))
    try:
        await models.choose(*chosen)
        yield models, ModelChecks(paths)
    finally:
        await models.close()


async def _told(
    stream: AsyncIterator[BooksNamed | events.ReaderEvent], named: list[NamedBook], line: ProgressLine
) -> AsyncIterator[events.ReaderEvent]:
    """The reader's events. The books that are named are printed, and go to `named`."""
    async for event in stream:
        if not isinstance(event, BooksNamed):
            yield event
            continue
        if named:
            line.say(f"The model takes it to be about {event.books[0].book.entry.title}.")
        else:
            for one in event.books:
                line.say(f"  {one.book.entry.title}: {one.reason}: {in_quotes(' '.join(one.best.text.split()))}")
        named[:] = event.books


def _document(named: list[NamedBook], answered: events.Answered, question: LibraryQuestion) -> Json:
    citations = []
    for citation in answered.citations:
        book, (start, end) = question.source(citation)
        place = {"start": start, "end": end, "quote": citation.quote, "chapter": book.indexed.chapter_title(start)}
        citations.append({**book.document, **place})
    return {
        **fields(answered, "answer", "found", "quoted"),
        "books": [{**one.book.document, "passages": one.passages, "words": list(one.words)} for one in named],
        "citations": citations,
        "not_begun": question.left_out,
        "usage": usage_document(answered.usage),
    }
