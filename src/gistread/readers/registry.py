"""Every reader by name. A reader's module is imported when it is first used: the command line names all of them."""

import tomllib
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from gistread.errors import NoEmbeddingModelError
from gistread.readers.choices import with_options
from gistread.readers.protocol import Reader

if TYPE_CHECKING:
    from gistread.engine.protocol import Engine
    from gistread.memory.model import GistMemory
    from gistread.readers.events import ReaderEvent
    from gistread.readers.protocol import ReaderOptions
    from gistread.readers.steering import Steering


@dataclass(frozen=True, slots=True)
class Method:
    name: str
    summary: str  # One line
    location: str  # `module:function` in this package
    needs_memory: bool = True  # False: it reads the book's own text, so it works before any page has been read
    names_pages: bool = False  # Needs no memory, but reports the pages it used if there is one
    artifacts: tuple[str, ...] = ()
    """The artifacts it uses (`memory/artifacts.py`). It builds missing ones or works without them, but answers sooner
    or better if they exist."""
    needs_embedder: bool = False

    @property
    def uses_memory(self) -> bool:
        return self.needs_memory or self.names_pages

    def reader(self) -> Reader:
        """Import the reader. Calling it raises UsageError, NoEmbeddingModelError."""
        from gistread.readers.checked import check_events
        from gistread.readers.passage import about_passage
        from gistread.readers.stepping_back import with_steps_back
        from gistread.readers.thread import with_thread, within_bound

        by_method = self._unchecked()

        def ask(
            question: str, memory: "GistMemory", engine: "Engine", steering: "Steering", options: "ReaderOptions"
        ) -> "AsyncGenerator[ReaderEvent, None]":
            if self.needs_embedder and options.embedder is None:
                raise NoEmbeddingModelError(self.name)
            bound = len(memory.book.text) if memory.bound_share < 1 else None
            options = replace(options, thread=within_bound(options.thread, bound))
            asked = with_thread(
                with_options(question, options.choices),
                options.thread,
                engine.info.context_tokens,
                short=not options.is_reliable,
            )
            # Questions about a passage have a reader of their own, whatever the method.
            reader = about_passage if options.passage else by_method
            events = with_steps_back(reader, asked, memory, engine, steering, options)
            return check_events(events, question, memory, steering, options)

        return ask

    def _unchecked(self) -> Reader:
        module, _, function = self.location.partition(":")
        reader = cast(Reader, getattr(import_module(f"gistread.readers.{module}"), function))
        if not self.needs_memory:
            return reader
        from gistread.readers.checked import over_memory

        return over_memory(self.name, reader)


async def auto(
    question: str, memory: "GistMemory", engine: "Engine", steering: "Steering", options: "ReaderOptions"
) -> "AsyncGenerator[ReaderEvent, None]":
    """Look-ups by a model that passed its check, once it has read the whole book; else ranked passages."""
    from gistread.readers.events import Started

    if not options.is_reliable:
        unknown = options.is_reliable is None
        name, why = "gistread", "this model was not checked" if unknown else "this model does not choose reliably"
    elif not memory.complete:
        name, why = "gistread", "the book is not read to its end yet"
    else:
        name, why = "readagent-s", "this model chooses reliably"
    choice = f"{'Look-ups' if name == 'readagent-s' else 'Ranked passages'}: {why}."
    async with aclosing(METHODS[name]._unchecked()(question, memory, engine, steering, options)) as events:
        async for event in events:
            yield replace(event, choice=choice) if isinstance(event, Started) else event


DEFAULT_READER = "auto"
_TABLES = tomllib.loads(Path(__file__).with_name("methods.toml").read_text("utf-8"))
# Every reader by the name that `--reader` takes.
METHODS: Mapping[str, Method] = MappingProxyType(
    {name: Method(name, **row | {"artifacts": tuple(row.get("artifacts", ()))}) for name, row in _TABLES.items()}
)
