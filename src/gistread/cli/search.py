"""`gistread search BOOK WORDS` searches a book, `gistread search --all WORDS` every book of the library."""

import argparse
from typing import TYPE_CHECKING

from gistread.book.model import Book
from gistread.cli.output import say, write, write_json
from gistread.errors import ExitStatus, UsageError
from gistread.search.book_search import BookSearch, SearchMode

if TYPE_CHECKING:
    from gistread.cli.json_output import Json

_AROUND = 60  # Characters of context on each side of a hit


def run(arguments: argparse.Namespace) -> ExitStatus:
    words = " ".join([arguments.book, *arguments.words] if arguments.all else arguments.words)
    if not words.strip():
        raise UsageError("No words to search for.")
    if arguments.all:
        from gistread.cli.all_books import search_all  # imported here, as what one book needs: each is slow to import

        return search_all(words, arguments)
    from gistread.cli.opening import open_named

    book = open_named(arguments.book)
    mode = SearchMode.REGEX if arguments.regex else SearchMode.RANKED if arguments.ranked else SearchMode.EXACT
    hits = BookSearch(book).find(words, mode)
    shown = [hit_document(book, *hits.span(index)) for index in range(min(len(hits), arguments.limit or len(hits)))]
    if arguments.json:
        write_json({"hits": shown})
    else:
        for hit in shown:
            write(_text(book, hit))
    if not len(hits):
        say(f"{words!r} is not in {book.title or 'the book'}.")
        return ExitStatus.FAILED
    if len(shown) < len(hits):
        say(f"Showing {len(shown)} of {len(hits)} hits.")
    return ExitStatus.DONE


def hit_document(book: Book, start: int, end: int) -> "Json":
    """A hit as `search --json` prints it."""
    text = book.text
    first = book.paragraphs[book.paragraph_index(start)].start if book.paragraphs else 0
    last = book.paragraphs[book.paragraph_index(max(start, end - 1))].end if book.paragraphs else len(text)
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


def _text(book: Book, hit: "Json") -> str:
    place = f"{hit['start']}–{hit['end']}  {hit['start'] / max(1, len(book.text)):>3.0%}"
    chapter = f"  {hit['chapter']}" if hit["chapter"] else ""
    quote = f"{hit['before']}[{hit['text']}]{hit['after']}"
    return f"{place}{chapter}\n   {' '.join(quote.split())}\n"
