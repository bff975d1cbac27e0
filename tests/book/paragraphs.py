"""Views of a book for assertions: paragraphs with kinds, chapters, link targets."""

from gistread.book.model import Book, ParagraphKind, Style


def paragraphs(book: Book) -> list[tuple[ParagraphKind, str]]:
    return [(p.kind, book.text[p.start : p.end]) for p in book.paragraphs]


def chapters(book: Book) -> list[tuple[int, str]]:
    return [(c.level, c.title) for c in book.chapters]


def links(book: Book) -> list[tuple[str, str]]:
    """The words of each link and its target: the note, the line there, or a URL."""
    return [
        (
            book.text[link.start : link.end],
            _target(book, link.target, link.target_end, link.address),
        )
        for link in book.links
    ]


def styles(book: Book) -> list[tuple[Style, str]]:
    return [(span.style, book.text[span.start : span.end]) for span in book.spans]


def images(book: Book) -> list[tuple[str, str]]:
    return [(image.source, book.text[image.start : image.end]) for image in book.images]


def _target(book: Book, start: int | None, end: int | None, address: str) -> str:
    if start is None:
        return address
    if end is not None:
        return book.text[start:end]
    return book.text[start:].partition("\n")[0]
