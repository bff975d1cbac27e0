"""gistread: read long books in the terminal with a local language model, or from Python.

For Python see docs/scripting.md. Names are imported on first use, so that `import gistread` is
cheap. `__init__.pyi` has their types.
"""

from importlib import import_module

__version__ = "0.3.0"

_NAMES = {
    "book.model": ("Book",),
    "book.open": ("open_book",),
    "config": ("Config",),
    "errors": (
        "BookError",
        "EngineError",
        "GistreadError",
        "NotReadyError",
        "StorageError",
        "UsageError",
    ),
    "exporting.documents": ("render_export",),
    "exporting.model": ("Export",),
    "exporting.names": ("ExportFormat",),
    "library.entries": ("LibraryEntry",),
    "library.own_library": ("Library",),
    "marking": ("Color", "Mark", "MarkKind"),
    "memory.model": ("GistMemory",),
    "paths": ("Paths",),
    "readers.events": ("Proposed",),
    "readers.recap": ("suggestions",),
    "store.model": ("Citation", "ReadingPlace", "SavedQuestion", "SavedThread"),
    "readers.steering": ("Decision", "Steps"),
    "readers.thread": ("QuestionAnswer",),
    "search.book_search": ("BookSearch", "SearchMode"),
    "search.destinations": ("Destination",),
    "session.questions": ("Answer",),
    "session.estimate": ("seconds_to_answer",),
    "session.session": ("Session",),
    "session.sync": ("SyncSession",),
}
# The module of each name
_HOMES = {name: module for module, names in _NAMES.items() for name in names}
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_HOMES[name]}")
    value = getattr(module, name)
    globals()[name] = value  # Found at once the next time
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
