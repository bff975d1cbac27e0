"""`gistread toc BOOK`: the chapters of a book, with their numbers and places."""

import argparse

from gistread.cli.json_output import Json
from gistread.cli.opening import open_named
from gistread.cli.output import report


def run(arguments: argparse.Namespace) -> None:
    book = open_named(arguments.book)
    chapters: list[Json] = [
        {
            "number": number,
            "title": chapter.title,
            "start": chapter.start,
            "end": book.chapter_end(index),
            "page": book.page_at(chapter.start),
        }
        for index, (number, chapter) in enumerate(zip(book.chapter_numbers, book.chapters, strict=True))
    ]
    document = {"title": book.title, "length": len(book.text), "page_count": book.page_count, "chapters": chapters}
    width, length = max(map(len, book.chapter_numbers), default=0), max(1, len(book.text))
    lines = (
        f"{one['number']:{width}}  {one['start'] / length:>4.0%}  p. {one['page']:<5,} {one['title'] or 'Untitled'}"
        for one in chapters
    )
    report(arguments, document, lines)
