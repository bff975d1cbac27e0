"""Formats by name: gistread's own, and those of other packages."""

from collections.abc import Callable
from typing import Any

from gistread.errors import GistreadError, UsageError
from gistread.exporting.model import Export, Form, OtherFormat
from gistread.exporting.names import ExportFormat
from gistread.plugins import EXPORTERS, Plugin, plugins_of


def format_named(name: str) -> Form:
    """The format with this name.

    The files of another package's format have the `suffix` of its exporter, or else its name as
    suffix. Raises UsageError for an unknown name, PluginError for a format that cannot be loaded.
    """
    if name in set(ExportFormat):
        return ExportFormat(name)
    plugin = plugins_of(EXPORTERS).get(name)
    if plugin is None:
        known = ", ".join((*ExportFormat, *plugins_of(EXPORTERS)))
        raise UsageError(f"Unknown format {name!r}.", f"Use {known}.")
    exporter = plugin.load()
    suffix = getattr(exporter, "suffix", f".{name}")
    return OtherFormat(name, suffix, _guarded(plugin, exporter))


def _guarded(
    plugin: Plugin, exporter: Callable[[Export], Any]
) -> Callable[[Export], str]:
    """The exporter, with a PluginError for what it raises, and if it returns no text."""

    def render(export: Export) -> str:
        try:
            document = exporter(export)
        except GistreadError:
            raise
        except Exception as error:
            raise plugin.failure("failed", error) from error
        if not isinstance(document, str):
            raise plugin.failure(f"returned {type(document).__name__} instead of text")
        return document

    return render
