"""Every reader by name. A reader's module is imported when it is first used: the command line names all of them."""

import tomllib
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from gistread.engine.protocol import Trust
from gistread.errors import UsageError
from gistread.readers.protocol import Reader
from gistread.readers.thread import with_options

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
    location: str  # `.module:function` in this package, or `package.module:function`
    needs_memory: bool = True  # False: it reads the book's own text, so it works before any page has been read
    artifacts: tuple[str, ...] = ()
    """The artifacts it uses (`memory/artifacts.py`). It builds missing ones or works without them, but answers sooner
    or better if they exist."""

    def reader(self) -> Reader:
        """Import the reader. Calling it raises UsageError."""
        from gistread.readers.checked import check_events
        from gistread.readers.selection import about_selection
        from gistread.readers.thread import with_thread, within_bound

        by_method = self.plain_reader()

        def ask(
            question: str, memory: "GistMemory", engine: "Engine", steering: "Steering", options: "ReaderOptions"
        ) -> "AsyncGenerator[ReaderEvent, None]":
            bound = len(memory.book.text) if memory.bound_share < 1 else None
            options = replace(options, thread=within_bound(options.thread, bound), wording=engine.info.wording)
            asked = with_thread(
                with_options(question, options.choices),
                options.thread,
                engine.info.context_tokens,
                short=options.trust is Trust.FAILED,
            )
            # Questions about a passage have a reader of their own, whatever the method.
            reader = about_selection if options.selection else by_method
            memory = replace(memory, entries=list(memory.entries))  # Reading may go on meanwhile.
            events = reader(asked, memory, engine, steering, options)
            return check_events(events, question, memory, engine, steering, options)

        return ask

    def plain_reader(self) -> Reader:
        """The reader without checks of its answers."""
        module, _, function = self.location.partition(":")
        reader = cast(Reader, getattr(import_module(module, "gistread.readers"), function))
        if not self.needs_memory:
            return reader
        from gistread.readers.checked import over_memory

        return over_memory(self.name, reader)


DEFAULT_READER = "auto"
_TABLES = tomllib.loads(Path(__file__).with_name("methods.toml").read_text("utf-8"))
# Every reader by the name that `--reader` takes.
METHODS: Mapping[str, Method] = MappingProxyType(
    {name: Method(name, **row | {"artifacts": tuple(row.get("artifacts", ()))}) for name, row in _TABLES.items()}
)


def find_method(name: str, where: str = "") -> Method:
    """The reader with this name. `where`: for the message, such as " in config.toml". Raises UsageError."""
    if name in METHODS:
        return METHODS[name]
    raise UsageError(f"Unknown reader {name!r}{where}.", f"Choose one of {', '.join(METHODS)}.")
