"""Questions over the Model Context Protocol, about one book or about all."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import asdict, dataclass

from mcp.server.mcpserver import Context

from gistread.book.model import Book
from gistread.cli.ask_all import answering_models
from gistread.cli.contents import longest_memory
from gistread.cli.memory import memory_store
from gistread.cli.output import Json
from gistread.cli.search import indexed_shelf
from gistread.config import Config
from gistread.errors import GistreadError
from gistread.library.entries import LibraryEntry
from gistread.memory.model import GistMemory
from gistread.readers import events as reader_events
from gistread.readers.steering import Steps
from gistread.readers.trace import Places, step_of
from gistread.session.library import BooksNamed, LibraryQuestion
from gistread.session.session import Session
from gistread.store.model import NameCorrection
from gistread.units import fields


@dataclass(frozen=True, slots=True)
class View:
    """A book up to the user's bound."""

    entry: LibraryEntry
    whole: Book
    bound: int | None  # Offset; None for the whole book
    corrections: tuple[NameCorrection, ...]

    @property
    def book(self) -> Book:
        return self.whole if self.bound is None else self.whole.upto(self.bound)

    def memory(self) -> GistMemory:
        """The memory with most sections, or an empty one."""
        memory = longest_memory(self.whole, memory_store().find(self.whole))
        return memory if self.bound is None else memory.upto(self.bound)

    @property
    def named(self) -> Json:
        return {"book": self.entry.id, "title": self.entry.title}

    def passage(self, start: int, end: int) -> Json:
        chapter = self.book.chapter_title(start) if self.book.chapters else ""
        return {**self.named, "chapter": chapter, "start": start, "end": end, "text": self.book.text[start:end]}


class Questions:
    """Asks one question at a time. The model of a book stays loaded for a while, for the next one."""

    def __init__(self, config: Config, model: str) -> None:
        self._config = config
        self._model = model
        self._session: Session | None = None
        self._asking = asyncio.Lock()

    async def ask(self, question: str, view: View | None, tag: str, context: Context) -> Json:
        """Without a view, about all books, or those with the tag. Raises GistreadError."""
        # A separate task: the SDK cancels at every await, and stopping a question awaits.
        about = self._about_all(question, tag, context) if view is None else self._about_book(question, view, context)
        task = asyncio.create_task(about)
        try:
            return await task
        finally:
            task.cancel()

    async def close(self) -> None:
        """Unload the models. Idempotent."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _about_book(self, question: str, view: View, context: Context) -> Json:
        async with self._asking:
            if self._session is None or self._session.book.sha256 != view.whole.sha256:
                await self.close()
                self._session = await Session(view.whole, self._model, config=self._config).__aenter__()
            session = self._session
            stream = session.stream_answer(question, upto=view.bound, steps=Steps.ALONE)
            answered, steps = await _report(stream, Places(len(view.whole.text), session.memory), context)
            assert session.models.answering.info is not None
            cited = [view.passage(one.start, one.end) for one in answered.citations]
            return _reply(answered, steps, cited, session.models.answering.info.name)

    async def _about_all(self, question: str, tag: str, context: Context) -> Json:
        async with self._asking:
            await self.close()
            shelf = await asyncio.to_thread(indexed_shelf, tag)
            asked = LibraryQuestion(question, shelf, self._config)
            if not asked.asked:
                raise GistreadError("The user has begun none of these books.")
            chosen = self._model, ""
            async with answering_models(self._config, shelf.paths, chosen, lambda *_: None) as (models, checks):
                answered, steps = await _report(asked.stream(models.load_asking, checks), None, context)
                assert models.answering.info is not None
                name = models.answering.info.name
        cited: list[Json] = []
        for citation in answered.citations:
            book, (start, end) = asked.source(citation)
            place = {"chapter": book.indexed.chapter_title(start), "start": start, "end": end, "text": citation.quote}
            cited.append({"book": book.entry.id, "title": book.entry.title, **place})
        return _reply(answered, steps, cited, name)


async def _report(
    stream: AsyncGenerator[BooksNamed | reader_events.ReaderEvent, None], places: Places | None, context: Context
) -> tuple[reader_events.Answered, list[str]]:
    """Report the steps as progress; return the answer, and the steps in words."""
    steps: list[str] = []
    answered: reader_events.Answered | None = None
    async with aclosing(stream) as events:
        async for event in events:
            if isinstance(event, BooksNamed):
                step: object = "; ".join(f"{one.book.entry.title}: {one.reason}" for one in event.books)
            else:
                step = step_of(event, places) if places else None
            if step:
                steps.append(str(step))
                await context.report_progress(len(steps), message=str(step))
            if isinstance(event, reader_events.Answered):
                answered = event
    assert answered is not None, "a reader ends with Answered"
    return answered, steps


def _reply(answered: reader_events.Answered, steps: list[str], cited: list[Json], model: str) -> Json:
    marks = [asdict(mark) for mark in answered.marks]
    known = fields(answered, "answer", "found", "quoted")
    return {**known, "marks": marks, "citations": cited, "steps": steps, "model": model}
