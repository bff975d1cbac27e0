"""The data that is extracted from a PDF.

Positions are in points from the lower left, in a frame where text runs to the right.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from gistread.book.model import Style

HYPHEN = "\ufffe"  # PDFium's character for a hyphen it takes for hyphenation

# In names of fonts: "Times-Italic", "CMBX10", "CourierNew", "CMCSC10".
_ITALIC = re.compile(r"ital|obliq|slant|cmti|cmsl|cmmi|-it\b|[a-z]It\b", re.IGNORECASE)
_BOLD = re.compile(r"bold|black|heavy|demi|medi\b|cmbx|\bbd\b", re.IGNORECASE)
_FIXED = re.compile(
    r"cour|mono|consol|cmtt|typewriter|inconsolata|menlo|fixed", re.IGNORECASE
)
_SMALL_CAPITALS = re.compile(r"smallcap|small-cap|cmcsc|sc\b|-sc", re.IGNORECASE)
# Bits of a font descriptor's flags
_FLAG_FIXED = 1
_FLAG_ITALIC = 1 << 6
_FLAG_FORCE_BOLD = 1 << 18
_LEAST_BOLD_WEIGHT = 600
# Share of a page's letters at other angles that are stamps; if there are more, they are text.
_MOST_STAMPED_SHARE = 0.15


@dataclass(frozen=True)
class Font:
    """Style of a font, by its name and descriptor."""

    name: str
    flags: int
    weight: int

    @cached_property
    def is_bold(self) -> bool:
        if self.weight >= _LEAST_BOLD_WEIGHT or self.flags & _FLAG_FORCE_BOLD:
            return True
        return bool(_BOLD.search(self.name))

    @cached_property
    def is_fixed(self) -> bool:
        return bool(self.flags & _FLAG_FIXED) or bool(_FIXED.search(self.name))

    @cached_property
    def styles(self) -> frozenset[Style]:
        """The styles of its letters, without CODE, which depends on the paragraph."""
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
    # For `left_out_notices`
    left_out: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """An entry of the outline (bookmarks) of a document."""

    title: str
    level: int  # From 1
    place: PagePosition | None


@dataclass
class PdfDocument:
    page_count: int = 0
    metadata: Mapping[str, str] = field(default_factory=dict)
    language: str = ""
    outline: tuple[OutlineEntry, ...] = ()
    pages: list[PdfPage] = field(default_factory=list)  # Those that could be read
    unread: list[int] = field(default_factory=list)  # Numbers of the others
    turns: dict[int, int] = field(default_factory=dict)  # By the number of a page

    def upright(self, place: PagePosition) -> PagePosition:
        """Convert a position in the file to the frame of its page's runs."""
        turn = self.turns.get(place.page, 0)
        if not turn:
            return place
        if place.x is None or place.y is None:
            return PagePosition(place.page, None, None)
        x, y = rotate_point(place.x, place.y, turn)
        return PagePosition(place.page, x, y)


MIRRORED = 4  # Used as a turn for pages whose text runs to the left
EAST_ASIAN = re.compile("[\u3000-\u9fff\uac00-\ud7af]")
# Hebrew, Arabic and their like
RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")


class Box(NamedTuple):
    left: float
    bottom: float
    right: float
    top: float


def rotate_box(box: Box, turn: int) -> Box:
    """A box in the frame where text turned by `turn` quarters runs to the right."""
    if turn == 0:
        return box
    left, bottom, right, top = box
    if turn == MIRRORED:
        return Box(-right, bottom, -left, top)
    match turn:
        case 1:
            return Box(bottom, -right, top, -left)
        case 2:
            return Box(-right, -top, -left, -bottom)
        case 3:
            return Box(-top, left, -bottom, right)
        case _:
            return box


def rotate_point(x: float, y: float, turn: int) -> tuple[float, float]:
    if turn == 0:
        return x, y
    x, y, *_ = rotate_box(Box(x, y, x, y), turn)
    return x, y


class RunRecord(NamedTuple):
    """A run as the worker writes it.

    Positions are in a frame turned by `turn` quarters so that the text runs to the right; -1 is any
    other angle.
    """

    text: str  # Ends with `HYPHEN`, or with a space if white space follows
    left: float
    right: float
    baseline: float
    size: float
    font: int  # Number of the font
    turn: int


def decode_page(record: Mapping[str, Any], fonts: list[Font]) -> PdfPage:
    """Decode a page record of the worker; `fonts`: all fonts so far."""
    records = [RunRecord(*values) for values in record["runs"]]
    letters_by_turn = _count_letters_by_turn(records)
    letters = letters_by_turn.total()
    turn = max(letters_by_turn, key=letters_by_turn.__getitem__, default=0)
    stamps: list[RunRecord] = []
    # A little text at another angle is a stamp in the margin.
    letters_at_other_angles = letters - letters_by_turn[turn]
    if letters_at_other_angles <= _MOST_STAMPED_SHARE * letters:
        stamps = [run for run in records if run.turn != turn]
        records = [run for run in records if run.turn == turn]
    stamped_text = "".join(run.text for run in stamps)
    runs = [
        TextRun(run.text, run.left, run.right, run.baseline, run.size, fonts[run.font])
        for run in records
    ]
    if turn == 0 and _is_right_to_left(runs, letters):
        turn = MIRRORED
        runs = [replace(run, left=-run.right, right=-run.left) for run in runs]
    left_out = {
        "word(s) printed at an angle": len(stamped_text.split()),
        "comment(s) on pages": record["comments"],
        "character(s) of an overfull page": record["cut"],
    }
    return PdfPage(
        number=record["page"],
        runs=tuple(runs),
        areas=tuple(_decode_link(link, turn) for link in record["links"]),
        turn=max(turn, 0),
        has_pictures=record["has_pictures"],
        guessed=record["guessed"],
        nameless=record["nameless"],
        left_out=Counter(left_out),
    )


def _count_letters_by_turn(records: Sequence[RunRecord]) -> Counter[int]:
    counts: Counter[int] = Counter()
    for run in records:
        counts[run.turn] += len(run.text)
    return counts


def _is_right_to_left(runs: Sequence[TextRun], letters: int) -> bool:
    right_to_left = sum(len(RIGHT_TO_LEFT.findall(run.text)) for run in runs)
    return 2 * right_to_left > letters


def _decode_link(link: Sequence[Any], turn: int) -> LinkArea:
    """A link of a page record: four edges, and a URL or [page, x, y]."""
    *edges, target = link
    if isinstance(target, str):
        href = target
    else:
        href = "#" + ":".join(map(str, target))
    return LinkArea(*rotate_box(Box(*edges), turn), href)
