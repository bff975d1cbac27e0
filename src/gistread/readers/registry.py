"""Every reader by name, also those of other packages.

The module of a reader is imported when it is first used, so that the command line can list all
readers quickly.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from gistread.errors import UsageError
from gistread.plugins import READERS, Plugin, PluginError, plugins_of

if TYPE_CHECKING:
    from gistread.readers.answering import Reader


@dataclass(frozen=True, slots=True)
class Method:
    """A reader that is not imported yet."""

    name: str
    summary: str  # One line
    location: str  # `.module:function` in this package, or `package.module:function`
    # False: it reads the book's own text, so it works before any page has been read
    needs_memory: bool = True
    # The artifacts it uses (`memory/artifacts.py`). It builds missing ones or works without them,
    # but answers sooner or better if they exist.
    artifacts: tuple[str, ...] = ()
    # If it is of another package; then `location` is empty
    plugin: Plugin | None = None
    problem: PluginError | None = None  # Why the plugin cannot be used

    def reader(self) -> "Reader":
        """Import the reader. Calling it raises UsageError."""
        from gistread.readers.checked import with_checks

        return with_checks(self.plain_reader())

    def plain_reader(self) -> "Reader":
        """The reader without checks of its answers. Raises PluginError."""
        reader = self._imported() if self.plugin is None else self._plugged(self.plugin)
        if not self.needs_memory:
            return reader
        from gistread.readers.checked import over_memory

        return over_memory(self.name, reader)

    def _imported(self) -> "Reader":
        module_name, _, function = self.location.partition(":")
        module = import_module(module_name, "gistread.readers")
        return cast("Reader", getattr(module, function))

    def _plugged(self, plugin: Plugin) -> "Reader":
        from gistread.readers.plugged import guarded

        return guarded(plugin, plugin.load())


DEFAULT_READER = "auto"


def _own_methods() -> dict[str, Method]:
    """The rows of `methods.toml`."""
    table = tomllib.loads(Path(__file__).with_name("methods.toml").read_text("utf-8"))
    methods: dict[str, Method] = {}
    for name, row in table.items():
        artifacts = tuple(row.pop("artifacts", ()))
        methods[name] = Method(name, artifacts=artifacts, **row)
    return methods


# gistread's own readers by name
OWN_METHODS: Mapping[str, Method] = MappingProxyType(_own_methods())


class _Methods(Mapping[str, Method]):
    """gistread's own readers, then those of other packages, which are looked up last."""

    def __getitem__(self, name: str) -> Method:
        if name in OWN_METHODS:
            return OWN_METHODS[name]
        if not name:  # No choice
            raise KeyError(name)
        return _plugged_method(plugins_of(READERS)[name])

    def __iter__(self) -> Iterator[str]:
        yield from OWN_METHODS
        yield from (name for name in plugins_of(READERS) if name not in OWN_METHODS)

    def __len__(self) -> int:
        return sum(1 for _ in self)


# Every reader by the name that `--reader` takes
METHODS: Mapping[str, Method] = _Methods()


@cache
def _plugged_method(plugin: Plugin) -> Method:
    """The method of another package. Its summary is the first line of the reader's docstring."""
    try:
        reader = plugin.load()
    except PluginError as error:
        return Method(plugin.name, error.message, "", plugin=plugin, problem=error)
    documentation = (getattr(reader, "__doc__", None) or "").strip()
    first_line, *_ = documentation.split("\n")
    return Method(
        plugin.name,
        first_line or f"from the package {plugin.package}",
        "",
        needs_memory=bool(getattr(reader, "needs_memory", False)),
        plugin=plugin,
    )


def find_method(name: str, where: str = "") -> Method:
    """The reader with this name.

    `where`: for the message, such as " in config.toml". Raises UsageError, PluginError.
    """
    method = METHODS.get(name)
    if method is None:
        choices = ", ".join(METHODS)
        raise UsageError(
            f"Unknown reader {name!r}{where}.", f"Choose one of {choices}."
        )
    if method.problem is not None:
        raise method.problem
    return method
