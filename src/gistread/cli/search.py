"""`gistread search BOOK WORDS` searches a book.

`gistread search --all WORDS` searches every book of the library.
"""

import argparse
from collections.abc import Sequence
from contextlib import suppress
from subprocess import TimeoutExpired

from gistread.book.model import Book
from gistread.cli.opening import open_named
from gistread.cli.output import Json, report, say
from gistread.cli.progress import ProgressLine
from gistread.errors import ExitStatus, NotReadyError, StorageError, UsageError
from gistread.library import indexing
from gistread.library.shelf import LibraryHit, LibraryHits, Shelf, open_shelf
from gistread.memory.spoilers import usual_bound
from gistread.paths import Paths, default_paths
from gistread.search.book_search import BookSearch, SearchMode
from gistread.store.user_data import UserData
from gistread.units import agreeing, counted, fields, format_place

_AROUND = 60  # Characters of context on each side of a hit
_MOST = 20  # Hits in all books, unless --limit says otherwise
_WAIT_S = 3.0  # For the index of new books: a few are done by then


def run(arguments: argparse.Namespace) -> ExitStatus:
    if arguments.all:
        # The first word stands in the place of a book.
        words = " ".join([arguments.book or "", *arguments.words])
        return _search_all(words, arguments)
    words = " ".join(arguments.words)
    if not words.strip():
        example = "Example: gistread search BOOK whale"
        raise UsageError("No words to search for.", example)
    if arguments.tag:
        example = "Example: gistread search --all whale --tag sea"
        raise UsageError("--tag goes with --all.", example)
    return _search_book(open_named(arguments.book), words, arguments)


def _search_book(book: Book, words: str, arguments: argparse.Namespace) -> ExitStatus:
    """`gistread search BOOK WORDS`."""
    hits = BookSearch(book).find(words, _mode(arguments))
    limit = arguments.limit or len(hits)
    documents: list[Json] = []
    lines: list[str] = []
    for index in range(min(len(hits), limit)):
        start, end = hits.span(index)
        document = hit_document(book, start, end)
        documents.append(document)
        share = format_place(start, len(book.text))
        lines.append(_text(f"{start}–{end}  {share:>3}", document))
    report(arguments, {"hits": documents}, lines)
    if not len(hits):
        say(f"{words!r} is not in {book.title or 'the book'}.")
        return ExitStatus.FAILED
    if len(documents) < len(hits):
        say(f"Showing {len(documents)} of {len(hits)} hits.")
    _tell_hits_ahead(book, documents)
    return ExitStatus.DONE


def _tell_hits_ahead(book: Book, hits: Sequence[Json]) -> None:
    """Say how many hits lie ahead of the user's place in a book with a plot."""
    user_data = UserData(default_paths())
    try:
        here = user_data.reading_place(book.sha256).furthest
        bound = usual_bound(book, here, user_data.bound_choice(book.sha256))
    except StorageError:
        return
    if bound is None:
        return
    ahead = sum(hit["end"] > bound for hit in hits)
    if ahead:
        verb = agreeing(ahead, "lies", "lie")
        place = format_place(bound, len(book.text))
        say(f"{counted(ahead, 'hit')} {verb} ahead of your place ({place}).")


def _mode(arguments: argparse.Namespace) -> SearchMode:
    if arguments.regex:
        return SearchMode.REGEX
    if arguments.ranked:
        return SearchMode.RANKED
    return SearchMode.EXACT


def indexed_shelf(tag: str = "") -> Shelf:
    """The library, or a collection.

    New books are indexed in the background; if none was indexed before, waits for the first one.
    Raises UsageError for an empty library, NotReadyError if no book can be indexed now.
    """
    paths = default_paths()
    shelf = open_shelf(paths, tag)
    if shelf.pending:
        shelf = _with_new_books(paths, tag)
    if not shelf.total:
        raise UsageError(
            "No books to search.", "Add some with `gistread books --add FOLDER`."
        )
    if not shelf.books:
        raise NotReadyError(
            "None of your books is indexed yet; another gistread is indexing them.",
            "Try again soon.",
        )
    if shelf.pending:
        say(
            f"Note: {len(shelf.pending)} of {shelf.total} books are left out "
            "until they are indexed, in the background."
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
        raise UsageError(
            "No words to search for.", "Example: gistread search --all whale"
        )
    if arguments.regex:
        raise UsageError(
            "--all ranks passages; a regular expression searches one book at a time."
        )
    shelf = indexed_shelf(arguments.tag)
    matches = shelf.search(words, arguments.limit or _MOST)
    hits: list[Json] = []
    lines: list[str] = []
    for hit in matches.hits:
        place = place_of(hit)
        hits.append(hit.book.document | place)
        share = format_place(hit.start, hit.book.indexed.length)
        lines.append(_text(f"{hit.book.entry.title}  {share}", place))
    beyond = [
        {"title": book.entry.title, "hits": count}
        for book, count in matches.beyond.items()
    ]
    document = {
        "hits": hits,
        "total": matches.total,
        "beyond": beyond,
        "not_indexed": len(shelf.pending),
    }
    report(arguments, document, lines)
    if not matches.hits and not matches.beyond:
        say(f"None of your {counted(len(shelf.books), 'book')} has {words!r}.")
    _tell_left_out(matches)
    return ExitStatus.DONE if matches.hits else ExitStatus.FAILED


def _tell_left_out(matches: LibraryHits) -> None:
    """Say how many hits are not shown, and in which books."""
    if len(matches.hits) < matches.total:
        say(f"Showing {len(matches.hits)} of {matches.total} hits.")
    if matches.left_out:
        say(f"{matches.left_out}.")


def place_of(hit: LibraryHit) -> Json:
    return fields(hit, "start", "end", "text", "before", "after", "chapter")


def hit_document(book: Book, start: int, end: int) -> Json:
    """A hit as `search --json` prints it."""
    text = book.text
    left, right = _context(book, start, end)
    return {
        "start": start,
        "end": end,
        "text": text[start:end],
        "before": text[left:start],
        "after": text[end:right],
        "chapter": book.chapter_title(start),
    }


def _context(book: Book, start: int, end: int) -> tuple[int, int]:
    """(start, end) of a place with some words on each side, within its paragraphs."""
    first = 0
    last = len(book.text)
    if book.paragraphs:
        first = book.paragraphs[book.paragraph_index(start)].start
        last = book.paragraphs[book.paragraph_index(max(start, end - 1))].end
    left = max(first, start - _AROUND)
    if left > first:
        space = book.text.find(" ", left, start)
        left = space + 1 if space >= 0 else left
    # A hit may reach beyond its last paragraph.
    right = min(max(end, last), end + _AROUND)
    if right < last:
        space = book.text.rfind(" ", end, right)
        right = space if space >= 0 else right
    return left, right


def _text(place: str, hit: Json) -> str:
    """A hit on two lines: its place and chapter, and its words with those around them."""
    chapter = f"  {hit['chapter']}" if hit["chapter"] else ""
    quote = f"{hit['before']}[{hit['text']}]{hit['after']}"
    quote = " ".join(quote.split())
    return f"{place}{chapter}\n   {quote}\n"
