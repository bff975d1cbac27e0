"""What a reader is, and every reader by its name.

A reader's module is imported when it is asked for: the command line names all of them and needs one.
"""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, cast

from gistread.errors import NoEmbeddingModelError
from gistread.readers.choices import with_options

if TYPE_CHECKING:
    from gistread.engine.protocol import Engine
    from gistread.memory.model import GistMemory
    from gistread.readers.events import ReaderEvent, Steering
    from gistread.readers.options import ReaderOptions


class Reader(Protocol):
    """One method of answering."""

    def __call__(
        self,
        question: str,
        memory: "GistMemory",
        engine: "Engine",
        steering: "Steering",
        options: "ReaderOptions",
    ) -> "AsyncGenerator[ReaderEvent, None]":
        """`question` is as `choices.posed` puts it.

        Raises EngineError when the engine fails, PromptTooLongError when the question alone is too long,
        BudgetTooSmallError when `options.budget_tokens` takes nothing of the book.
        """


@dataclass(frozen=True, slots=True)
class Method:
    """A reader, as people choose one."""

    name: str
    summary: str
    """One line."""
    place: str
    """`module:function` under this package."""
    needs_memory: bool = True
    """False: it reads the book's own text, and can be asked before a page has been read."""
    names_pages: bool = False
    """Without a memory it reads the book's own text; where there is one, it says which of its pages it looked up."""
    artifacts: tuple[str, ...] = ()
    """What is made of a memory for it beside the gists, by the names of `memory/artifacts.py`. It makes what is missing
    when it is asked, or does with less; it answers sooner, or better, where that has been made before."""

    needs_embedder: bool = False
    """It cannot be asked without an embedding model."""

    @property
    def uses_memory(self) -> bool:
        """Whether a memory makes any difference to it."""
        return self.needs_memory or self.names_pages

    def reader(self) -> Reader:
        """The reader, which puts every question with its options.

        Raises UsageError for options that are none, NoEmbeddingModelError where it needs one and has none.
        """
        module, _, function = self.place.partition(":")
        reader = cast(Reader, getattr(import_module(f"gistread.readers.{module}"), function))

        def ask(
            question: str, memory: "GistMemory", engine: "Engine", steering: "Steering", options: "ReaderOptions"
        ) -> "AsyncGenerator[ReaderEvent, None]":
            if self.needs_embedder and options.embedder is None:
                raise NoEmbeddingModelError(self.name)
            return reader(with_options(question, options.choices), memory, engine, steering, options)

        return ask


DEFAULT_READER = "readagent-s"
_WHEN_LONG = ("summaries of a long memory",)
"""Of readers that are told the whole memory: they wait for none, and use those that are there."""
_METHODS = (
    Method(
        "gistread",
        "passages in the order of the book; in doubt, more of them",
        "gistread:gistread",
        needs_memory=False,
        names_pages=True,
    ),
    Method(
        "readagent-s",
        "opens one page after another, and looks each time again",
        "readagent_s:readagent_s",
        artifacts=_WHEN_LONG,
    ),
    Method("readagent-p", "names all the pages that it wants at once", "readagent_p:readagent_p", artifacts=_WHEN_LONG),
    Method(
        "memwalker",
        "walks a tree of summaries down to the page that tells",
        "memwalker:memwalker",
        artifacts=("summaries",),
    ),
    Method(
        "graphreader",
        "five paths through a graph of what is named, and a vote",
        "graphreader:graphreader",
        artifacts=("facts",),
    ),
    Method(
        "longagent",
        "a leader asks members who have read a part each",
        "longagent:longagent",
        needs_memory=False,
        artifacts=("members",),
    ),
    Method("notes", "reads the whole book for the question, and takes notes", "notes:notes", needs_memory=False),
    Method("gists", "the gist memory alone", "gists:gists", artifacts=_WHEN_LONG),
    Method("bm25", "the pages that share most words with the question", "text_readers:bm25"),
    Method(
        "dense",
        "the pages nearest in meaning, by an embedding model",
        "dense:dense",
        artifacts=("vectors",),
        needs_embedder=True,
    ),
    Method("dos", "passages by relevance, in the order of the book", "text_readers:dos", needs_memory=False),
    Method("full", "the whole text, or as much of its start as fits", "text_readers:full", needs_memory=False),
    Method("closed-book", "no text at all: what the model knew before", "text_readers:closed_book", needs_memory=False),
)
METHODS: Mapping[str, Method] = MappingProxyType({method.name: method for method in _METHODS})
"""Every reader by the name that `--reader` takes."""
