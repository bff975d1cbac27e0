"""`gistread mcp`: a read-only Model Context Protocol server of the library.

Each book ends at the user's bound.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase
from mcp.types import CallToolResult, InputRequiredResult, ToolAnnotations
from pydantic import (
    BeforeValidator,
    Field,
    StringConstraints,
    ValidationError,
    WithJsonSchema,
)

from gistread import __version__
from gistread.book.cache import file_digest, open_cached
from gistread.book.model import Book
from gistread.cli.contents import chapter_documents, longest_memory, recap_document
from gistread.cli.interrupt import run_until_interrupted, stop_status
from gistread.cli.memory import memory_store
from gistread.cli.opening import SAMPLE, check_models, library_entries, load_settings
from gistread.cli.output import Json, say
from gistread.cli.people import card_document
from gistread.cli.search import hit_document, indexed_shelf, place_of
from gistread.cli.sessions import answering_models
from gistread.config import Config
from gistread.errors import BookError, GistreadError, StorageError
from gistread.library.entries import LibraryEntry, UnknownBookError, find_book, path_of
from gistread.library.shelf import LibraryHit, ShelfBook
from gistread.memory.model import GistMemory
from gistread.memory.spoilers import usual_bound
from gistread.paths import default_paths
from gistread.people.index import Index
from gistread.people.mentions import supports_names
from gistread.readers import events as reader_events
from gistread.readers.recap import recap
from gistread.readers.steering import Steps
from gistread.readers.trace import Places, step_of
from gistread.sample import story_path
from gistread.search.book_search import BookSearch, SearchMode
from gistread.session.library import BooksNamed, LibraryQuestion
from gistread.session.models import ModelPair
from gistread.session.questions import settings_of_book
from gistread.session.session import Session
from gistread.store.model import Citation, NameCorrection
from gistread.store.user_data import UserData
from gistread.units import fields

_INSTRUCTIONS = """\
The books in the user's library, read-only. A book is given by its `id` or `number` from `books`,
or by words of its title. Places are offsets in characters. A novel the user has not finished ends
at the furthest place they have read: nothing after it can be reached, so do not guess at it.
Quote the book with its offsets."""
_MOST_CHARACTERS = 16_000  # In one reply of `read`
_USUAL_LENGTH = 4_000
_MOST_HITS = 50
_USUAL_HITS = 10
_FIRST_SCREEN = 500  # Characters that the screen shows of a book at its beginning

# The types of the tools' arguments, with what the client is told about them
_Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
_Positive = Annotated[int, Field(ge=1)]
_NotNegative = Annotated[int, Field(ge=0)]
_NAME_SCHEMAS = [{"type": "integer"}, {"type": "string"}]
_BOOK_SCHEMA = {
    "anyOf": _NAME_SCHEMAS,
    "description": "Its `number` or `id` from `books`, words of its title, or `sample`",
}
_ANY_BOOK_SCHEMA = {
    "anyOf": [*_NAME_SCHEMAS, {"type": "null"}],
    "description": "As `book` elsewhere; null: every book",
}
_TAG_HELP = "Without `book`: only the books of this collection"
_LENGTH_HELP = f"In characters (4,000); at most {_MOST_CHARACTERS:,} are returned"
_LIMIT_HELP = f"How many to return (10); at most {_MOST_HITS}"
_FIRST_HELP = "How many hits to leave out (0): `next` of an earlier reply"
_NumberAsName = BeforeValidator(
    lambda name: str(name) if isinstance(name, int) else name
)
_BookName = Annotated[_Words, _NumberAsName, WithJsonSchema(_BOOK_SCHEMA)]
_AnyBook = Annotated[_Words | None, _NumberAsName, WithJsonSchema(_ANY_BOOK_SCHEMA)]
_Tag = Annotated[str | None, Field(description=_TAG_HELP)]
_Offset = Annotated[_NotNegative | None, Field(description="In characters (0)")]
_Length = Annotated[_Positive | None, Field(description=_LENGTH_HELP)]
_Limit = Annotated[_Positive | None, Field(description=_LIMIT_HELP)]
_First = Annotated[_NotNegative | None, Field(description=_FIRST_HELP)]


def run(arguments: argparse.Namespace) -> None:
    config = load_settings(arguments)
    check_models(arguments)
    if sys.stdin.isatty():
        say(
            "Waiting for a client on standard input. "
            "It starts this command itself: see `gistread docs scripting`."
        )
    run_until_interrupted(_serve(Library(config, arguments.model or "")))


async def _serve(library: "Library") -> None:
    """Serve until the client closes standard input; ends the process when cancelled by a signal."""
    serving = asyncio.create_task(make_server(library).run_stdio_async())
    try:
        await asyncio.shield(serving)
    finally:
        await library.close()
        # The SDK's thread waits for standard input and cannot be stopped.
        if not serving.done():
            os._exit(stop_status())


def make_server(library: "Library") -> MCPServer:
    server = _Server(
        "gistread", version=__version__, instructions=_INSTRUCTIONS, log_level="WARNING"
    )
    ArgModelBase.model_config["extra"] = "forbid"  # The SDK ignores unknown arguments.
    read_only = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    for tool in library.tools:
        server.add_tool(tool, annotations=read_only)
    return server


class _Server(MCPServer):
    """Reports the errors of tools in words."""

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any],
        context: Context[Any, Any] | None = None,
    ) -> CallToolResult | InputRequiredResult:
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            message = _in_words(error.__cause__)
            if not message:
                raise
            raise ToolError(f"{name}: {message}") from None


def _in_words(error: BaseException | None) -> str:
    """The message of an error for the client, without the paths of files; empty for a defect."""
    match error:
        case ValidationError():
            return "; ".join(map(_argument_error, error.errors()))
        case BookError() | OSError():
            return (
                "The file of this book cannot be read. Opening it in gistread says why."
            )
        case StorageError():
            return (
                "gistread cannot read the user's data of this book. "
                "`gistread doctor` may say why."
            )
        case UnknownBookError():
            return f"{error.message} The tool `books` lists the library."
        case GistreadError():
            return f"{error.message} {_hint_for_client(error.hint)}".rstrip()
    return ""


def _argument_error(details: Mapping[str, Any]) -> str:
    """`limit: Input should be a valid integer`"""
    argument = ".".join(map(str, details["loc"]))
    return f"{argument}: {details['msg']}"


def _hint_for_client(hint: str) -> str:
    """A hint that names a command is for the user, who has a terminal."""
    names_command = "`gistread " in hint or "--" in hint
    if not names_command:
        return hint
    return f"The user can do this: {hint}"


@dataclass(frozen=True, slots=True)
class View:
    """A book up to the user's bound."""

    entry: LibraryEntry
    whole: Book
    bound: int | None  # Offset; None for the whole book
    corrections: tuple[NameCorrection, ...]

    @property
    def end(self) -> int:
        """Offset of the bound, or of the book's end."""
        if self.bound is None:
            return len(self.whole.text)
        return self.bound

    @property
    def book(self) -> Book:
        if self.bound is None:
            return self.whole
        return self.whole.upto(self.bound)

    def memory(self) -> GistMemory:
        """The memory with most sections, or an empty one."""
        memory = longest_memory(self.whole, memory_store().find(self.whole))
        if self.bound is None:
            return memory
        return memory.upto(self.bound)

    @property
    def is_cut(self) -> bool:
        """Whether the bound hides a part of the book."""
        return self.end < len(self.whole.text)

    @property
    def named(self) -> Json:
        """The fields by which a reply names the book."""
        return {"book": self.entry.id, "title": self.entry.title}

    def passage(self, start: int, end: int) -> Json:
        chapter = self.book.chapter_title(start) if self.book.chapters else ""
        return {
            **self.named,
            "chapter": chapter,
            "start": start,
            "end": end,
            "text": self.book.text[start:end],
        }


