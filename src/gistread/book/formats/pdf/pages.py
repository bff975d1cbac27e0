"""Data extracted from a PDF.

Positions are in points from the lower left, in a frame where text runs to the right.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from gistread.book.model import Style

HYPHEN = "\ufffe"  # PDFium's character for a hyphen it takes for hyphenation

_ITALIC = re.compile(r"ital|obliq|slant|cmti|cmsl|cmmi|-it\b|[a-z]It\b", re.IGNORECASE)
_BOLD = re.compile(r"bold|black|heavy|demi|medi\b|cmbx|\bbd\b", re.IGNORECASE)
_FIXED = re.compile(r"cour|mono|consol|cmtt|typewriter|inconsolata|menlo|fixed", re.IGNORECASE)
_SMALL_CAPITALS = re.compile(r"smallcap|small-cap|cmcsc|sc\b|-sc", re.IGNORECASE)
_FLAG_FIXED, _FLAG_ITALIC, _FLAG_FORCE_BOLD = 1, 64, 1 << 18


@dataclass(frozen=True)
class Font:
    """Style of a font, by its name and descriptor."""

    name: str
    flags: int
    weight: int

    @cached_property
    def is_bold(self) -> bool:
        return (
            self.weight >= 600
            or bool(self.flags & _FLAG_FORCE_BOLD)
            or bool(_BOLD.search(self.name))
        )

    @cached_property
    def is_fixed(self) -> bool:
        return bool(self.flags & _FLAG_FIXED) or bool(_FIXED.search(self.name))

    @cached_property
    def styles(self) -> frozenset[Style]:
        """Without CODE, which depends on the paragraph."""
        is_italic = self.flags & _FLAG_ITALIC or _ITALIC.search(self.name)
        is_small_capitals = _SMALL_CAPITALS.search(self.name)
        styles = {
            Style.EMPHASIS: is_italic,
            Style.STRONG: self.is_bold,
            Style.SMALL_CAPITALS: is_small_capitals,
        }
        return frozenset(style for style, applies in styles.items() if applies)


@dataclass(frozen=True, slots=True)
class TextRun:
    """Words in one font on one baseline; ends with a space if white space follows."""

    text: str
    left: float
    right: float
    baseline: float
    size: float
    font: Font


@dataclass(frozen=True, slots=True)
class PagePosition:
    """A page (from 0) and, if given, a position on it."""

    page: int
    x: float | None
    y: float | None


@dataclass(frozen=True, slots=True)
class LinkArea:
    """A clickable area that leads to a URL, or to "#page:x:y" with None for unset coordinates."""

    left: float
    bottom: float
    right: float
    top: float
    href: str


@dataclass(frozen=True)
class PdfPage:
    """Text runs in file order, which may differ from reading order."""

    number: int
    runs: tuple[TextRun, ...]
    areas: tuple[LinkArea, ...] = ()
    turn: int = 0
    has_pictures: bool = False
    guessed: int = 0  # Characters that their fonts do not identify
    nameless: int = 0  # Characters without a meaning or a shape
    left_out: Counter[str] = field(default_factory=Counter)  # As `left_out_notices` takes them


@dataclass
class PdfDocument:
    page_count: int = 0
    metadata: Mapping[str, str] = field(default_factory=dict)
    language: str = ""
    outline: tuple[
        tuple[str, int, PagePosition | None], ...
    ] = ()  # Title, level and place of each entry
    pages: list[PdfPage] = field(default_factory=list)
    unread: list[int] = field(default_factory=list)
    turns: dict[int, int] = field(default_factory=dict)

    def upright(self, place: PagePosition) -> PagePosition:
        """Convert a position in the file to the frame of its page's runs."""
        turn = self.turns.get(place.page, 0)
        if not turn:
            return place
        if place.x is None or place.y is None:
            return PagePosition(place.page, None, None)
        x, y, _, _ = rotate_box((place.x, place.y, place.x, place.y), turn)
        return PagePosition(place.page, x, y)


MIRRORED = 4  # Used as a turn for pages whose text runs to the left
EAST_ASIAN = re.compile("[\u3000-\u9fff\uac00-\ud7af]")
RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]"
)  # Hebrew, Arabic and their like


def rotate_box(
    box: tuple[float, float, float, float], turn: int
) -> tuple[float, float, float, float]:
    """A box (left, bottom, right, top) in the frame where text turned by `turn` quarters runs to
    the right.
    """
    left, bottom, right, top = box
    if turn == MIRRORED:
        return -right, bottom, -left, top
    if turn == 1:
        return bottom, -right, top, -left
    if turn == 2:
        return -right, -top, -left, -bottom
    if turn == 3:
        return -top, left, -bottom, right
    return box


def decode_page(record: Mapping[str, Any], fonts: list[Font]) -> PdfPage:
    """Decode a page record of the worker; `fonts`: all fonts so far."""
    raw = record["runs"]
    letters = Counter[int]()
    for text, *_, turn in raw:
        letters[turn] += len(text)
    main = max(letters, key=lambda turn: letters[turn]) if letters else 0
    # A little text at another angle is a stamp in the margin.
    keeps_all = letters.total() - letters[main] > 0.15 * letters.total()
    stamped = "" if keeps_all else "".join(text for text, *_, turn in raw if turn != main)
    left_out = {
        "word(s) printed at an angle": len(stamped.split()),
        "comment(s) on pages": record["comments"],
    }
    left_out["character(s) of an overfull page"] = record["cut"]
    runs = [
        TextRun(text, left, right, baseline, size, fonts[font])
        for text, left, right, baseline, size, font, turn in raw
        if turn == main or keeps_all
    ]
    if not main and 2 * sum(len(RIGHT_TO_LEFT.findall(run.text)) for run in runs) > letters.total():
        main = MIRRORED
        runs = [replace(run, left=-run.right, right=-run.left) for run in runs]
    areas = tuple(
        LinkArea(
            *rotate_box((left, bottom, right, top), main),
            target if isinstance(target, str) else f"#{':'.join(map(str, target))}",
        )
        for left, bottom, right, top, target in record["links"]
    )
    return PdfPage(
        number=record["page"],
        runs=tuple(runs),
        areas=areas,
        turn=max(main, 0),
        has_pictures=record["has_pictures"],
        guessed=record["guessed"],
        nameless=record["nameless"],
        left_out=Counter(left_out),
    )
