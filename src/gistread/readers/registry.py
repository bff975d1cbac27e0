"""Every reader by name.

A reader's module is imported when it is first used: the command line names all of them.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from gistread.errors import UsageError

if TYPE_CHECKING:
    from gistread.readers.answering import Reader


@dataclass(frozen=True, slots=True)
class Method:
    name: str
    summary: str  # One line
    location: str  # `.module:function` in this package, or `package.module:function`
    needs_memory: bool = (
        True  # False: it reads the book's own text, so it works before any page has been read
    )
    artifacts: tuple[str, ...] = ()
    """The artifacts it uses (`memory/artifacts.py`). It builds missing ones or works without them,
    but answers sooner or better if they exist.
    """

    def reader(self) -> "Reader":
        """Import the reader. Calling it raises UsageError."""
        from gistread.readers.checked import with_checks

        return with_checks(self.plain_reader())

    def plain_reader(self) -> "Reader":
        """The reader without checks of its answers."""
        module, _, function = self.location.partition(":")
        reader = cast("Reader", getattr(import_module(module, "gistread.readers"), function))
        if not self.needs_memory:
            return reader
        from gistread.readers.checked import over_memory

        return over_memory(self.name, reader)


DEFAULT_READER = "auto"
_TABLES = tomllib.loads(Path(__file__).with_name("methods.toml").read_text("utf-8"))
# Every reader by the name that `--reader` takes.
METHODS: Mapping[str, Method] = MappingProxyType(
    {
        name: Method(name, **row | {"artifacts": tuple(row.get("artifacts", ()))})
        for name, row in _TABLES.items()
    }
)


def find_method(name: str, where: str = "") -> Method:
    """The reader with this name.

    `where`: for the message, such as " in config.toml". Raises UsageError.
    """
    if name in METHODS:
        return METHODS[name]
    raise UsageError(f"Unknown reader {name!r}{where}.", f"Choose one of {', '.join(METHODS)}.")
