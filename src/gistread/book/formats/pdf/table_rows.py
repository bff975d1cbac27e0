"""Finds table rows with multi-line cells, by the order of their lines in the file."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, pairwise

from gistread.book.formats.pdf.segments import Segment

_LONGEST_CELL_CHARACTERS = 300  # Longer cells are columns of prose
_LEAST_CELLS = 4  # In both columns of a table
_LEAST_TALL_SHARE = 0.25  # Of these cells, with several lines
_MOST_LINE_EMS = 2  # Between baselines of one cell
_MOST_ROW_EMS = 20  # Height of a table row
_SAME_GAP_POINTS = 0.1
_LEAST_ALIGNED = 3  # Segments at a common left edge
# Least gap between cells: words of one line are closer.
_CELL_GAP_EMS, _ALIGNED_CELL_GAP_EMS = 0.6, 0.2
_RISE_EMS = 0.5  # A line that is this much higher than the one before begins a cell


@dataclass(slots=True)
class _Group:
    """Lines across the page that may be one table row."""

    rows: list[list[Segment]]
    latest: int  # Position in the file of the last segment

    @property
    def top(self) -> float:
        return self.rows[0][0].baseline

    @property
    def bottom(self) -> float:
        return self.rows[-1][0].baseline


def table_flows(rows: list[list[Segment]]) -> list[list[Segment]]:
    """Arrange rows in one flow with a segment per table row.

    Parallel cells of prose get flows of their own.
    """
    flows: list[list[Segment]] = [[]]
    for group in _table_rows(rows):
        cells = _cells(chain.from_iterable(group))
        if len(group) == 1:
            flows[-1] += group[0]
        elif _are_short(cells):
            flows[-1].append(_table_row(cells))
        else:
            flows += [*cells, []]
    return flows


def with_table_rows(rows: list[list[Segment]], gutter: float) -> list[Segment]:
    """The segments, with one for each table row.

    Text in two columns beside this gutter is no table.
    """
    segments: list[Segment] = []
    for group in _table_rows(rows):
        cells = _cells(chain.from_iterable(group))
        right = max(cell.right for cell in cells[0])
        left = min(cell.left for cell in cells[-1])
        are_columns = len(cells) == 2 and right < gutter < left
        if len(group) > 1 and _are_short(cells) and not are_columns:
            segments.append(_table_row(cells))
        else:
            segments += chain.from_iterable(group)
    return segments


def is_table(segments: Iterable[Segment], gutter: float) -> bool:
    """Whether the file alternates between the sides of the gutter, often after several lines."""
    sides = sorted(
        (segment.order, segment.left > gutter, round(segment.baseline))
        for segment in segments
    )
    cells = [
        {baseline for *_, baseline in cell}
        for _, cell in groupby(sides, key=lambda side: side[1])
    ]
    with_several_lines = sum(len(baselines) > 1 for baselines in cells)
    return len(cells) >= _LEAST_CELLS and with_several_lines >= _LEAST_TALL_SHARE * len(
        cells
    )


def _are_short(cells: list[list[Segment]]) -> bool:
    lengths = (
        sum(len(run.text) for segment in cell for run in segment.runs) for cell in cells
    )
    return max(lengths) <= _LONGEST_CELL_CHARACTERS


def _table_rows(rows: list[list[Segment]]) -> list[list[list[Segment]]]:
    """Group the rows of one table row: the file has all lines of a cell before the next cell."""
    edges = Counter(round(segment.left) for row in rows for segment in row)
    groups: list[_Group] = []
    for row in rows:
        first = _first_with_later_cells(row, groups, edges)
        if first == len(groups) and groups and _ends_last_cell(row, groups[-1].rows):
            first -= 1
        together = groups[first:]
        latest = max(segment.order for segment in row)
        groups[first:] = [
            _Group(
                rows=[*chain.from_iterable(group.rows for group in together), row],
                latest=max([latest, *(group.latest for group in together)]),
            )
        ]
    table_rows = [group.rows for group in groups]
    _join_first_cells(table_rows)
    return list(chain.from_iterable(map(_without_grid, table_rows)))


def _join_first_cells(table_rows: list[list[list[Segment]]]) -> None:
    """Join rows to those above them that begin their first cell, from the bottom up."""
    for index in range(len(table_rows) - 1, 0, -1):
        above, below = table_rows[index - 1 : index + 1]
        if _begins_first_cell(above, below):
            table_rows[index - 1 : index + 1] = [above + below]


def _first_with_later_cells(
    row: list[Segment], groups: Sequence[_Group], edges: Mapping[int, int]
) -> int:
    """The highest group near a row with a cell that the file has after it; else their number."""
    first = len(groups)
    baseline = top = row[0].baseline
    size = row[0].size
    order = min(segment.order for segment in row)
    for index in reversed(range(len(groups))):
        group = groups[index]
        is_far = group.bottom - baseline > _MOST_ROW_EMS * size
        if is_far or group.bottom - top > _MOST_LINE_EMS * size:
            break
        top = group.top
        if group.latest >= order:
            starts = [start for above in group.rows for start in _starts(above, edges)]
            if any(_precedes(left, right) for left in row for right in starts):
                first = index
    return first


def _without_grid(rows: list[list[Segment]]) -> list[list[list[Segment]]]:
    """The rows as one group, but singly if they are a grid of labels and fields."""
    if _is_grid(rows):
        return [[row] for row in rows]
    return [rows]


def _is_grid(rows: list[list[Segment]]) -> bool:
    """Whether these are rows of short cells, such as labels and fields, stored column by column."""
    continues = any(
        segment.runs[0].text[0].islower() for row in rows[1:] for segment in row
    )
    return len({len(row) for row in rows}) == 1 and not continues


def _ends_last_cell(row: list[Segment], above: list[list[Segment]]) -> bool:
    """Whether a row's only segment continues the last cell of the several rows above."""
    if len(row) > 1 or len(above) == 1:
        return False
    segment = row[0]
    last = max(chain.from_iterable(above), key=lambda part: part.order)
    is_next = segment.order == last.order + 1
    is_below = last.baseline - segment.baseline < _MOST_LINE_EMS * last.size
    is_aligned = abs(segment.left - last.left) < last.size
    is_in_last_column = segment.left > min(part.right for part in above[-1])
    return is_next and is_below and is_aligned and is_in_last_column


