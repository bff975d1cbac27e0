"""`gistread ask --all`: a question about all books of the library."""

import argparse
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field

from gistread.cli.answer_output import PrintedAnswer, print_answered
from gistread.cli.interrupt import run_until_interrupted
from gistread.cli.json_output import usage_document
from gistread.cli.opening import check_models, load_settings
from gistread.cli.output import Json, say
from gistread.cli.progress import ProgressLine, engine_line
from gistread.cli.search import indexed_shelf
from gistread.cli.sessions import announce, answering_models
from gistread.config import Config
from gistread.errors import GistreadError, UsageError
from gistread.paths import Paths
from gistread.readers.events import Answered, ReaderEvent
from gistread.session.events import ActivityChanged, SessionEvent
from gistread.session.library import BooksNamed, LibraryQuestion, NamedBook
from gistread.session.models import ModelPair
from gistread.store.model import Citation
from gistread.units import counted, fields, format_place, in_quotes

# What only a question about one book can have
_FOR_ONE_BOOK = (
    "question",
    "reader",
    "max_pages",
    "choice",
    "upto",
    "continue",
    "thread",
    "index",
    "events",
    "reading",
    "preset",
    "task",
    "min_words",
    "max_words",
)


def ask_all(arguments: argparse.Namespace) -> None:
    """Answer the question, which is typed in the place of a book. Raises GistreadError."""
    _refuse_options_for_one_book(arguments)
    check_models(arguments)
    config = load_settings(arguments)
    shelf = indexed_shelf(arguments.tag)
    question = LibraryQuestion(arguments.book, shelf, config, unread=arguments.unread)
    note = ""
    if question.left_out:
        unread_books = counted(question.left_out, "unread book")
        note = f"{unread_books} left out; --unread asks them too."
    if not question.books:
        raise GistreadError("You have begun none of your books.", note)
    try:
        run_until_interrupted(_answer(question, config, shelf.paths, arguments))
    finally:
        if note:
            say(note)


def _refuse_options_for_one_book(arguments: argparse.Namespace) -> None:
    """Raises UsageError."""
    names = [name for name in _FOR_ONE_BOOK if getattr(arguments, name)]
    if not names:
        return
    # The question stands in the place of BOOK, so a second argument is parsed as the question.
    if names == ["question"]:
        refused = "two arguments"
    else:
        option = names[0].replace("_", "-")
        refused = f"--{option}"
    raise UsageError(
        f"--all takes one QUESTION and no BOOK, not {refused}.",
        'Example: gistread ask --all "Who …?"',
    )


async def _answer(
    question: LibraryQuestion,
    config: Config,
    paths: Paths,
    arguments: argparse.Namespace,
) -> None:
    def on_event(models: ModelPair, event: SessionEvent) -> None:
        answering = models.answering
        if isinstance(event, ActivityChanged) and answering.state:
            line.show(engine_line(answering.state, answering.name))
        announce(event, line, config)

    def place_of(citation: Citation) -> str:
        return _place(citation, question)

    with ProgressLine() as line:
        opening = answering_models(
            config,
            paths,
            on_event,
            model=arguments.model or "",
            asking_model=arguments.asking_model or "",
        )
        async with opening as (models, checks):
            printer = _BookPrinter(line)
            async with aclosing(question.stream(models.load_asking, checks)) as stream:
                events = printer.print_books(stream)
                answered = await print_answered(events, line, place_of, arguments)
            document = _document(answered, question, printer.books)
            document["model"] = fields(models.answering.info, "name", "fingerprint")
            more = {"question": question.question}
            PrintedAnswer(answered, place_of, document, more).write_fields(arguments)


@dataclass(slots=True)
class _BookPrinter:
    """Prints the books that an answer comes from, and remembers them."""

    line: ProgressLine
    books: list[NamedBook] = field(default_factory=list)  # The likeliest first

    async def print_books(
        self, stream: AsyncIterator[BooksNamed | ReaderEvent]
    ) -> AsyncIterator[ReaderEvent]:
        """The reader's events, without those that name books."""
        async for event in stream:
            if isinstance(event, BooksNamed):
                self._print(event)
            else:
                yield event

    def _print(self, event: BooksNamed) -> None:
        # The first event names the likeliest books, a later one the book that the model prefers.
        if self.books:
            title = event.books[0].book.entry.title
            self.line.say(f"The model takes it to be about {title}.")
        else:
            for book in event.books:
                self.line.say(f"  {_book_line(book)}")
        self.books = list(event.books)


def _book_line(named: NamedBook) -> str:
    """`Emma: 3 passages, “Highbury”: “The quote.”`"""
    quote = in_quotes(" ".join(named.best.text.split()))
    return f"{named.book.entry.title}: {named.reason}: {quote}"


def _place(citation: Citation, question: LibraryQuestion) -> str:
    """`Emma · 12% · Chapter 3`"""
    book, (start, _) = question.source(citation)
    share = format_place(start, book.indexed.length)
    parts = (book.entry.title, share, book.indexed.chapter_title(start))
    return " · ".join(filter(None, parts))


def _document(
    answered: Answered, question: LibraryQuestion, books: list[NamedBook]
) -> Json:
    """What `ask --all --json` prints, without the model."""
    citations = [
        _citation_document(citation, question) for citation in answered.citations
    ]
    return {
        **fields(answered, "answer", "found", "quoted"),
        "books": [_book_document(book) for book in books],
        "citations": citations,
        "not_begun": question.left_out,
        "usage": usage_document(answered.usage),
    }


def _book_document(named: NamedBook) -> Json:
    return {
        **named.book.document,
        "passages": named.passages,
        "words": list(named.words),
    }


def _citation_document(citation: Citation, question: LibraryQuestion) -> Json:
    book, (start, end) = question.source(citation)
    return {
        **book.document,
        **fields(citation, "quote", "tells"),
        "start": start,
        "end": end,
        "chapter": book.indexed.chapter_title(start),
    }
