"""Highlights and notes as the CSV that Readwise imports."""

import csv
import io

from gistread.exporting.model import Export, quoted_marks
from gistread.units import iso_time

_READWISE_COLUMNS = ("Highlight", "Title", "Author", "URL", "Note", "Location", "Date")


def as_readwise(export: Export) -> str:
    """Highlights and notes as rows; `Location` is the offset."""
    text, book = io.StringIO(), export.book
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_READWISE_COLUMNS)
    for mark in quoted_marks(export.marks):
        place = "" if mark.lost else mark.start
        writer.writerow(
            (mark.place.exact, book.title, ", ".join(book.authors), "", mark.note, place, iso_time(mark.made_at))
        )
    return text.getvalue()