def _begins_first_cell(above: list[list[Segment]], rows: list[list[Segment]]) -> bool:
    """Whether the only segment above several rows begins their first cell."""
    if len(rows) == 1 or len(above) > 1 or len(above[0]) > 1:
        return False
    segments = sorted(chain.from_iterable(rows), key=lambda part: part.order)
    first, second, *_ = segments
    before = above[0][0]
    gap = before.baseline - first.baseline
    is_below = (
        gap < _MOST_LINE_EMS * first.size and abs(before.left - first.left) < first.size
    )
    if before.order != first.order - 1 or not is_below:
        return False
    is_beside = any(
        first.baseline + 1 < part.baseline < before.baseline for part in segments
    )
    return is_beside or abs(first.baseline - second.baseline - gap) < _SAME_GAP_POINTS


def _starts(row: list[Segment], edges: Mapping[int, int]) -> Iterator[Segment]:
    """The segments of a row that may begin a cell.

    `edges`: numbers of segments by their left edge.
    """
    yield row[0]
    for before, segment in pairwise(row):
        is_aligned = edges[round(segment.left)] >= _LEAST_ALIGNED
        least_gap_ems = _ALIGNED_CELL_GAP_EMS if is_aligned else _CELL_GAP_EMS
        if segment.left - before.right > least_gap_ems * segment.size:
            yield segment


def _precedes(left: Segment, right: Segment) -> bool:
    """Whether the file has `left` before `right`, which is higher and to the right."""
    return left.order < right.order and left.right - 1 <= right.left


def _table_row(cells: list[list[Segment]]) -> Segment:
    parts = list(chain.from_iterable(cells))
    top = max(parts, key=lambda part: part.baseline)
    return Segment(
        runs=[run for part in parts for run in part.runs],
        left=min(part.left for part in parts),
        right=max(part.right for part in parts),
        baseline=top.baseline,
        size=top.size,
        order=parts[0].order,
        cells=cells,
    )


def _cells(segments: Iterable[Segment]) -> list[list[Segment]]:
    """The segments by cell, in the order of the file."""
    cells: list[list[Segment]] = []
    left = right = 0.0
    for segment in sorted(segments, key=lambda part: part.order):
        if not cells or _begins_cell(segment, cells[-1][-1], left, right):
            cells.append([])
            left = segment.left
            right = segment.right
        cells[-1].append(segment)
        left = min(left, segment.left)
        right = max(right, segment.right)
    return cells


def _begins_cell(segment: Segment, before: Segment, left: float, right: float) -> bool:
    """Whether a segment is beside or above the last one of a cell with these edges."""
    if segment.left > right - 1 or segment.right < left + 1:
        return True
    return segment.baseline > before.baseline + _RISE_EMS * segment.size
