"""Readers and exporters of other packages, named by their entry points.

https://packaging.python.org/en/latest/specifications/entry-points/. They are looked up only when a
name is used that gistread itself does not have, since that takes a fifth of a second.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from gistread.errors import GistreadError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

READERS = "gistread.readers"
EXPORTERS = "gistread.exporters"
_KINDS = {READERS: "reader", EXPORTERS: "exporter"}
_MOST_CHARACTERS = 200  # Of another package's own message


class PluginError(GistreadError):
    """A reader or exporter of another package cannot be used."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """An entry point of another package."""

    group: str
    name: str
    package: str
    entry: "EntryPoint"

    def load(self) -> Any:
        """Import what the entry point names. Raises PluginError."""
        try:
            return self.entry.load()
        except (Exception, SystemExit) as error:
            raise self.failure("cannot be loaded", error) from error

    def failure(self, what: str, error: BaseException | None = None) -> PluginError:
        """The error to raise, in one line: `what` happened, and why."""
        reason = ""
        if error is not None:
            message = " ".join(f"{type(error).__name__}: {error}".split())
            reason = f": {message[:_MOST_CHARACTERS]}"
        kind = _KINDS[self.group]
        return PluginError(
            f"The {kind} {self.name!r} of the package {self.package} {what}{reason}.",
            "Update or remove that package.",
        )


@cache
def plugins_of(group: str) -> Mapping[str, Plugin]:
    """The entry points of a group, by name; of several with one name, the first."""
    from importlib.metadata import entry_points

    plugins: dict[str, Plugin] = {}
    for entry in entry_points(group=group):
        package = entry.dist.name if entry.dist is not None else entry.module
        plugins.setdefault(entry.name, Plugin(group, entry.name, package, entry))
    return plugins
