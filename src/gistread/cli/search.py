"""`gistread search BOOK WORDS` searches a book, `gistread search --all WORDS` every book of the
library.
"""

import argparse
from contextlib import suppress
from subprocess import TimeoutExpired

from gistread.book.model import Book
from gistread.cli.opening import open_named
from gistread.cli.output import Json, report, say
from gistread.cli.progress import ProgressLine
from gistread.errors import ExitStatus, NotReadyError, UsageError
from gistread.library import indexing
from gistread.library.shelf import LibraryHit, Shelf, open_shelf
from gistread.paths import Paths, default_paths
from gistread.search.book_search import BookSearch, SearchMode
from gistread.units import counted, fields

_AROUND = 60  # Characters of context on each side of a hit
_MOST = 20  # Hits in all books, unless --limit says otherwise
_WAIT_S = 3.0  # For the index of new books: a few are done by then


def run(arguments: argparse.Namespace) -> ExitStatus:
    if arguments.all:
        return _search_all(" ".join([arguments.book or "", *arguments.words]), arguments)
    words = " ".join(arguments.words)
    if not words.strip():
        raise UsageError("No words to search for.", "Example: gistread search BOOK whale")
    if arguments.tag:
        raise UsageError("--tag goes with --all.", "Example: gistread search --all whale --tag sea")
    book = open_named(arguments.book)
    if arguments.regex:
        mode = SearchMode.REGEX
    elif arguments.ranked:
        mode = SearchMode.RANKED
    else:
        mode = SearchMode.EXACT
    hits = BookSearch(book).find(words, mode)
    shown = [
        hit_document(book, *hits.span(index))
        for index in range(min(len(hits), arguments.limit or len(hits)))
    ]
    length = max(1, len(book.text))
    places = (f"{hit['start']}–{hit['end']}  {hit['start'] / length:>3.0%}" for hit in shown)
    report(arguments, {"hits": shown}, map(_text, places, shown))
    if not len(hits):
        say(f"{words!r} is not in {book.title or 'the book'}.")
        return ExitStatus.FAILED
    if len(shown) < len(hits):
        say(f"Showing {len(shown)} of {len(hits)} hits.")
    return ExitStatus.DONE


def indexed_shelf(tag: str = "") -> Shelf:
    """The library, or a collection.

    New books are indexed in the background; the first one is waited for. Raises UsageError for an
    empty library, NotReadyError if no book can be indexed now.
    """
    paths = default_paths()
    shelf = open_shelf(paths, tag)
    if shelf.pending:
        shelf = _with_new_books(paths, tag)
    if not shelf.total:
        raise UsageError("No books to search.", "Add some with `gistread books --add FOLDER`.")
    if not shelf.books:
        raise NotReadyError(
            "None of your books is indexed yet; another gistread is indexing them.",
            "Try again soon.",
        )
    if shelf.pending:
        say(
            f"Note: {len(shelf.pending)} of {shelf.total} books are left out until they are "
            "indexed, in the background."
        )
    return shelf


def _with_new_books(paths: Paths, tag: str) -> Shelf:
    """The library after some seconds of indexing, or once it has its first book."""
    try:
        process = indexing.start_indexing(paths)
    except OSError:
        return open_shelf(paths, tag)  # The books indexed before can be searched.
    with ProgressLine() as line:
        while True:
            with suppress(TimeoutExpired):
                process.wait(_WAIT_S)
            has_ended = process.poll() is not None
            shelf = open_shelf(paths, tag)
            if shelf.books or has_ended:
                return shelf
            line.show(shelf.progress)


def _search_all(words: str, arguments: argparse.Namespace) -> ExitStatus:
    """`gistread search --all`."""
    if not words.strip():
        raise UsageError("No words to search for.", "Example: gistread search --all whale")
    if arguments.regex:
        raise UsageError("--all ranks passages; a regular expression searches one book at a time.")
    shelf = indexed_shelf(arguments.tag)
    found = shelf.search(words, arguments.limit or _MOST)
    beyond = [{"title": book.entry.title, "hits": count} for book, count in found.beyond.items()]
    hits = [hit.book.document | place_of(hit) for hit in found.hits]
    document = {
        "hits": hits,
        "total": found.total,
        "beyond": beyond,
        "not_indexed": len(shelf.pending),
    }
    places = (
        f"{hit.book.entry.title}  {hit.start / hit.book.indexed.length:.0%}" for hit in found.hits
    )
    report(arguments, document, map(_text, places, map(place_of, found.hits)))
    if not found.hits and not found.beyond:
        say(f"None of your {counted(len(shelf.books), 'book')} has {words!r}.")
    if len(found.hits) < found.total:
        say(f"Showing {len(found.hits)} of {found.total} hits.")
    if found.left_out:
        say(f"{found.left_out}.")
    return ExitStatus.DONE if found.hits else ExitStatus.FAILED


def place_of(hit: LibraryHit) -> Json:
    return fields(hit, "start", "end", "text", "before", "after", "chapter")


def hit_document(book: Book, start: int, end: int) -> Json:
    """A hit as `search --json` prints it."""
    text = book.text
    first = book.paragraphs[book.paragraph_index(start)].start if book.paragraphs else 0
    if book.paragraphs:
        last = book.paragraphs[book.paragraph_index(max(start, end - 1))].end
    else:
        last = len(text)
    left = max(first, start - _AROUND)
    if left > first and (space := text.find(" ", left, start)) >= 0:
        left = space + 1
    right = min(max(end, last), end + _AROUND)
    if right < last and (space := text.rfind(" ", end, right)) >= 0:
        right = space
    return {
        "start": start,
        "end": end,
        "text": text[start:end],
        "before": text[left:start],
        "after": text[end:right],
        "chapter": book.chapter_title(start),
    }


def _text(place: str, hit: Json) -> str:
    chapter = f"  {hit['chapter']}" if hit["chapter"] else ""
    quote = f"{hit['before']}[{hit['text']}]{hit['after']}"
    return f"{place}{chapter}\n   {' '.join(quote.split())}\n"
