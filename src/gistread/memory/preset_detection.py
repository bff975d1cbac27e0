"""Detects which gisting preset suits a book by its form: turns of speakers, citations, steps, code.

As in ReadAgent, Appendix F.2.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from gistread.book.model import Book, ParagraphKind
from gistread.memory.front_matter import HEADINGS
from gistread.words import count_words

_MIN_PARAGRAPHS = 4
# Only so much of the beginning of a book is examined, except for headings.
_MAX_CHARACTERS = 400_000

_TURNS = 0.5  # Least share of a transcript's lines that begin with a speaker
# A speaker has at least so many turns; words before fewer colons are no speakers
_MIN_TURNS = 3
# Least citations per thousand words; papers have 2.6 and more, novels none
_CITATIONS = 1.0
_CODE = 0.5  # Least share of code in a book of code
_SOME_CODE = 0.08  # The same in a manual
# Least share of code characters in source code without markup: sources have 0.034 and more,
# transcripts up to 0.02, novels up to 0.003.
_SIGNS = 0.03
# The same in preformatted text, which may also be verse, or a whole novel
_SOME_SIGNS = 0.01
_STEPS = 0.3  # Least share of steps among the paragraphs of a manual
_TABLES = 0.3  # Least share of tables in a reference; novels only have their contents

# "[00:12] Ann (host): Welcome", "Ann 00:12"
_SPEAKER = re.compile(
    r"""^\W{0,3}(?:\d[\d:.,]{3,11}\W{1,3})?                      # a time
        (?P<who>[^\W\d_][^:：\n“”"„«»!?;]{0,40}?)                # who
        (?:\s*[(\[][^)\]\n]{1,20}[)\]])?                          # a time or a role
        (?:\W{0,3}:\W{0,3}(?:\s|$) | \W{0,3}： | \s+\d{1,2}:\d\d(?::\d\d)?(?:\s|$))""",
    re.VERBOSE,
)
# "[3, 7]", "(Lee et al., 2024)"
_CITATION = re.compile(
    r"""(?<![^\s(])\[\d{1,3}(?:\s*[,–-]\s*\d{1,3})*\]
      | \([^()\d]{2,80}[,\s]\s*(?:1[89]|20)\d\d[a-z]?(?:;[^()]{2,200})?\)
      | \bet\ al\b""",
    re.VERBOSE,
)
_STEP = re.compile(r"\s*(?:\d{1,3}[.)]|[a-zA-Z][)]|[•▪–*-])\s")  # "2. ", "b) ", "• "
# Characters of code
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
    """Whether speakers recur. There must be no acts, since a play has speakers too."""
    lines = [line for text in texts for line in text.split("\n") if line.strip()]
    turns: Counter[str] = Counter()
    for line in lines:
        match = _SPEAKER.match(line)
        if match:
            turns[match["who"].casefold()] += 1
    spoken = sum(count for count in turns.values() if count >= _MIN_TURNS)
    if spoken < _TURNS * len(lines):
        return False
    for paragraph in book.paragraphs:
        if paragraph.kind is ParagraphKind.HEADING:
            heading = book.text[paragraph.start : paragraph.end]
            if _ACT.match(heading):
                return False
    return True


def _is_paper(book: Book) -> bool:
    """Whether there are citations, and a heading of an abstract or of references."""
    beginning = book.text[:_MAX_CHARACTERS]
    thousands = count_words(beginning) / 1000
    if len(_CITATION.findall(beginning)) < _CITATIONS * thousands:
        return False
    for paragraph in book.paragraphs:
        if paragraph.end - paragraph.start < _LONGEST_HEADING:
            line = book.text[paragraph.start : paragraph.end]
            title = line.strip(" \n0123456789.:*#—–-").casefold()
            if title in HEADINGS["paper"]:
                return True
    return False


def _sign_share(texts: Sequence[str]) -> float:
    """The share of code characters."""
    signs = sum(len(_SIGN.findall(text)) for text in texts)
    length = _length(texts)
    if not length:
        return 0.0
    return signs / length
