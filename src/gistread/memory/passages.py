"""Splits a book into passages: a few paragraphs, or a few sentences of a long paragraph.

Independent of pages.
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
# Longest numbered one: the fewer sentences it has, the surer which of them an answer means
NUMBERED_WORDS = 60

GAP = "[…]"  # Marks text left out

Span = tuple[int, int]  # `book.text[start:end]`
Passage = Span  # One that a prompt may show

# Share of a text that counts as all of it: white space around passages is not shown
NEARLY_ALL = 0.99


def split_into_passages(
    book: Book, start: int = 0, end: int | None = None, most_words: int = PASSAGE_WORDS
) -> list[Passage]:
    passages: list[Passage] = []
    words = 0
    is_headed = False
    for piece in _pieces(
        book, start, len(book.text) if end is None else end, most_words
    ):
        size = count_words(book.text[piece.start : piece.end])
        words += size
        fits = not piece.is_heading and words <= most_words
        if passages and (is_headed or fits):
            passages[-1] = passages[-1][0], piece.end
        else:
            passages.append((piece.start, piece.end))
            words = size
        is_headed = piece.is_heading
    return passages


def sentences_of(book: Book, start: int, end: int) -> Iterator[Passage]:
    """The sentences in `book.text[start:end]`; none crosses the end of a paragraph."""
    for paragraph in book.paragraphs_between(start, end):
        first, last = max(paragraph.start, start), min(paragraph.end, end)
        for begin, finish in sentence_spans(book.text[first:last]):
            yield first + begin, first + finish


def sentence_at(book: Book, offset: int) -> Passage:
    """The sentence at an offset of the book; between two, the next one of the paragraph."""
    if not book.paragraphs:
        return 0, len(book.text)
    paragraph = book.paragraphs[book.paragraph_index(offset)]
    sentences = list(sentences_of(book, paragraph.start, paragraph.end)) or [
        (paragraph.start, paragraph.end)
    ]
    return next(
        (sentence for sentence in sentences if sentence[1] > offset), sentences[-1]
    )


def join(passages: Iterable[Passage], book: Book) -> list[Passage]:
    """The passages in the book's order, joined where only white space is between them."""
    joined: list[Passage] = []
    for start, end in sorted(passages):
        if joined:
            first, last = joined[-1]
            if not book.text[last:start].strip():
                joined[-1] = first, max(end, last)
                continue
        joined.append((start, end))
    return joined


def without(span: Span, closed: Iterable[Span]) -> list[Span]:
    """What is left of a span, in order.

    >>> without((0, 10), [(2, 4)])
    [(0, 2), (4, 10)]
    """
    left: list[Span] = []
    at, end = span
    for since, until in sorted(closed):
        if since > at:
            left.append((at, min(since, end)))
        at = max(at, until)
        if at >= end:
            return left
    left.append((at, end))
    return left


def overlaps(places: Iterable[Passage], place: Passage) -> bool:
    """Whether a place shares a character with any of the others."""
    return any(start < place[1] and place[0] < end for start, end in places)


@dataclass(frozen=True, slots=True)
class Marked:
    """A span that is shown between two signs."""

    span: Span
    begin: str = "«"
    end: str = "»"

    @classmethod
    def in_text(cls, span: Span, text: str) -> "Marked":
        """With signs that the text does not have."""
        return cls(span, "⟦", "⟧") if "«" in text or "»" in text else cls(span)


def render(
    passages: Sequence[Passage],
    book: Book,
    *,
    numbered: bool = False,
    marked: Marked | None = None,
) -> str:
    """The text of joined passages, with a mark for every gap.

    `numbered`: each of `numbered_passages` after "[1]".
    """
    pieces: list[str] = []
    at = count = 0
    for start, end in passages:
        if book.text[at:start].strip():
            pieces.append(GAP)
        if numbered:
            for first, last in split_into_passages(book, start, end, NUMBERED_WORDS):
                count += 1
                pieces.append(f"[{count}] {_shown(first, last, book, marked)}")
        else:
            pieces.append(_shown(start, end, book, marked))
        at = end
    if passages and book.text[at:].strip():
        pieces.append(GAP)
    return "\n\n".join(pieces)


def _shown(start: int, end: int, book: Book, marked: Marked | None) -> str:
    text = book.text[start:end]
    if marked is None:
        return text.strip()
    first, last = marked.span
    if start < last <= end:
        at = last - start
        text = text[:at] + marked.end + text[at:]
    if start <= first < end:
        at = first - start
        text = text[:at] + marked.begin + text[at:]
    return text.strip()


def numbered_passages(
    passages: Sequence[Passage], book: Book
) -> tuple[tuple[int, Passage], ...]:
    """The pieces of joined passages that `render` numbers, each with its number."""
    pieces = [
        piece
        for start, end in passages
        for piece in split_into_passages(book, start, end, NUMBERED_WORDS)
    ]
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
    tokens = 0
    passages = deque(split_into_passages(book, start, end))
    while passages:
        start, end = passages.popleft()
        size = await count(book.text[start:end]) + 2
        if size > most_tokens and end - start > 1:
            middle = (start + end) // 2
            passages.extendleft([(middle, end), (start, middle)])
            continue
        if chunks and tokens + size <= most_tokens:
            chunks[-1] = chunks[-1][0], end
            tokens += size
        else:
            chunks.append((start, end))
            tokens = size
    return chunks


@dataclass(frozen=True, slots=True)
class _Piece:
    """A paragraph, or a sentence of a long one."""

    start: int
    end: int
    is_heading: bool


def _pieces(book: Book, start: int, end: int, most_words: int) -> Iterator[_Piece]:
    for paragraph in book.paragraphs_between(start, end):
        first = max(start, paragraph.start)
        last = min(end, paragraph.end)
        text = book.text[first:last]
        if count_words(text) <= most_words:
            yield _Piece(first, last, paragraph.kind is ParagraphKind.HEADING)
        else:
            for begin, finish in sentence_spans(text):
                yield _Piece(first + begin, first + finish, is_heading=False)
