"""Splits a book into passages: a few paragraphs, or a few sentences of a long paragraph.

Passages do not depend on pages.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from gistread.book.model import Book, ParagraphKind
from gistread.book.sentences import sentence_spans
from gistread.words import count_words

# Longest passage of several paragraphs or sentences. DOS RAG uses chunks of 100 tokens (arXiv
# 2506.03989).
PASSAGE_WORDS = 100
# Longest numbered passage: with few sentences, it is clear which of them an answer means
NUMBERED_WORDS = 60

GAP = "[…]"  # Marks text left out
_BLANK_LINE_TOKENS = 2

Span = tuple[int, int]  # `book.text[start:end]`
Passage = Span  # One that a prompt may show

# Share of a text that counts as all of it: white space around passages is not shown
NEARLY_ALL = 0.99


def split_into_passages(
    book: Book, start: int = 0, end: int | None = None, most_words: int = PASSAGE_WORDS
) -> list[Passage]:
    """The passages of `book.text[start:end]`. A heading is in one with what follows it."""
    if end is None:
        end = len(book.text)
    passages: list[Passage] = []
    words = 0  # Of the last passage
    follows_heading = False
    for piece in _pieces(book, start, end, most_words):
        piece_words = count_words(book.text[piece.start : piece.end])
        words += piece_words
        fits = not piece.is_heading and words <= most_words
        if passages and (follows_heading or fits):
            passage_start, _ = passages[-1]
            passages[-1] = passage_start, piece.end
        else:
            passages.append((piece.start, piece.end))
            words = piece_words
        follows_heading = piece.is_heading
    return passages


def sentences_of(book: Book, start: int, end: int) -> Iterator[Passage]:
    """The sentences in `book.text[start:end]`; none crosses the end of a paragraph."""
    for paragraph in book.paragraphs_between(start, end):
        part_start, part_end = max(paragraph.start, start), min(paragraph.end, end)
        for first, last in sentence_spans(book.text[part_start:part_end]):
            yield part_start + first, part_start + last


def sentence_at(book: Book, offset: int) -> Passage:
    """The sentence at an offset of the book; between two, the next one of the paragraph."""
    if not book.paragraphs:
        return 0, len(book.text)
    paragraph = book.paragraphs[book.paragraph_index(offset)]
    last_sentence = (paragraph.start, paragraph.end)
    for start, end in sentences_of(book, paragraph.start, paragraph.end):
        if end > offset:
            return start, end
        last_sentence = (start, end)
    return last_sentence


def join(passages: Iterable[Passage], book: Book) -> list[Passage]:
    """The passages in the book's order, joined where only white space is between them."""
    joined: list[Passage] = []
    for start, end in sorted(passages):
        if joined:
            last_start, last_end = joined[-1]
            if not book.text[last_end:start].strip():
                joined[-1] = last_start, max(end, last_end)
                continue
        joined.append((start, end))
    return joined


def without(span: Span, excluded: Iterable[Span]) -> list[Span]:
    """The parts of a span that are in none of the excluded ones, in order.

    >>> without((0, 10), [(2, 4)])
    [(0, 2), (4, 10)]
    """
    parts: list[Span] = []
    start, end = span
    for excluded_start, excluded_end in sorted(excluded):
        if excluded_start > start:
            parts.append((start, min(excluded_start, end)))
        start = max(start, excluded_end)
        if start >= end:
            return parts
    parts.append((start, end))
    return parts


def overlaps(places: Iterable[Passage], place: Passage) -> bool:
    """Whether a place shares a character with any of the others."""
    place_start, place_end = place
    return any(start < place_end and place_start < end for start, end in places)


@dataclass(frozen=True, slots=True)
class Marked:
    """A span that is shown between two signs."""

    span: Span
    begin: str = "«"
    end: str = "»"

    @classmethod
    def in_text(cls, span: Span, text: str) -> "Marked":
        """With signs that the text does not have."""
        if "«" in text or "»" in text:
            return cls(span, "⟦", "⟧")
        return cls(span)


def render(
    passages: Sequence[Passage],
    book: Book,
    *,
    numbered: bool = False,
    marked: Marked | None = None,
) -> str:
    """The text of joined passages, with a mark for every gap.

    `numbered`: each of the `numbered_passages` begins with its number, as "[1]".
    """
    pieces: list[str] = []
    number = 0
    last_end = 0
    for start, end in passages:
        if book.text[last_end:start].strip():
            pieces.append(GAP)
        if numbered:
            for first, last in split_into_passages(book, start, end, NUMBERED_WORDS):
                number += 1
                pieces.append(f"[{number}] {_shown(first, last, book, marked)}")
        else:
            pieces.append(_shown(start, end, book, marked))
        last_end = end
    if passages and book.text[last_end:].strip():
        pieces.append(GAP)
    return "\n\n".join(pieces)


def _shown(start: int, end: int, book: Book, marked: Marked | None) -> str:
    """The text with the signs of a marked span that begins or ends in it."""
    text = book.text[start:end]
    if marked is None:
        return text.strip()
    marked_start, marked_end = marked.span
    # The second sign first: the other one would shift its place.
    if start < marked_end <= end:
        index = marked_end - start
        text = text[:index] + marked.end + text[index:]
    if start <= marked_start < end:
        index = marked_start - start
        text = text[:index] + marked.begin + text[index:]
    return text.strip()


def numbered_passages(
    passages: Sequence[Passage], book: Book
) -> tuple[tuple[int, Passage], ...]:
    """The pieces of joined passages that `render` numbers, each with its number."""
    pieces: list[Passage] = []
    for start, end in passages:
        pieces += split_into_passages(book, start, end, NUMBERED_WORDS)
    return tuple(enumerate(pieces, start=1))


async def split_into_chunks(
    book: Book,
    most_tokens: int,
    count: Callable[[str], Awaitable[int]],
    start: int = 0,
    end: int | None = None,
) -> list[Passage]:
    """Split the book, or a part, into chunks of whole passages; only too long ones are cut."""
    chunks: list[Passage] = []
    chunk_tokens = 0
    passages = deque(split_into_passages(book, start, end))
    while passages:
        start, end = passages.popleft()
        tokens = await count(book.text[start:end]) + _BLANK_LINE_TOKENS
        can_be_cut = end - start > 1
        if tokens > most_tokens and can_be_cut:
            # Count both halves instead, the first one next.
            middle = (start + end) // 2
            passages.appendleft((middle, end))
            passages.appendleft((start, middle))
            continue
        if chunks and chunk_tokens + tokens <= most_tokens:
            chunk_start, _ = chunks[-1]
            chunks[-1] = chunk_start, end
            chunk_tokens += tokens
        else:
            chunks.append((start, end))
            chunk_tokens = tokens
    return chunks


@dataclass(frozen=True, slots=True)
class _Piece:
    """A paragraph, or a sentence of a long one."""

    start: int
    end: int
    is_heading: bool


def _pieces(book: Book, start: int, end: int, most_words: int) -> Iterator[_Piece]:
    """The paragraphs of `book.text[start:end]`; of longer ones, the sentences."""
    for paragraph in book.paragraphs_between(start, end):
        part_start = max(start, paragraph.start)
        part_end = min(end, paragraph.end)
        text = book.text[part_start:part_end]
        if count_words(text) <= most_words:
            is_heading = paragraph.kind is ParagraphKind.HEADING
            yield _Piece(part_start, part_end, is_heading)
        else:
            for first, last in sentence_spans(text):
                yield _Piece(part_start + first, part_start + last, is_heading=False)
