"""Finds text that a page draws twice: for bold letters, for a shadow, or for a scan's text layer.

By place and words. Where a visible and an invisible layer differ, the visible one is read.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gistread.book.formats.pdf.pages import RunRecord
from gistread.book.normalise import letters

_SAME_ROW = 0.5  # Most distance of baselines, in sizes of the font
_SAME_PLACE = 0.3  # Most distance of edges, likewise: a shadow is nearer
_NEAR = 2.0  # Likewise for a part of a line, whose place is estimated from its letters
_VERY_NEAR = 1.0
_FEWEST_LETTERS = 4  # Of a part of a line that is nowhere else
# Share of an invisible text that visible text covers, if it is the same
_MOST_COVERED = 0.5


class _Place(NamedTuple):
    """The row of a run: in the order of turns and baselines."""

    turn: int
    baseline: float
    number: int
    size: float


@dataclass(frozen=True, slots=True)
class _DrawnRun:
    number: int
    text: str
    left: float
    right: float
    baseline: float
    size: float
    is_visible: bool


def drawn_once(
    records: Sequence[RunRecord],
    starts: Sequence[int],
    is_visible: Callable[[int], bool],
) -> Sequence[RunRecord]:
    """The runs of a page without those that repeat others at the same place, in their order.

    `starts`: the first character of each run. `is_visible`: whether a character is drawn.
    """
    doubles: set[int] = set()
    for row in _overlapping_rows(records):
        runs = [
            _drawn_run(number, records[number], is_visible(starts[number]))
            for number in row
        ]
        doubles.update(run.number for run in _doubles(runs))
    if not doubles:
        return records
    return [record for number, record in enumerate(records) if number not in doubles]


def _overlapping_rows(records: Sequence[RunRecord]) -> Iterator[list[int]]:
    """The numbers of the runs on nearly one baseline, where two overlap."""
    for row in _rows(records):
        if len(row) > 1 and _overlap_somewhere([records[number] for number in row]):
            yield row


def _rows(records: Sequence[RunRecord]) -> Iterator[list[int]]:
    places = sorted(
        _Place(record.turn, record.baseline, number, record.size)
        for number, record in enumerate(records)
    )
    row: list[int] = []
    for before, place in zip([None, *places], places, strict=False):
        if before and not _is_on_row(before, place):
            yield row
            row = []
        row.append(place.number)
    yield row


def _is_on_row(before: _Place, place: _Place) -> bool:
    most = _SAME_ROW * min(before.size, place.size)
    return place.turn == before.turn and place.baseline - before.baseline <= most


def _overlap_somewhere(row: Sequence[RunRecord]) -> bool:
    reached = float("-inf")
    for run in sorted(row, key=lambda run: (run.left, run.right, run.size)):
        if run.left < reached - _SAME_PLACE * run.size:
            return True
        reached = max(reached, run.right)
    return False


def _drawn_run(number: int, run: RunRecord, is_visible: bool) -> _DrawnRun:
    return _DrawnRun(
        number=number,
        text=run.text,
        left=run.left,
        right=run.right,
        baseline=run.baseline,
        size=run.size,
        is_visible=is_visible,
    )


def _doubles(row: Sequence[_DrawnRun]) -> Iterator[_DrawnRun]:
    visible = [run for run in row if run.is_visible]
    hidden = [run for run in row if not run.is_visible]
    yield from _repeated(visible)
    yield from _repeated(hidden)
    yield from (run for run in hidden if _covered(run, visible) >= _MOST_COVERED)


def _repeated(runs: Sequence[_DrawnRun]) -> Iterator[_DrawnRun]:
    # The longest first: a line may be drawn a second time word by word.
    kept: list[_DrawnRun] = []
    for run in sorted(runs, key=lambda each: each.left - each.right):
        if any(_repeats(run, other) for other in kept):
            yield run
        else:
            kept.append(run)


def _repeats(run: _DrawnRun, other: _DrawnRun) -> bool:
    """Whether `other`, which is as long or longer, has the words of `run` at its place."""
    slack = _SAME_PLACE * run.size
    if run.left < other.left - slack or run.right > other.right + slack:
        return False
    text, words = (letters(each.text) for each in (run, other))
    if not text:
        return _is_at(run, other, slack) and run.text.strip() == other.text.strip()
    near = _NEAR
    if len(text) < _FEWEST_LETTERS:
        # A symbol or a reference in a gap of the line may be one of its letters.
        if abs(run.baseline - other.baseline) > slack or run.size != other.size:
            return False
        near = _VERY_NEAR
    width = (other.right - other.left) / len(words) if words else 0.0
    at = words.find(text)
    while at >= 0:
        if abs(other.left + at * width - run.left) <= near * run.size:
            return True
        at = words.find(text, at + 1)
    return False


def _is_at(run: _DrawnRun, other: _DrawnRun, slack: float) -> bool:
    return abs(run.left - other.left) <= slack and abs(run.right - other.right) <= slack


def _covered(run: _DrawnRun, others: Sequence[_DrawnRun]) -> float:
    """The share of a run's width that the others cover."""
    width = run.right - run.left
    if width <= 0:
        return 0.0
    overlaps = (
        min(run.right, each.right) - max(run.left, each.left) for each in others
    )
    return sum(max(0.0, overlap) for overlap in overlaps) / width
