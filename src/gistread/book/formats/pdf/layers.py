"""Finds text that a page draws twice: for bold letters, for a shadow, or for a scan's text layer.

Such texts have the same place and words. Where a visible and an invisible layer differ, the
visible one is read.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gistread.book.formats.pdf.pages import RunRecord
from gistread.book.normalise import letters

# Distances are in sizes of the font.
_SAME_ROW = 0.5  # Most distance of baselines
_SAME_PLACE = 0.3  # Most distance of edges: a shadow is nearer
# Most distance of a part of a line, whose place is estimated from its letters; and of a short one.
_NEAR = 2.0
_VERY_NEAR = 1.0
_FEWEST_LETTERS = 4  # A shorter part may occur in the line by chance
# Share of an invisible text that visible text covers, if it is the same
_LEAST_COVERED = 0.5


class _Place(NamedTuple):
    """The place of a run, in the order of turns and baselines."""

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
    repeated: set[int] = set()
    # Elsewhere nothing is drawn twice, and asking whether text is visible is slow.
    for row in _overlapping_rows(records):
        runs = [
            _drawn_run(number, records[number], is_visible(starts[number]))
            for number in row
        ]
        repeated.update(run.number for run in _repeated_in_row(runs))
    if not repeated:
        return records
    return [record for number, record in enumerate(records) if number not in repeated]


def _overlapping_rows(records: Sequence[RunRecord]) -> Iterator[list[int]]:
    """The numbers of the runs on nearly one baseline, where two overlap."""
    for row in _rows(records):
        if len(row) > 1 and _overlap_somewhere([records[number] for number in row]):
            yield row


def _rows(records: Sequence[RunRecord]) -> Iterator[list[int]]:
    """The numbers of the runs on nearly one baseline."""
    places = sorted(
        _Place(record.turn, record.baseline, number, record.size)
        for number, record in enumerate(records)
    )
    row: list[int] = []
    previous: _Place | None = None
    for place in places:
        if previous and not _are_on_row(previous, place):
            yield row
            row = []
        row.append(place.number)
        previous = place
    yield row


def _are_on_row(lower: _Place, higher: _Place) -> bool:
    most_distance = _SAME_ROW * min(lower.size, higher.size)
    distance = higher.baseline - lower.baseline
    return higher.turn == lower.turn and distance <= most_distance


def _overlap_somewhere(row: Sequence[RunRecord]) -> bool:
    farthest_right = float("-inf")
    for run in sorted(row, key=lambda run: (run.left, run.right, run.size)):
        if run.left < farthest_right - _SAME_PLACE * run.size:
            return True
        farthest_right = max(farthest_right, run.right)
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


def _repeated_in_row(row: Sequence[_DrawnRun]) -> Iterator[_DrawnRun]:
    """The runs of a row that repeat others, also invisible ones that visible ones cover."""
    visible = [run for run in row if run.is_visible]
    invisible = [run for run in row if not run.is_visible]
    yield from _repeated(visible)
    yield from _repeated(invisible)
    for run in invisible:
        if _covered_share(run, visible) >= _LEAST_COVERED:
            yield run


def _repeated(runs: Sequence[_DrawnRun]) -> Iterator[_DrawnRun]:
    """The runs that repeat others."""
    # The longest first: a line may be drawn a second time word by word.
    longest_first = sorted(runs, key=lambda run: run.left - run.right)
    distinct: list[_DrawnRun] = []
    for run in longest_first:
        if any(_repeats(run, other) for other in distinct):
            yield run
        else:
            distinct.append(run)


def _repeats(run: _DrawnRun, other: _DrawnRun) -> bool:
    """Whether `other`, which is as long or longer, has the words of `run` at its place."""
    tolerance = _SAME_PLACE * run.size
    if run.left < other.left - tolerance or run.right > other.right + tolerance:
        return False
    run_letters = letters(run.text)
    other_letters = letters(other.text)
    if not run_letters:
        has_same_signs = run.text.strip() == other.text.strip()
        return has_same_signs and _has_edges_of(run, other, tolerance)
    most_distance = _NEAR * run.size
    if len(run_letters) < _FEWEST_LETTERS:
        # A symbol or a reference in a gap of the line may be one of its letters.
        if abs(run.baseline - other.baseline) > tolerance or run.size != other.size:
            return False
        most_distance = _VERY_NEAR * run.size
    letter_width = (other.right - other.left) / max(1, len(other_letters))
    # The words may occur in the line several times.
    index = other_letters.find(run_letters)
    while index >= 0:
        estimated_left = other.left + index * letter_width
        if abs(estimated_left - run.left) <= most_distance:
            return True
        index = other_letters.find(run_letters, index + 1)
    return False


def _has_edges_of(run: _DrawnRun, other: _DrawnRun, tolerance: float) -> bool:
    is_left_same = abs(run.left - other.left) <= tolerance
    is_right_same = abs(run.right - other.right) <= tolerance
    return is_left_same and is_right_same


def _covered_share(run: _DrawnRun, others: Sequence[_DrawnRun]) -> float:
    """The share of a run's width that the others cover."""
    width = run.right - run.left
    if width <= 0:
        return 0.0
    covered = 0.0
    for other in others:
        overlap = min(run.right, other.right) - max(run.left, other.left)
        covered += max(0.0, overlap)
    return covered / width
