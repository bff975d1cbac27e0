"""A read-only Model Context Protocol server: the books of the library, each up to the user's bound."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.types import ToolAnnotations

from gistread import __version__
from gistread.book.cache import file_digest, open_cached
from gistread.book.model import Book
from gistread.cli.json_output import Json, ask_document, step_document
from gistread.cli.memories import memory_store
from gistread.cli.people import card_document
from gistread.cli.recap import longest_memory, recap_document
from gistread.cli.search import hit_document
from gistread.config import Config
from gistread.errors import BookError, ExitStatus, GistreadError, StorageError
from gistread.library.catalogue import Catalogue
from gistread.library.entries import filter_entries, list_entries
from gistread.library.model import LibraryEntry
from gistread.memory.model import GistMemory
from gistread.memory.progress import all_memories, furthest_memories
from gistread.memory.sizes import unread_memory
from gistread.paths import default_paths
from gistread.people.index import Index
from gistread.people.mentions import is_covered
from gistread.readers import events as reader_events
from gistread.readers.bound import saved_bound
from gistread.readers.claims import claims
from gistread.readers.recap import recap
from gistread.readers.steering import Steps
from gistread.readers.text import describe
from gistread.search.book_search import BookSearch, SearchMode
from gistread.session.session import Session
from gistread.user_data import NameCorrection, UserData

_INSTRUCTIONS = """\
The books in the person's library, read-only. A book is given by its `id` from `books`, or by words of its title that no
other book has. Places are offsets in characters. A book the person is still reading ends at the furthest place they
have read: nothing after it can be reached, so do not guess at it. Quote the book with its offsets."""
_PAGE_URI = "gistread://books/{book}/pages/{page}"
_ID_LENGTH = 16
_MOST_CHARACTERS = 16_000  # In one reply of `read`
_MOST_HITS = 50
_IDLE_S = 600.0  # Seconds after an answer until the model is unloaded


class _OpenBook:
    """A whole book of the library. Tools use its text only through `_View`."""

    def __init__(self, path: Path) -> None:
        self.book = open_cached(path, default_paths().texts)
        self._search: tuple[int, BookSearch] | None = None

    @cached_property
    def index(self) -> Index:
        return Index.of(self.book)

    def search(self, view: Book) -> BookSearch:
        """The search of the book up to the end of `view`; caches the search of the last bound."""
        known = self._search
        if known is None or known[0] != len(view.text):
            self._search = known = len(view.text), BookSearch(view)
        return known[1]


@dataclass(frozen=True, slots=True)
class _View:
    """A book up to the user's bound."""

    entry: LibraryEntry
    whole: _OpenBook
    bound: int | None  # Offset; None for the whole book

    @property
    def book(self) -> Book:
        return self.whole.book if self.bound is None else self.whole.book.upto(self.bound)

    def memory(self) -> GistMemory:
        """The memory with most pages, or an empty one."""
        memory = longest_memory(self.whole.book, memory_store().find(self.whole.book))
        return memory if self.bound is None else memory.upto(self.bound)


@contextmanager
def _reported() -> Iterator[None]:
    """Report errors to the client; errors about files without their paths."""
    try:
        yield
    except BookError:
        raise ToolError("The file of this book cannot be read. Opening it in gistread says why.") from None
    except StorageError:
        raise ToolError("gistread cannot read the person's data of this book. `gistread doctor` may say why.") from None
    except GistreadError as error:
        raise ToolError(str(error)) from None


