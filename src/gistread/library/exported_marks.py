"""Reads marks that gistread exported as JSON, and finds their places in a book."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gistread.book.model import Book
from gistread.library.foreign_dates import seconds_of
from gistread.library.moving import SearchableText, find_quote
from gistread.marking import Color, Mark, MarkKind, TextQuote, quote_at
from gistread.memory.passages import Span


@dataclass(frozen=True, slots=True)
class ExportedMark:
    """A mark with its place in the text that it was exported from."""

    mark: Mark
    sha256: str  # Of that text
    length: int  # Of that text, in characters

    @property
    def is_quotation(self) -> bool:
        """Whether its words were chosen, and do not only tell its place."""
        return self.mark.kind in (MarkKind.HIGHLIGHT, MarkKind.NOTE)


def is_export(document: Any) -> bool:
    """Whether a JSON document is an export of one book, or of several."""
    return isinstance(document, dict) and any(
        name in document and isinstance(document[name], list)
        for name in ("marks", "books")
    )


def exported_marks(document: dict[str, Any]) -> Iterator[tuple[str, ExportedMark]]:
    """Each mark with the title of its book. Raises LookupError, TypeError, ValueError."""
    for exported in document.get("books", [document]):
        book = exported["book"]
        for fields in exported["marks"]:
            mark = ExportedMark(
                _mark(fields), str(book["sha256"]), int(book["characters"])
            )
            yield str(book["title"]), mark


def _mark(fields: dict[str, Any]) -> Mark:
    place = TextQuote(
        int(fields["start"]),
        int(fields["end"]),
        str(fields["text"]),
        str(fields["before"]),
        str(fields["behind"]),
    )
    color = fields["color"]
    return Mark(
        str(fields["id"]),
        MarkKind(fields["kind"]),
        place,
        Color(color) if color else None,
        str(fields["note"]),
        str(fields["letter"]),
        seconds_of(fields["made"]),
        seconds_of(fields["changed"]),
    )


def placed_mark(
    exported: ExportedMark, book: Book, text: SearchableText
) -> Mark | None:
    """The mark at its place in a book; None if its words are not there.

    `text`: that of the book.
    """
    place = exported.mark.place
    is_same_text = exported.sha256 == book.sha256
    if is_same_text and book.text[place.start : place.end] == place.exact:
        span: Span | None = (place.start, place.end)
    else:
        span = find_quote(place, text, exported.length)
    if span is None:
        return None
    return replace(exported.mark, place=quote_at(book.text, *span), lost=False)


def known_mark(mark: Mark, marks: Sequence[Mark]) -> Mark | None:
    """The mark of a book that is this one, or one of its kind and letter on the same words."""
    same = [known for known in marks if known.id == mark.id]
    alike = [
        known
        for known in marks
        if (known.kind, known.letter) == (mark.kind, mark.letter)
        and (known.start, known.end) == (mark.start, mark.end)
    ]
    return next(iter([*same, *alike]), None)


def is_letter_elsewhere(mark: Mark, known: Mark) -> bool:
    """Whether the letter of a mark marks another place of the book already.

    `known`: the mark with the same id.
    """
    if mark.kind is not MarkKind.LETTER:
        return False
    if known.lost:  # Its offsets are those of another text.
        return known.place.exact != mark.place.exact
    return known.start != mark.start
