"""gistread: read long books in the terminal with a local language model, or from Python: see docs/library.md.

Names are imported when they are first used, so that `import gistread` is cheap. `__init__.pyi` has their types.
"""

from importlib import import_module

__version__ = "0.1.0"

_HOMES = {
    "Answer": "session.answer",
    "Book": "book.model",
    "BookError": "errors",
    "BookSearch": "search.book_search",
    "Citation": "readers.events",
    "Config": "config",
    "EngineError": "errors",
    "Export": "exporting",
    "ExportFormat": "exporting",
    "GistMemory": "memory.model",
    "GistreadError": "errors",
    "NotReadyError": "errors",
    "Paths": "paths",
    "SearchMode": "search.book_search",
    "Session": "session.session",
    "StorageError": "errors",
    "SyncSession": "session.sync",
    "UsageError": "errors",
    "open_book": "book.open",
    "render_export": "exporting",
}
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
