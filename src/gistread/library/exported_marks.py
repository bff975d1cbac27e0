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
        """Whether the user chose its words; those of other marks only show the place."""
        return self.mark.kind in (MarkKind.HIGHLIGHT, MarkKind.NOTE)


def is_export(document: Any) -> bool:
    """Whether a JSON document is an export of one book, or of several."""
    if not isinstance(document, dict):
        return False
    lists = (document.get("marks"), document.get("books"))
    return any(isinstance(value, list) for value in lists)


def exported_marks(document: dict[str, Any]) -> Iterator[tuple[str, ExportedMark]]:
    """Each mark with the title of its book. Raises LookupError, TypeError, ValueError."""
    for exported in document.get("books", [document]):
        book = exported["book"]
        sha256 = str(book["sha256"])
        length = int(book["characters"])
        for fields in exported["marks"]:
            yield str(book["title"]), ExportedMark(_mark(fields), sha256, length)


def _mark(fields: dict[str, Any]) -> Mark:
    """The mark with these fields. Raises LookupError, TypeError, ValueError."""
    place = TextQuote(
        start=int(fields["start"]),
        end=int(fields["end"]),
        exact=str(fields["text"]),
        prefix=str(fields["before"]),
        suffix=str(fields["behind"]),
    )
    color = fields["color"]
    return Mark(
        id=str(fields["id"]),
        kind=MarkKind(fields["kind"]),
        place=place,
        color=Color(color) if color else None,
        note=str(fields["note"]),
        letter=str(fields["letter"]),
        made_at=seconds_of(fields["made"]),
        changed_at=seconds_of(fields["changed"]),
    )


def placed_mark(
    exported: ExportedMark, book: Book, text: SearchableText
) -> Mark | None:
    """The mark at its place in a book; None if its words are not there.

    `text`: that of the book.
    """
    place = exported.mark.place
    is_same_text = exported.sha256 == book.sha256
    words_there = book.text[place.start : place.end]
    span: Span | None = (place.start, place.end)
    if not is_same_text or words_there != place.exact:
        span = find_quote(place, text, exported.length)
    if span is None:
        return None
    return replace(exported.mark, place=quote_at(book.text, *span), lost=False)


def known_mark(mark: Mark, marks: Sequence[Mark]) -> Mark | None:
    """The same mark among those of a book, else one of its kind and letter on the same words."""
    for known in marks:
        if known.id == mark.id:
            return known
    for known in marks:
        is_same_kind = (known.kind, known.letter) == (mark.kind, mark.letter)
        is_same_place = (known.start, known.end) == (mark.start, mark.end)
        if is_same_kind and is_same_place:
            return known
    return None


def is_letter_elsewhere(mark: Mark, known: Mark) -> bool:
    """Whether the letter of a mark marks another place of the book already.

    `known`: the mark with the same id.
    """
    if mark.kind is not MarkKind.LETTER:
        return False
    if known.lost:  # Its offsets are those of another text.
        return known.place.exact != mark.place.exact
    return known.start != mark.start