class Library:
    """The tools. Each reads the user's bound anew; no argument changes it."""

    def __init__(self, config: Config, model: str) -> None:
        self._config = config
        self._model = model
        # Stays loaded for the next question about its book
        self._session: Session | None = None
        self._asking = asyncio.Lock()  # One question at a time
        self._user_data = UserData(default_paths())
        self._index = lru_cache(maxsize=4)(Index.from_book)
        self._search = lru_cache(maxsize=4)(BookSearch)

    @property
    def tools(self) -> tuple[Callable[..., Any], ...]:
        """The methods that a client may call; their docstrings tell it what they do."""
        return (
            self.books,
            self.toc,
            self.search,
            self.read,
            self.who_is,
            self.recap,
            self.ask,
        )

    def books(self) -> list[Json]:
        """List the books of the library, the last read first, with how far the user has read."""
        return [_entry_document(entry) for entry in library_entries()]

    def toc(self, book: _BookName) -> Json:
        """List the chapters of a book with their numbers.

        Also says where its readable text ends, and how many sections it has.
        """
        view = self._view(book)
        return {
            **fields(view.entry, "id", "title"),
            "readable": len(view.book.text),
            "bounded": view.bound is not None,
            "chapters": chapter_documents(view.book),
            "sections": len(view.memory().read_entries),
        }

    def search(
        self,
        words: _Words,
        book: _AnyBook = None,
        tag: _Tag = None,
        exact: bool | None = None,
        limit: _Limit = None,
        first: _First = None,
    ) -> Json:
        """Find passages about some words in one book or in all, the best first.

        With `exact`, every place of a book with just these words. `next`: the `first` of the next
        hits, or null. `cut_by_bound`: the user has not read the rest, which is not searched.
        """
        limit = min(limit or _USUAL_HITS, _MOST_HITS)
        first = first or 0
        if book is None:
            if exact:
                raise GistreadError(
                    "`exact` searches one book at a time.", "Name the book."
                )
            return _search_all(words, tag or "", limit, first)
        view = self._view(book)
        mode = SearchMode.EXACT if exact else SearchMode.RANKED
        hits = self._search(view.book).find(words, mode)
        last = min(len(hits), first + limit)
        documents: list[Json] = []
        for index in range(first, last):
            start, end = hits.span(index)
            documents.append(view.named | hit_document(view.book, start, end))
        return {
            "hits": documents,
            "total": len(hits),
            "next": _next_of(last, len(hits)),
            "cut_by_bound": view.is_cut,
        }

    def read(
        self, book: _BookName, start: _Offset = None, length: _Length = None
    ) -> Json:
        """Read the text of a book from an offset, at most 16,000 characters.

        `next` is where to go on, or null. `cut_by_bound`: the text goes on where the user has not
        read yet.
        """
        view = self._view(book)
        book_end = len(view.book.text)
        start = min(start or 0, book_end)
        length = min(length or _USUAL_LENGTH, _MOST_CHARACTERS)
        end = min(start + length, book_end)
        return {
            **view.passage(start, end),
            "next": _next_of(end, book_end),
            "cut_by_bound": view.is_cut and end == book_end,
        }

    def who_is(self, book: _BookName, name: _Words) -> Json:
        """Say who or what a name of an English book is: its forms, company and introductions.

        `found` is empty if the text up to the user's place does not have the name.
        """
        view = self._view(book)
        if not supports_names(view.whole):
            raise GistreadError("Names are found in English books only.")
        names = self._index(view.whole).upto(view.end, view.corrections)
        cards = [names.card(entity) for entity in names.find(name)]
        documents = [card_document(card, names) for card in cards]
        for document in documents:
            del document["starts"]  # A main character has thousands.
        return {
            **view.named,
            "found": documents,
            "message": None if documents else _unknown_name(name, view),
            "cut_by_bound": view.is_cut,
        }

    def recap(self, book: _BookName) -> Json:
        """Tell the story so far in sentences with their places in the book.

        `pages` is the number of gists that the sentences come from. If it is 0, the model has not
        read this part, and they are sentences of the chapter.
        """
        view = self._view(book)
        story = recap(view.memory(), view.corrections)
        return {**recap_document(story), "cut_by_bound": view.is_cut}

    async def ask(
        self,
        question: _Words,
        context: Context,
        book: _AnyBook = None,
        tag: _Tag = None,
    ) -> Json:
        """Ask the local model about one book or all that the user has begun.

        Returns the answer with checked quotes. Takes from seconds to minutes.
        """
        if book is None:
            about = self._ask_all(question, tag or "", context)
        else:
            view = await asyncio.to_thread(self._view, book)
            about = self._ask_book(question, view, context)
        # A separate task: the SDK cancels at every await, and stopping a question awaits.
        task = asyncio.create_task(about)
        try:
            return await task
        finally:
            task.cancel()

    async def _ask_book(self, question: str, view: View, context: Context) -> Json:
        """Answer a question about one book, up to its bound. Raises GistreadError."""

        def cite(citation: Citation) -> Json:
            return view.passage(citation.start, citation.end)

        async with self._asking:
            choice = await asyncio.to_thread(
                self._user_data.asking_choice, view.whole.sha256
            )
            config = settings_of_book(self._config, choice)
            session = await self._session_of(view.whole, config)
            stream = session.stream_answer(question, upto=view.bound, steps=Steps.ALONE)
            places = Places(len(view.whole.text), session.memory)
            answer = await _answer(stream, places, context, session.models, cite)
            return {**answer, "cut_by_bound": view.is_cut}

    async def _session_of(self, book: Book, config: Config) -> Session:
        """The open session if it is about this book, else a new one. Raises GistreadError."""
        session = self._session
        if session and session.book.sha256 == book.sha256 and session.config == config:
            return session
        await self.close()
        # Not with `async with`: it stays open for the next question, until `close`.
        self._session = await Session(book, self._model, config=config).__aenter__()
        return self._session

    async def _ask_all(self, question: str, tag: str, context: Context) -> Json:
        """Answer a question about all books that were begun. Raises GistreadError."""

        def cite(citation: Citation) -> Json:
            return _library_citation(citation, library_question)

        async with self._asking:
            # The model of the last book would be loaded beside the one opened here.
            await self.close()
            shelf = await asyncio.to_thread(indexed_shelf, tag)
            library_question = LibraryQuestion(question, shelf, self._config)
            if not library_question.books:
                raise GistreadError("The user has begun none of these books.")
            opening = answering_models(
                self._config, shelf.paths, lambda *_: None, model=self._model
            )
            async with opening as (models, checks):
                stream = library_question.stream(models.load_asking, checks)
                return await _answer(stream, None, context, models, cite)

    async def close(self) -> None:
        """Unload the models. Idempotent."""
        session = self._session
        self._session = None
        if session is not None:
            await session.close()

    def _view(self, name: str) -> View:
        """A book of the library by name, up to its bound. Raises GistreadError, OSError."""
        entry = _sample() if name == SAMPLE else find_book(library_entries(), name)
        path = path_of(entry)
        paths = default_paths()
        book = open_cached(path, paths.texts, encodings=paths.encodings)
        # The hash of the text is unknown until the book is opened.
        if entry.sha256:
            has_changed = book.sha256 != entry.sha256
        else:
            has_changed = file_digest(path) != entry.digest
        if has_changed:
            raise GistreadError(
                f"The file of {entry.title} has changed.", "Open it once in gistread."
            )
        # As on the screen: the bound is where the user lets answers stop, or else the end of what
        # they have read or first see of a novel.
        furthest = self._user_data.reading_place(book.sha256).furthest
        here = max(furthest, _FIRST_SCREEN)
        bound = usual_bound(book, here, self._user_data.bound_choice(book.sha256))
        return View(entry, book, bound, self._user_data.name_corrections(book.sha256))


