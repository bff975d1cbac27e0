"""Steps by words, sentences and paragraphs of a book, as ranges."""

import re

from gistread.book.model import Book
from gistread.book.sentences import sentence_spans

Range = tuple[int, int]
"""`[start, end)` of the book's text."""

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(f"[{_UNSPACED}]|(?:(?![{_UNSPACED}])\\w)+(?:['’‑-](?:(?![{_UNSPACED}])\\w)+)*")
"""One character of a script without spaces, or a word with its apostrophes and hyphens."""
_LOOK_BACK = 200


def word_at(book: Book, offset: int) -> Range:
    """The word at or after an offset, or the last of the book."""
    for match in _WORD.finditer(book.text, max(0, offset - _LOOK_BACK)):
        if match.end() > offset:
            return match.span()
    return previous_word(book, len(book.text))


def whole_words(book: Book, chosen: Range) -> Range:
    """Extend an inexact selection to whole words, without white space at its ends."""
    start, end = chosen
    words = book.text[start:end]
    if not words.strip():
        return chosen
    start, end = end - len(words.lstrip()), start + len(words.rstrip())
    first, last = word_at(book, start), word_at(book, end - 1)
    return min(start, first[0]), max(end, last[1]) if last[0] < end else end


def next_word(book: Book, offset: int) -> Range:
    """The first word after an offset, or the last of the book."""
    match = _WORD.search(book.text, offset)
    return match.span() if match else previous_word(book, len(book.text))


def previous_word(book: Book, offset: int) -> Range:
    """The last word that ends at or before an offset, or the first of the book."""
    low = offset
    while low > 0:
        low = max(0, low - _LOOK_BACK)
        found = [match.span() for match in _WORD.finditer(book.text, low, offset)]
        if found and (low == 0 or len(found) > 1):
            return found[-1]
    match = _WORD.search(book.text)
    return match.span() if match else (0, len(book.text))


def paragraph_at(book: Book, offset: int, step: int = 0) -> Range:
    """The paragraph at an offset, or `step` paragraphs on."""
    if not book.paragraphs:
        return 0, len(book.text)
    index = min(max(0, book.paragraph_index(offset) + step), len(book.paragraphs) - 1)
    return book.paragraphs[index].start, book.paragraphs[index].end


def sentence_at(book: Book, offset: int) -> Range:
    """The sentence at an offset, or the next in its paragraph."""
    sentences = _sentences(book, paragraph_at(book, offset))
    return next((one for one in sentences if one[1] > offset), sentences[-1])


def next_sentence(book: Book, offset: int) -> Range:
    """The sentence after the one at an offset, or the last of the book."""
    start, end = sentence_at(book, offset)
    following = next((one for one in _sentences(book, paragraph_at(book, start)) if one[0] >= end), None)
    if following is not None:
        return following
    beyond = paragraph_at(book, start, 1)
    return _sentences(book, beyond)[0] if beyond[0] > start else (start, end)


def previous_sentence(book: Book, offset: int) -> Range:
    """The sentence before the one at an offset, or the first of the book."""
    start, _ = sentence_at(book, offset)
    before = [one for one in _sentences(book, paragraph_at(book, start)) if one[0] < start]
    if before:
        return before[-1]
    paragraph = paragraph_at(book, start, -1)
    return _sentences(book, paragraph)[-1] if paragraph[0] < start else sentence_at(book, start)


def _sentences(book: Book, paragraph: Range) -> list[Range]:
    start, end = paragraph
    return [(start + one, start + two) for one, two in sentence_spans(book.text[start:end])] or [paragraph]
