"""Finds table rows with multi-line cells, by the order of their lines in the file."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, pairwise

from gistread.book.formats.pdf.segments import Segment

_LONGEST_CELL_CHARACTERS = 300  # Longer cells are columns of prose
_LEAST_CELLS = 4  # In both columns of a table
_LEAST_TALL_SHARE = 0.25  # Share of these cells that have several lines
_MOST_LINE_EMS = 2  # Between baselines of one cell
_MOST_ROW_EMS = 20  # Height of a table row
_SAME_GAP_POINTS = 0.1
_LEAST_ALIGNED = 3  # Segments at a common left edge
# Least gap between cells, and between cells with a common left edge: words of one line are closer.
_CELL_GAP_EMS = 0.6
_ALIGNED_CELL_GAP_EMS = 0.2
_RISE_EMS = 0.5  # A line that is this much higher than the one before begins a cell


_Row = list[Segment]  # The segments on one baseline, from left to right
_Cell = list[Segment]  # The lines of a cell, in the order of the file


@dataclass(slots=True)
class _Group:
    """Lines across the page that may be one table row."""

    rows: list[_Row]
    last_order: int  # Position in the file of the segment that is last there

    @property
    def top(self) -> float:
        return self.rows[0][0].baseline

    @property
    def bottom(self) -> float:
        return self.rows[-1][0].baseline


def table_flows(rows: list[_Row]) -> list[list[Segment]]:
    """Arrange rows in one flow with a segment per table row.

    Parallel cells of prose get flows of their own.
    """
    flows: list[list[Segment]] = [[]]
    for table_row in _table_rows(rows):
        cells = _cells(chain.from_iterable(table_row))
        if len(table_row) == 1:
            flows[-1] += table_row[0]
        elif _are_short(cells):
            flows[-1].append(_joined(cells))
        else:
            flows += [*cells, []]
    return flows


def with_table_rows(rows: list[_Row], gutter: float) -> list[Segment]:
    """The segments, with one for each table row.

    Text in two columns beside this gutter is no table.
    """
    segments: list[Segment] = []
    for table_row in _table_rows(rows):
        cells = _cells(chain.from_iterable(table_row))
        right = max(segment.right for segment in cells[0])
        left = min(segment.left for segment in cells[-1])
        are_columns = len(cells) == 2 and right < gutter < left
        if len(table_row) > 1 and _are_short(cells) and not are_columns:
            segments.append(_joined(cells))
        else:
            segments += chain.from_iterable(table_row)
    return segments


def is_table(segments: Iterable[Segment], gutter: float) -> bool:
    """Whether the file alternates between the sides of the gutter, often after several lines."""
    in_order = sorted(segments, key=lambda segment: segment.order)
    sides = groupby(in_order, key=lambda segment: segment.left > gutter)
    line_counts: list[int] = []
    for _, cell in sides:
        baselines = {round(segment.baseline) for segment in cell}
        line_counts.append(len(baselines))
    tall_cells = sum(count > 1 for count in line_counts)
    are_often_tall = tall_cells >= _LEAST_TALL_SHARE * len(line_counts)
    return len(line_counts) >= _LEAST_CELLS and are_often_tall


def _are_short(cells: list[_Cell]) -> bool:
    """Whether no cell is as long as prose."""
    for cell in cells:
        runs = chain.from_iterable(segment.runs for segment in cell)
        if sum(len(run.text) for run in runs) > _LONGEST_CELL_CHARACTERS:
            return False
    return True


def _table_rows(rows: list[_Row]) -> list[list[_Row]]:
    """Group the rows of one table row: the file has all lines of a cell before the next cell."""
    edges = Counter(round(segment.left) for row in rows for segment in row)
    groups: list[_Group] = []
    for row in rows:
        first = _first_with_later_cells(row, groups, edges)
        begins_group = first == len(groups)
        if begins_group and groups and _ends_last_cell(row, groups[-1].rows):
            first -= 1
        # The groups from `first` on and this row become one.
        group = _Group([], max(segment.order for segment in row))
        for above in groups[first:]:
            group.rows += above.rows
            group.last_order = max(group.last_order, above.last_order)
        group.rows.append(row)
        groups[first:] = [group]
    table_rows = [group.rows for group in groups]
    _join_first_cells(table_rows)
    return list(chain.from_iterable(map(_without_grid, table_rows)))


def _join_first_cells(table_rows: list[list[_Row]]) -> None:
    """Join rows to those above them that begin their first cell, from the bottom up."""
    for index in range(len(table_rows) - 1, 0, -1):
        above = table_rows[index - 1]
        below = table_rows[index]
        if _begins_first_cell(above, below):
            table_rows[index - 1 : index + 1] = [above + below]


def _first_with_later_cells(
    row: _Row, groups: Sequence[_Group], edges: Mapping[int, int]
) -> int:
    """The index of the highest group near a row that has a cell later in the file than the row.

    The number of groups if there is none.
    """
    first = len(groups)
    baseline = row[0].baseline
    size = row[0].size
    order = min(segment.order for segment in row)
    top = baseline  # Of the groups looked at
    for index in reversed(range(len(groups))):
        group = groups[index]
        is_far = group.bottom - baseline > _MOST_ROW_EMS * size
        has_gap = group.bottom - top > _MOST_LINE_EMS * size
        if is_far or has_gap:
            break
        top = group.top
        if group.last_order >= order and _has_later_cell(group, row, edges):
            first = index
    return first


def _has_later_cell(group: _Group, row: _Row, edges: Mapping[int, int]) -> bool:
    """Whether a cell that begins in a group is to the right of the row, and later in the file."""
    for above in group.rows:
        for start in _starts(above, edges):
            if any(_precedes(segment, start) for segment in row):
                return True
    return False


def _without_grid(rows: list[_Row]) -> list[list[_Row]]:
    """The rows as one group, but singly if they are a grid of labels and fields."""
    if _is_grid(rows):
        return [[row] for row in rows]
    return [rows]


def _is_grid(rows: list[_Row]) -> bool:
    """Whether these are rows of short cells, such as labels and fields, stored column by column."""
    lengths = {len(row) for row in rows}
    if len(lengths) > 1:
        return False
    # A small letter continues the line above.
    lower_segments = chain.from_iterable(rows[1:])
    return not any(segment.runs[0].text[0].islower() for segment in lower_segments)


def _ends_last_cell(row: _Row, above: list[_Row]) -> bool:
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


def _begins_first_cell(above: list[_Row], rows: list[_Row]) -> bool:
    """Whether the only segment above several rows begins their first cell."""
    is_one_segment = len(above) == 1 and len(above[0]) == 1
    if not is_one_segment or len(rows) == 1:
        return False
    segments = sorted(chain.from_iterable(rows), key=lambda part: part.order)
    first, second, *_ = segments
    upper = above[0][0]
    gap = upper.baseline - first.baseline
    is_near = gap < _MOST_LINE_EMS * first.size
    is_aligned = abs(upper.left - first.left) < first.size
    is_previous = upper.order == first.order - 1
    if not (is_near and is_aligned and is_previous):
        return False
    other_cell_is_between = any(
        first.baseline + 1 < part.baseline < upper.baseline for part in segments
    )
    # The lines of a cell have equal gaps, unless a line of another cell stands between them.
    next_gap = first.baseline - second.baseline
    return other_cell_is_between or abs(next_gap - gap) < _SAME_GAP_POINTS


def _starts(row: _Row, edges: Mapping[int, int]) -> Iterator[Segment]:
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


def _joined(cells: list[_Cell]) -> Segment:
    """The cells of a table row as one segment."""
    parts = list(chain.from_iterable(cells))
    top = max(parts, key=lambda part: part.baseline)
    return Segment(
        runs=list(chain.from_iterable(part.runs for part in parts)),
        left=min(part.left for part in parts),
        right=max(part.right for part in parts),
        baseline=top.baseline,
        size=top.size,
        order=parts[0].order,
        cells=cells,
    )


def _cells(segments: Iterable[Segment]) -> list[_Cell]:
    """The segments by cell, in the order of the file."""
    cells: list[_Cell] = []
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