def _entry_document(entry: LibraryEntry) -> Json:
    return {
        **fields(entry, "id", "number", "title", "authors", "tags"),
        "words": entry.words or None,
        "progress": round(entry.share, 4),
        "available": entry.path is not None and not entry.missing,
    }


def _library_citation(citation: Citation, question: LibraryQuestion) -> Json:
    book, (start, end) = question.source(citation)
    return {
        "book": book.entry.id,
        "title": book.entry.title,
        "chapter": book.indexed.chapter_title(start),
        "start": start,
        "end": end,
        "text": citation.quote,
    }


def _unknown_name(name: str, view: View) -> str:
    place = " up to the user's place" if view.is_cut else ""
    return f"The text of {view.entry.title}{place} has no name “{name}”."


def _sample() -> LibraryEntry:
    paths = default_paths()
    book = open_cached(story_path(), paths.texts, encodings=paths.encodings)
    return LibraryEntry(book.title, book.authors, story_path(), book.sha256)


def _next_of(end: int, total: int) -> int | None:
    """Where the next reply continues; None if this one reaches the end."""
    if end >= total:
        return None
    return end


def _search_all(words: str, tag: str, limit: int, first: int) -> Json:
    """The best passages of all indexed books; an unread novel ends at its first screen."""
    shelf = indexed_shelf(tag)
    books = tuple(map(_bounded, shelf.books))
    matches = replace(shelf, books=books).search(words, limit, first)
    last = first + limit
    return {
        "hits": [_library_hit_document(hit) for hit in matches.hits],
        "total": matches.total,
        "next": _next_of(last, matches.total),
        "cut_by_bound": any(map(_is_cut, books)),
    }


