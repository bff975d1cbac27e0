"""Finds a column's footnotes: small print at its foot, each starting with a number or sign."""

import re
from collections.abc import Sequence

from gistread.book.formats.pdf.lines import Column, Line, is_raised

_SMALL = 0.94
_SIGNS = "*†‡§¶∗"
_NUMBER = re.compile(r"(\d{1,3})(?=[.)\s]|[^\W\d_])")
_SIGN = re.compile(rf"[{_SIGNS}]{{1,3}}(?=\s?\S)")

Note = tuple[str, Sequence[Line]]
"""Label and lines; an empty label continues the page before."""


def notes_of(column: Column, body_size: float) -> tuple[list[Line], list[Note]]:
    """The lines of a column without its footnotes, and the footnotes."""
    lines = list(column.lines)
    start = len(lines)
    while start and lines[start - 1].size < _SMALL * body_size:
        start -= 1
    small = lines[start:]
    # A whole page of small print is no footnote; an unlabelled first line may continue the page before.
    labelled = [index for index, line in enumerate(small) if marker(line)]
    if not start or not labelled or len(small) > 0.8 * len(lines):
        return lines, []
    first = labelled[0]
    if first and small[0].size != small[first].size:
        start, small = start + first, small[first:]
        labelled = [index - first for index in labelled]
    cuts = sorted({0, *labelled})
    notes: list[Note] = [
        (marker(small[cut]), small[cut:end]) for cut, end in zip(cuts, [*cuts[1:], len(small)], strict=True)
    ]
    return lines[:start], notes


def marker(line: Line) -> str:
    """The number or sign at the start of a note, or empty."""
    first = line.runs[0]
    text = first.text.strip()
    if len(line.runs) > 1 and is_raised(line, first) and len(text) <= 3 and (text.isdigit() or not text.strip(_SIGNS)):
        return text
    found = _SIGN.match(line.text) or _NUMBER.match(line.text)
    return found[0] if found else ""
