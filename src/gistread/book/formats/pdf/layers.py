"""Finds text that a page draws twice: for bold letters, for a shadow, or for a scan's text layer.

By place and words. Where a visible and an invisible layer differ, the visible one is read.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from gistread.book.normalise import letters

RunRecord = tuple[str, float, float, float, float, int, int]
"""Text, left, right, baseline, size, number of the font, and turn."""

_Place = tuple[int, float, int, float]
"""Turn, baseline, number and size of a run."""

_SAME_ROW = 0.5  # Most distance of baselines, in sizes of the font
_SAME_PLACE = 0.3  # Most distance of edges, likewise: a shadow is nearer
_NEAR = 2.0  # Likewise for a part of a line, whose place is estimated from its letters
_VERY_NEAR = 1.0
_FEWEST_LETTERS = 4  # Of a part of a line that is nowhere else
_MOST_COVERED = 0.5  # Share of an invisible text that visible text covers, if it is the same


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
    records: Sequence[RunRecord], starts: Sequence[int], is_visible: Callable[[int], bool]
) -> Sequence[RunRecord]:
    """The runs of a page without those that repeat others at the same place, in their order.

    `starts`: the first character of each run. `is_visible`: whether a character is drawn.
    """
    doubles: set[int] = set()
    for row in _overlapping_rows(records):
        runs = [
            _DrawnRun(number, *records[number][:5], is_visible(starts[number])) for number in row
        ]
        doubles.update(run.number for run in _doubles(runs))
    if not doubles:
        return records
    return [record for number, record in enumerate(records) if number not in doubles]


def _overlapping_rows(records: Sequence[RunRecord]) -> Iterator[list[int]]:
    """The numbers of the runs on nearly one baseline, where two overlap."""
    row: list[int] = []
    last = (0, 0.0, 0, 0.0)
    places = sorted(
        (turn, baseline, number, size)
        for number, (_, _, _, baseline, size, _, turn) in enumerate(records)
    )
    for place in places:
        if row and not _is_on_row(last, place):
            if len(row) > 1 and _overlap_somewhere(row, records):
                yield row
            row = []
        row.append(place[2])
        last = place
    if len(row) > 1 and _overlap_somewhere(row, records):
        yield row


def _is_on_row(last: _Place, place: _Place) -> bool:
    least = min(last[3], place[3])
    return place[0] == last[0] and place[1] - last[1] <= _SAME_ROW * least


def _overlap_somewhere(row: Sequence[int], records: Sequence[RunRecord]) -> bool:
    reached = float("-inf")
    for left, right, size in sorted((records[n][1], records[n][2], records[n][4]) for n in row):
        if left < reached - _SAME_PLACE * size:
            return True
        reached = max(reached, right)
    return False


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
    overlaps = (min(run.right, each.right) - max(run.left, each.left) for each in others)
    return sum(max(0.0, overlap) for overlap in overlaps) / width
