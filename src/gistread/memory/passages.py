"""A book cut in passages: a few whole paragraphs, or a few sentences of a long one.

What is ranked, embedded and shown where a page is too much. Where the cuts are depends on the text alone, so that
whatever is made of a passage can be kept.
"""

from collections.abc import Iterable

from gistread.book.model import Book, Kind
from gistread.book.sentences import sentence_spans
from gistread.book.words import count_words

PASSAGE_WORDS = 100
"""Longest passage of several paragraphs or sentences. DOS RAG takes chunks of 100 tokens (arXiv 2506.03989)."""

Passage = tuple[int, int]
"""`book.text[start:end]`."""


def cut(book: Book, start: int = 0, end: int | None = None) -> list[Passage]:
    """The book from `start` to `end` in passages, in order; a heading goes with what follows it."""
    passages: list[Passage] = []
    open_from = passage_end = -1
    words, headed = 0, False
    until = len(book.text) if end is None else end
    for piece_start, piece_end, is_heading in _pieces(book, start, until):
        size = count_words(book.text[piece_start:piece_end])
        if open_from >= 0 and not headed and (is_heading or words + size > PASSAGE_WORDS):
            passages.append((open_from, passage_end))
            open_from, words = -1, 0
        if open_from < 0:
            open_from = piece_start
        passage_end, words, headed = piece_end, words + size, is_heading
    if open_from >= 0:
        passages.append((open_from, passage_end))
    return passages


def _pieces(book: Book, start: int, end: int) -> Iterable[tuple[int, int, bool]]:
    """Paragraphs, long ones in sentences: start, end, whether it is a heading."""
    for paragraph in book.paragraphs_between(start, end):
        first, last = max(start, paragraph.start), min(end, paragraph.end)
        text = book.text[first:last]
        if count_words(text) <= PASSAGE_WORDS:
            yield first, last, paragraph.kind is Kind.HEADING
        else:
            for begin, finish in sentence_spans(text):
                yield first + begin, first + finish, False