class LibraryServer:
    """The tools. Each reads the user's bound anew; no argument changes it."""

    def __init__(self, config: Config, model: str) -> None:
        self._config = config
        self._model = model
        self._user_data = UserData(default_paths().books)
        self._open = lru_cache(maxsize=4)(lambda path, modified_ns: _OpenBook(path))
        self._session: Session | None = None
        self._asking = asyncio.Lock()
        self._unloading: asyncio.Task[None] | None = None

    @_reported()
    def books(self) -> Json:
        """List the books of the library, the last read first: id, title, authors, and how far the person has read."""
        read = furthest_memories(all_memories(default_paths().memories))
        return {
            "books": [
                {
                    "id": _id_of(entry),
                    "title": entry.title,
                    "authors": list(entry.authors),
                    "words": entry.words or None,
                    "progress": round(entry.share, 4),
                    "gists": read[entry.sha256].pages if entry.sha256 in read else 0,
                    "available": entry.path is not None and not entry.missing,
                }
                for entry in _entries()
            ]
        }

    @_reported()
    def toc(self, book: str) -> Json:
        """Chapters of a book, where its readable text ends, and the number of its pages with gists."""
        view = self._view(book)
        known = view.book
        return {
            "id": _id_of(view.entry),
            "title": view.entry.title,
            "readable": len(known.text),
            "bounded": view.bound is not None,
            "chapters": [
                {"number": number, "title": known.chapter_title(one.start), "start": one.start, "end": one.end}
                for number, one in enumerate(known.chapters, start=1)
            ],
            "pages": len(view.memory().entries),
        }

    @_reported()
    def search(self, book: str, words: str, exact: bool = False, limit: int = 10) -> Json:
        """Find passages about some words, the best first, or with `exact` every place with just these words."""
        view = self._view(book)
        known = view.book
        hits = view.whole.search(known).find(words, SearchMode.EXACT if exact else SearchMode.RANKED)
        shown = range(max(0, min(limit, _MOST_HITS, len(hits))))
        return {"hits": [hit_document(known, *hits.span(index)) for index in shown], "total": len(hits)}

    @_reported()
    def read(self, book: str, start: int = 0, length: int = 4000) -> Json:
        """Read the text of a book from an offset, at most 16,000 characters; `next` is where to go on, or null."""
        known = self._view(book).book
        start = max(0, min(start, len(known.text)))
        end = min(len(known.text), start + max(1, min(length, _MOST_CHARACTERS)))
        return {
            "start": start,
            "end": end,
            "text": known.text[start:end],
            "chapter": known.chapter_title(start) if known.chapters else "",
            "next": end if end < len(known.text) else None,
        }

    @_reported()
    def who_is(self, book: str, name: str) -> Json:
        """Say who or what a name of an English book is: its forms, company, introductions, and claims with quotes."""
        view = self._view(book)
        if not is_covered(view.whole.book):
            raise ToolError("Names are found in English books only.")
        end = len(view.whole.book.text) if view.bound is None else view.bound
        names = view.whole.index.upto(end, self._corrections(view))
        memory = view.memory()
        found = [card_document(names.card(one), names, claims(one, memory)) for one in names.find(name)]
        return {"found": [{key: fact for key, fact in card.items() if key != "starts"} for card in found]}

    @_reported()
    def recap(self, book: str) -> Json:
        """Tell the story so far, by sentences of the gists with their places; `pages` 0: by the chapter's own."""
        view = self._view(book)
        return recap_document(recap(view.memory(), self._corrections(view)))

    def page(self, book: str, page: int) -> Json:
        """A page of a book's gist memory: its text and gist."""
        try:
            with _reported():
                memory = self._view(book).memory()
        except ToolError as error:
            raise ResourceError(str(error)) from None
        if not 1 <= page <= len(memory.entries):
            raise ResourceError(f"There is no page {page}; {len(memory.entries)} can be read.")
        entry = memory.entry(page)
        place = entry.page
        return {
            "page": page,
            "start": place.start,
            "end": place.end,
            "chapter": memory.book.chapter_title(place.start),
            "gist": entry.gist.text,
            "source": entry.gist.source.value,
            "text": memory.text_of(place),
        }

    async def ask(self, book: str, question: str, context: Context) -> Json:
        """Ask the local model about a book: the answer with checked quotes. Takes from seconds to minutes."""
        # A separate task: the SDK cancels at every await, and stopping a question awaits.
        task = asyncio.create_task(self._ask(book, question, context))
        try:
            with _reported():
                return await task
        finally:
            task.cancel()
            if self._unloading is not None:
                self._unloading.cancel()
            self._unloading = asyncio.create_task(self._unload_later())

    async def _unload_later(self) -> None:
        await asyncio.sleep(_IDLE_S)
        async with self._asking:
            await self.close()

    async def _ask(self, name: str, question: str, context: Context) -> Json:
        async with self._asking:
            view = await asyncio.to_thread(self._view, name)
            session = await self._session_of(view.whole.book)
            steps: list[Json] = []
            reader, answered = session.reader, None
            async with aclosing(session.stream_answer(question, upto=view.bound, steps=Steps.ALONE)) as events:
                async for event in events:
                    steps += filter(None, [step_document(event)])
                    if text := describe(event):
                        await context.report_progress(len(steps), message=text)
                    match event:
                        case reader_events.Started(reader=reader):
                            pass
                        case reader_events.Answered():
                            answered = event
            assert answered is not None, "a reader ends with Answered"
            assert session.asking_info is not None
            memory = session.memory or unread_memory(view.whole.book)
            memory = memory if view.bound is None else memory.upto(view.bound)
            return ask_document(reader, session.asking_info, memory, steps, answered)

    async def _session_of(self, book: Book) -> Session:
        """The session of this book; closes the session of another book."""
        if self._session is None or self._session.book.sha256 != book.sha256:
            await self.close()
            self._session = await Session(book, self._model, config=self._config).__aenter__()
        return self._session

    def _corrections(self, view: _View) -> tuple[NameCorrection, ...]:
        return self._user_data.name_corrections(view.whole.book.sha256)

    async def close(self) -> None:
        """Unload the models. Idempotent."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _view(self, name: str) -> _View:
        """The book with this id or these words in its title, up to its bound. Raises GistreadError."""
        entries = _entries()
        found = [entry for entry in entries if _id_of(entry) == name] or filter_entries(entries, name)
        if len(found) != 1:
            raise GistreadError(f"{len(found) or 'No'} books match {name!r}.", "`books` lists them with their ids.")
        (entry,) = found
        if entry.path is None or entry.missing:
            raise GistreadError(f"The file of {entry.title} is missing.")
        opened = self._open(entry.path, entry.path.stat().st_mtime_ns)
        sha256 = opened.book.sha256
        if sha256 != entry.sha256 if entry.sha256 else file_digest(entry.path) != entry.digest:
            raise GistreadError(f"The file of {entry.title} has changed.", "Open it once in gistread.")
        return _View(entry, opened, saved_bound(opened.book, self._user_data))


def _entries() -> list[LibraryEntry]:
    return list_entries(UserData(default_paths().books), Catalogue(default_paths().library))[0]


def _id_of(entry: LibraryEntry) -> str:
    return (entry.sha256 or entry.digest)[:_ID_LENGTH]


def make_server(library: LibraryServer) -> MCPServer:
    server = MCPServer("gistread", version=__version__, instructions=_INSTRUCTIONS, log_level="WARNING")
    local = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    for tool in (library.books, library.toc, library.search, library.read, library.who_is, library.recap, library.ask):
        server.add_tool(tool, annotations=local)
    server.resource(_PAGE_URI, name="page", mime_type="application/json")(library.page)
    return server


async def serve(config: Config, model: str) -> None:
    """Serve until the client closes standard input; ends the process when cancelled by a signal."""
    library = LibraryServer(config, model)
    serving = asyncio.create_task(make_server(library).run_stdio_async())
    try:
        await asyncio.shield(serving)
    except asyncio.CancelledError:
        await library.close()
        os._exit(ExitStatus.INTERRUPTED)  # The SDK's thread waits for standard input and cannot be stopped.
    finally:
        await library.close()
