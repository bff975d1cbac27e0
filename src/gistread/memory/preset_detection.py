"""Detects which gisting preset suits a book by its form (ReadAgent, F.2).

Turns, citations, steps, code.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from gistread.book.model import Book, ParagraphKind
from gistread.memory.front_matter import HEADINGS
from gistread.words import count_words

_MIN_PARAGRAPHS = 4
# Read from the beginning of the book; headings are read to its end
_MAX_CHARACTERS = 400_000

_TURNS = 0.5  # Least share of a transcript's lines that begin with a speaker
_MIN_TURNS = 3  # Least turns of a speaker: words before fewer colons are no speakers
_CITATIONS = 1.0  # Per thousand words. Papers have 2.6 and more, novels none.
_CODE = 0.5
_SOME_CODE = 0.08
_SIGNS = 0.03
"""Least share of code characters in source code without markup: sources have 0.034 and more,
transcripts up to 0.02, novels up to 0.003.
"""
# Least share in preformatted text, which may also be verse, or a whole novel
_SOME_SIGNS = 0.01
_STEPS = 0.3
_TABLES = 0.3  # Of a reference; novels have none but their contents

_SPEAKER = re.compile(
    r"""^\W{0,3}(?:\d[\d:.,]{3,11}\W{1,3})?                      # a time
        ([^\W\d_][^:：\n“”"„«»!?;]{0,40}?)                       # who
        (?:\s*[(\[][^)\]\n]{1,20}[)\]])?                          # a time or a role
        (?:\W{0,3}:\W{0,3}(?:\s|$) | \W{0,3}： | \s+\d{1,2}:\d\d(?::\d\d)?(?:\s|$))""",
    re.VERBOSE,
)
_CITATION = re.compile(
    r"""(?<![^\s(])\[\d{1,3}(?:\s*[,–-]\s*\d{1,3})*\]
      | \([^()\d]{2,80}[,\s]\s*(?:1[89]|20)\d\d[a-z]?(?:;[^()]{2,200})?\)
      | \bet\ al\b""",
    re.VERBOSE,
)
_STEP = re.compile(r"\s*(?:\d{1,3}[.)]|[a-zA-Z][)]|[•▪–*-])\s")
_SIGN = re.compile(r"[{}\[\]<>=|$\\_~`]|--|\b\(|;$", re.MULTILINE)
_ACT = re.compile(
    r"\W*(?:\w+\s+)?(?:act|scene|acte|scène|akt|aufzug|szene|auftritt|acto|escena|atto|scena"
    r"|действие|явление|第.{1,3}[幕場])\b",
    re.IGNORECASE,
)


_LONGEST_HEADING = 60  # Characters
_NOT_BODY = (
    ParagraphKind.HEADING,
    ParagraphKind.IMAGE,
    ParagraphKind.BREAK,
    ParagraphKind.NOTE,
)


@dataclass(frozen=True, slots=True)
class _Piece:
    kind: ParagraphKind
    text: str


class _Body:
    """The paragraphs from the beginning of a book, without headings, pictures and notes."""

    def __init__(self, book: Book) -> None:
        self.pieces = [
            _Piece(paragraph.kind, book.text[paragraph.start : paragraph.end])
            for paragraph in book.paragraphs_between(0, _MAX_CHARACTERS)
            if paragraph.kind not in _NOT_BODY
        ]
        self.texts = [piece.text for piece in self.pieces]

    def of_kind(self, kind: ParagraphKind) -> list[str]:
        return [piece.text for piece in self.pieces if piece.kind is kind]


def detect_preset(book: Book) -> str:
    """The name of a built-in preset."""
    body = _Body(book)
    if len(body.texts) < _MIN_PARAGRAPHS:
        return "fiction"
    if _is_transcript(book, body.texts):
        return "meeting"
    if _is_paper(book):
        return "paper"
    code = body.of_kind(ParagraphKind.CODE)
    code_share = 0.0
    if _sign_share(code) >= _SOME_SIGNS:
        code_share = _length(code) / _length(body.texts)
    is_unmarked_code = not code and _sign_share(body.texts) >= _SIGNS
    if is_unmarked_code or code_share >= _CODE:
        return "code"
    if code_share >= _SOME_CODE or _has_many_steps(body) or _has_large_tables(body):
        return "manual"
    return "fiction"


def _has_many_steps(body: _Body) -> bool:
    steps = sum(
        piece.kind is ParagraphKind.LIST or bool(_STEP.match(piece.text))
        for piece in body.pieces
    )
    return steps >= _STEPS * len(body.texts)


def _has_large_tables(body: _Body) -> bool:
    tables = body.of_kind(ParagraphKind.TABLE)
    return _length(tables) >= _TABLES * _length(body.texts)


def _length(texts: Sequence[str]) -> int:
    return sum(map(len, texts))


def _is_transcript(book: Book, texts: Sequence[str]) -> bool:
    """Recurring speakers and no acts: a play has speakers too."""
    lines = [line for text in texts for line in text.split("\n") if line.strip()]
    speakers = filter(None, map(_SPEAKER.match, lines))
    turns = Counter(speaker[1].casefold() for speaker in speakers)
    spoken = sum(count for count in turns.values() if count >= _MIN_TURNS)
    if spoken < _TURNS * len(lines):
        return False
    headings = (
        book.text[p.start : p.end]
        for p in book.paragraphs
        if p.kind is ParagraphKind.HEADING
    )
    return not any(_ACT.match(heading) for heading in headings)


def _is_paper(book: Book) -> bool:
    """Citations, and a heading of an abstract or of references."""
    beginning = book.text[:_MAX_CHARACTERS]
    if len(_CITATION.findall(beginning)) < _CITATIONS * count_words(beginning) / 1000:
        return False
    short = (p for p in book.paragraphs if p.end - p.start < _LONGEST_HEADING)
    lines = (book.text[p.start : p.end].strip(" \n0123456789.:*#—–-") for p in short)
    return any(line.casefold() in HEADINGS["paper"] for line in lines)


def _sign_share(texts: Sequence[str]) -> float:
    signs = sum(len(_SIGN.findall(text)) for text in texts)
    length = _length(texts)
    if not length:
        return 0.0
    return signs / length
