"""Joins text runs into segments, parts of a line without a wide gap, and segments into rows."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from gistread.book.formats.pdf.pages import EAST_ASIAN, TextRun

MOST_SEGMENTS = 4_000  # Of a page, to be compared with each other
SCRIPT_RATIO = 0.92  # Browsers set exponents in up to 0.89 of the size
READING_RATIO = 0.65  # Largest size of readings (ruby), relative to their words

# Between the parts of a segment; the gap between columns is wider.
_MOST_OVERLAP_EMS = 0.3
_MOST_GAP_EMS = 1.05
_SAME_BASELINE_EMS = 0.35  # Most distance of the baselines of a line
# Most distance of an index and of an exponent from the baseline.
_MOST_LOWERED_EMS = 0.5
_MOST_RAISED_EMS = 0.6
_SMALLEST_SCRIPT = 2  # The large letters are at most this many times as large
_ROW_POINTS = 3  # Height of a band of baselines
_NEAR_ROWS = 3  # Rows above that a segment may belong to
# Height of readings above their words.
_LEAST_READING_EMS = 0.6
_MOST_READING_EMS = 1.4
_INITIAL_RATIO = 1.8  # Least size of a drop cap, relative to the lines beside it
_MOST_INITIAL_LETTERS = 2  # A quotation mark may be one
_MOST_INITIAL_GAP_EMS = 2  # To the lines beside it
_SHARED_WIDTH = 0.5  # Share of the narrower segment, if two overlap
_ROUNDING_POINTS = 0.1


@dataclass(slots=True)
class Segment:
    """Runs on one baseline, or the cells of a table row."""

    runs: list[TextRun] = field(default_factory=list)
    left: float = 0.0
    right: float = 0.0
    baseline: float = 0.0
    size: float = 0.0
    order: int = 0  # Position in the file
    cells: list[list["Segment"]] = field(default_factory=list)  # If it is a table row

    def overlaps(self, other: "Segment") -> bool:
        shared = min(self.right, other.right) - max(self.left, other.left)
        width = min(self.right - self.left, other.right - other.left)
        return shared > _SHARED_WIDTH * width + _ROUNDING_POINTS


def join_runs(runs: Sequence[TextRun]) -> list[Segment]:
    """The segments of a page, in the order of the file."""
    segments: list[Segment] = []
    for run in _with_readings(runs):
        if not run.text.strip():
            continue
        last = segments[-1] if segments else None
        if last and _continues(last, run):
            last.runs.append(run)
            last.right = max(last.right, run.right)
            if run.size > last.size:
                last.size = run.size
                last.baseline = run.baseline
        else:
            order = len(segments)
            segment = Segment([run], run.left, run.right, run.baseline, run.size, order)
            segments.append(segment)
    return segments


def _continues(segment: Segment, run: TextRun) -> bool:
    """Whether a run is beside the last one of a segment and on its line."""
    size = max(segment.size, run.size)
    gap = run.left - segment.right
    is_beside = -_MOST_OVERLAP_EMS * size <= gap <= _MOST_GAP_EMS * size
    return is_beside and are_on_one_row(segment, run)


def are_on_one_row(part: Segment | TextRun, other: Segment | TextRun) -> bool:
    """Whether two parts share a line: on one baseline, or the smaller one raised or lowered."""
    small, large = (part, other) if part.size <= other.size else (other, part)
    if abs(part.baseline - other.baseline) <= _SAME_BASELINE_EMS * small.size:
        return True
    if small.size > SCRIPT_RATIO * large.size:
        return False
    raised = small.baseline - large.baseline
    is_near = -_MOST_LOWERED_EMS * large.size < raised < _MOST_RAISED_EMS * large.size
    return is_near and large.size < _SMALLEST_SCRIPT * small.size + 1


def _with_readings(runs: Sequence[TextRun]) -> Sequence[TextRun]:
    """Insert small readings (ruby), in brackets, after the East Asian characters below them."""
    bases = [run for run in runs if EAST_ASIAN.search(run.text)]
    if not bases:
        return runs
    # By the id of a base: the place in its text of each reading.
    readings: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
    other_runs: list[TextRun] = []
    for run in runs:
        base = _base_of(run, bases)
        if base is None:
            other_runs.append(run)
        else:
            letters = "".join(run.text.split())
            place = _letters_up_to(run.right, base)
            readings[id(base)].append((place, f"（{letters}）"))
    return [_insert(readings.get(id(run), []), run) for run in other_runs]


def _base_of(run: TextRun, bases: Sequence[TextRun]) -> TextRun | None:
    """The first base whose reading a run is; None if it is no reading."""
    for base in bases:
        if _is_reading_of(run, base):
            return base
    return None


def _is_reading_of(run: TextRun, base: TextRun) -> bool:
    """Whether a run is small and above the middle of a base."""
    if run.size >= READING_RATIO * base.size:
        return False
    above = (run.baseline - base.baseline) / base.size
    middle = (_share_of_width(run.left, base) + _share_of_width(run.right, base)) / 2
    return _LEAST_READING_EMS < above < _MOST_READING_EMS and 0 < middle < 1


def _share_of_width(x: float, base: TextRun) -> float:
    """How far along a base a position is, from 0 to 1."""
    return (x - base.left) / (base.right - base.left or 1)


def _letters_up_to(x: float, base: TextRun) -> int:
    """The number of letters of a base before a position, by their average width."""
    letters = len(base.text.rstrip())
    letters_before = round(_share_of_width(x, base) * letters)
    return max(1, min(letters, letters_before))


def _insert(readings: list[tuple[int, str]], run: TextRun) -> TextRun:
    """The run with readings at places in its text."""
    if not readings:
        return run
    text = run.text
    for place, reading in sorted(readings, reverse=True):
        text = text[:place] + reading + text[place:]
    return replace(run, text=text)


def split_into_rows(segments: Sequence[Segment]) -> list[list[Segment]]:
    """The segments of each row from left to right, rows from the top down."""
    ordered = sorted(segments, key=lambda segment: (-_band(segment), segment.left))
    if len(segments) > MOST_SEGMENTS:
        # Too many to compare each with the rows around it.
        return [list(row) for _, row in groupby(ordered, key=_band)]
    rows: list[list[Segment]] = []
    # A raised number joins its line; the line does not join the number.
    for segment in ordered:
        row = _row_of(segment, rows[-_NEAR_ROWS:])
        if row is None:
            rows.append([segment])
        else:
            row.append(segment)
    for row in rows:
        row.sort(key=lambda part: part.left)
    rows = _with_drop_caps(rows)
    rows.sort(key=lambda row: -_largest(row).baseline)
    return rows


def _band(segment: Segment) -> int:
    return round(segment.baseline / _ROW_POINTS)


def _row_of(segment: Segment, rows: list[list[Segment]]) -> list[Segment] | None:
    """The lowest row that has a place for a segment."""
    for row in reversed(rows):
        is_on_row = are_on_one_row(_largest(row), segment)
        if is_on_row and not any(segment.overlaps(other) for other in row):
            return row
    return None


def _largest(row: list[Segment]) -> Segment:
    return max(row, key=lambda segment: segment.size)


def _with_drop_caps(rows: list[list[Segment]]) -> list[list[Segment]]:
    """Put large initials before the first of the lines beside them."""
    rows_without_initials: list[list[Segment]] = []
    for row in rows:
        rows_beside = _rows_beside(row, rows) if _may_start_with_initial(row) else []
        if not rows_beside:
            rows_without_initials.append(row)
            continue
        initial, *same_line = row
        lines = [*rows_beside, same_line] if same_line else rows_beside
        highest = max(lines, key=lambda line: line[0].baseline)
        first_segment = highest[0]
        _prepend(initial.runs[-1].text.rstrip(), first_segment)
        # As far left as the other lines, not as far as the initial.
        first_segment.left = min(line[0].left for line in (*rows_beside, highest))
        if same_line:
            rows_without_initials.append(same_line)
    return rows_without_initials


def _may_start_with_initial(row: list[Segment]) -> bool:
    """Whether a row is one or two letters, perhaps with the rest of a line."""
    text = "".join(run.text for run in row[0].runs).strip()
    return len(text) <= _MOST_INITIAL_LETTERS and text.isalpha() and len(row) <= 2


def _rows_beside(row: list[Segment], rows: list[list[Segment]]) -> list[list[Segment]]:
    """The rows of smaller letters that start to the right of a row's initial."""
    initial = row[0]
    return [
        other for other in rows if other is not row and _is_beside(other[0], initial)
    ]


def _is_beside(segment: Segment, initial: Segment) -> bool:
    """Whether a segment is right of a much larger initial and not above or below it."""
    if initial.size < _INITIAL_RATIO * segment.size:
        return False
    most_left = initial.right + _MOST_INITIAL_GAP_EMS * segment.size
    top = initial.baseline + initial.size
    is_as_high = initial.baseline - 1 <= segment.baseline < top
    return is_as_high and initial.left <= segment.left < most_left


def _prepend(text: str, segment: Segment) -> None:
    """Put text before a segment, as a run of one point in its size and font."""
    first = TextRun(
        text=text,
        left=segment.left - 1,
        right=segment.left,
        baseline=segment.baseline,
        size=segment.size,
        font=segment.runs[0].font,
    )
    segment.runs.insert(0, first)
