"""The text of a section without its headings, which its chapter's title shows already."""

from gistread.book.model import Book, ParagraphKind
from gistread.book.sentences import sentence_spans


def prose_of(book: Book, start: int, end: int) -> str:
    """`book.text[start:end]` without headings, or with them if nothing else is there.

    >>> from gistread.book.open import open_bytes
    >>> book = open_bytes(b"# Chapter 8\\n\\nThe lamp burned.\\n", "story.md")
    >>> prose_of(book, 0, len(book.text))
    'The lamp burned.'
    """
    pieces: list[str] = []
    piece_start = start
    for paragraph in book.paragraphs_between(start, end):
        if paragraph.kind is ParagraphKind.HEADING:
            piece_end = max(piece_start, paragraph.start)
            pieces.append(book.text[piece_start:piece_end])
            piece_start = max(piece_start, paragraph.end)
    pieces.append(book.text[piece_start:end])
    prose = "".join(pieces).strip()
    return prose or book.text[start:end].strip()


def without_heading(gist: str, book: Book, start: int, end: int) -> str:
    """A gist of the section's own sentences without the headings in front of them.

    Memories made by 0.3 have them on one line with the first sentence.
    """
    prose = ""
    for paragraph in book.paragraphs_between(start, end):
        if paragraph.kind is not ParagraphKind.HEADING:
            break
        heading = " ".join(book.text[paragraph.start : paragraph.end].split())
        after_heading = gist.removeprefix(f"{heading} ")
        if after_heading == gist:
            break
        # The words of the heading may also begin a sentence of the section.
        prose = prose or " ".join(prose_of(book, start, end).split())
        if _first_sentence(gist) in prose:
            break
        gist = after_heading.strip()
    return gist


def _first_sentence(text: str) -> str:
    """The first sentence on one line; the whole text if there is none."""
    on_one_line = " ".join(text.split())
    for start, end in sentence_spans(on_one_line):
        return on_one_line[start:end].strip()
    return on_one_line
