"""`gistread search --all WORDS`: searches every book of the library."""

import argparse
from contextlib import suppress
from subprocess import TimeoutExpired
from typing import TYPE_CHECKING

from gistread.cli.output import say, write, write_json
from gistread.errors import ExitStatus, UsageError
from gistread.library import indexing
from gistread.library.shelf import LibraryHit, Shelf, open_shelf
from gistread.paths import default_paths
from gistread.units import counted

if TYPE_CHECKING:
    from gistread.cli.json_output import Json

_MOST = 20  # Hits, unless --limit says otherwise
_WAIT_S = 3.0  # For the index of new books: a few are done by then


def search_all(words: str, arguments: argparse.Namespace) -> ExitStatus:
    """`gistread search --all`."""
    if arguments.regex:
        raise UsageError("--all ranks passages; a regular expression searches one book at a time.")
    shelf = indexed_shelf(arguments.tag)
    found = shelf.search(words, arguments.limit or _MOST)
    if arguments.json:
        beyond = [{"title": book.entry.title, "hits": count} for book, count in found.beyond.items()]
        hits = [_hit_of_library(hit) for hit in found.hits]
        write_json({"hits": hits, "total": found.total, "beyond": beyond, "not_indexed": len(shelf.pending)})
    else:
        for hit in found.hits:
            place = f"{hit.start / hit.book.indexed.length:.0%}"
            chapter = f"  {hit.chapter}" if hit.chapter else ""
            quote = " ".join(f"{hit.before}[{hit.text}]{hit.after}".split())
            write(f"{hit.book.entry.title}  {place}{chapter}\n   {quote}\n")
    if not found.hits:
        say(f"None of your {counted(len(shelf.books), 'book')} has {words!r}.")
    if len(found.hits) < found.total:
        say(f"Showing {len(found.hits)} of {found.total} hits.")
    if found.left_out:
        say(f"{found.left_out}.")
    return ExitStatus.DONE if found.hits else ExitStatus.FAILED


def _hit_of_library(hit: LibraryHit) -> "Json":
    return {
        **hit.book.document,
        "start": hit.start,
        "end": hit.end,
        "text": hit.text,
        "before": hit.before,
        "after": hit.after,
        "chapter": hit.chapter,
    }


def indexed_shelf(tag: str = "") -> Shelf:
    """The library, or a collection. New books are indexed in the background. Raises UsageError if none is indexed."""
    paths = default_paths()
    shelf = open_shelf(paths, tag)
    if shelf.pending:
        with suppress(OSError, TimeoutExpired):
            indexing.start_indexing(paths).wait(_WAIT_S)
        shelf = open_shelf(paths, tag)
    if not shelf.total:
        raise UsageError("No books to search.", "Add some with `gistread books --add FOLDER`.")
    if not shelf.books:
        raise UsageError(f"None of your books is indexed yet; {shelf.progress} in the background.", "Try again soon.")
    if shelf.pending:
        say(f"Note: {shelf.progress} in the background; the others are searched.")
    return shelf