def _bounded(book: ShelfBook) -> ShelfBook:
    """An unread novel up to its first screen; any other book unchanged."""
    is_unread_novel = book.indexed.plot and not book.begun
    if is_unread_novel:
        return replace(book, bound=_FIRST_SCREEN)
    return book


def _is_cut(book: ShelfBook) -> bool:
    return book.bound is not None and book.bound < book.indexed.length


def _library_hit_document(hit: LibraryHit) -> Json:
    return {"book": hit.book.entry.id, "title": hit.book.entry.title, **place_of(hit)}


async def _answer(
    stream: AsyncGenerator[BooksNamed | reader_events.ReaderEvent, None],
    places: Places | None,
    context: Context,
    models: ModelPair,
    cite: Callable[[Citation], Json],
) -> Json:
    """Report the steps as progress; return the answer with its sources, and the steps in words.

    `places` names the places in steps; None: only books are named. `cite`: a source as JSON.
    """
    steps: list[str] = []
    answered: reader_events.Answered | None = None
    async with aclosing(stream) as events:
        async for event in events:
            step = _step_in_words(event, places)
            if step:
                steps.append(step)
                await context.report_progress(len(steps), message=step)
            if isinstance(event, reader_events.Answered):
                answered = event
    assert answered is not None, "a reader ends with Answered"
    assert models.answering.info is not None
    citations = [
        {**cite(citation), "tells": citation.tells} for citation in answered.citations
    ]
    return {
        **fields(answered, "answer", "found", "finish", "quoted"),
        "marks": [asdict(mark) for mark in answered.marks],
        "citations": citations,
        "steps": steps,
        "model": models.answering.info.name,
    }


def _step_in_words(
    event: BooksNamed | reader_events.ReaderEvent, places: Places | None
) -> str:
    """A step for the client; empty if the event is no step, or if no `places` can name it."""
    if isinstance(event, BooksNamed):
        reasons = [f"{named.book.entry.title}: {named.reason}" for named in event.books]
        return "; ".join(reasons)
    step = step_of(event, places) if places else None
    if not step:
        return ""
    return str(step)
