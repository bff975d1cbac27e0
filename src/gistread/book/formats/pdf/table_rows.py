"""Finds table rows with multi-line cells, by the order of their lines in the file."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, groupby, pairwise

from gistread.book.formats.pdf.pages import TextRun

_LONGEST_CELL_CHARACTERS = 300  # Longer cells are columns of prose


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
        return shared > 0.5 * min(self.right - self.left, other.right - other.left) + 0.1


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
    found: list[Segment] = []
    for group in _table_rows(rows):
        cells = _cells(chain.from_iterable(group))
        right, left = max(cell.right for cell in cells[0]), min(cell.left for cell in cells[-1])
        are_columns = len(cells) == 2 and right < gutter < left
        is_row = len(group) > 1 and _are_short(cells) and not are_columns
        found += [_table_row(cells)] if is_row else chain.from_iterable(group)
    return found


def is_table(segments: Iterable[Segment], gutter: float) -> bool:
    """Whether the file alternates between the sides of the gutter, often after several lines."""
    sides = sorted(
        (segment.order, segment.left > gutter, round(segment.baseline)) for segment in segments
    )
    cells = [
        {baseline for *_, baseline in cell} for _, cell in groupby(sides, key=lambda side: side[1])
    ]
    return len(cells) > 3 and 4 * sum(len(cell) > 1 for cell in cells) >= len(cells)


def _are_short(cells: list[list[Segment]]) -> bool:
    lengths = (sum(len(run.text) for segment in cell for run in segment.runs) for cell in cells)
    return max(lengths) <= _LONGEST_CELL_CHARACTERS


def _table_rows(rows: list[list[Segment]]) -> list[list[list[Segment]]]:
    """Group the rows of one table row: the file has all lines of a cell before the next cell."""
    edges = Counter(round(segment.left) for row in rows for segment in row)
    groups: list[list[list[Segment]]] = []
    latest: list[int] = []  # File position of each group's last segment
    for row in rows:
        first, top, size = len(groups), row[0].baseline, row[0].size
        order = min(segment.order for segment in row)
        for index, group in reversed([*enumerate(groups)]):
            bottom = group[-1][0].baseline
            if bottom - top > 2 * size or bottom - row[0].baseline > 20 * size:
                break
            top = group[0][0].baseline
            if latest[index] < order:
                continue
            starts = [start for above in group for start in _starts(above, edges)]
            if any(_precedes(left, right) for left in row for right in starts):
                first = index
        if (
            groups
            and first == len(groups)
            and len(groups[-1]) > 1
            and _ends_last_cell(row, groups[-1])
        ):
            first -= 1
        groups[first:] = [[*chain.from_iterable(groups[first:]), row]]
        latest[first:] = [max(*latest[first:], *(segment.order for segment in row), 0)]
    for index in range(len(groups) - 1, 0, -1):
        if len(groups[index]) > 1 and _begins_first_cell(groups[index - 1], groups[index]):
            groups[index - 1 : index + 1] = [groups[index - 1] + groups[index]]
    return [
        part
        for group in groups
        for part in ([[row] for row in group] if _is_grid(group) else [group])
    ]


def _is_grid(rows: list[list[Segment]]) -> bool:
    """Whether these are rows of short cells, such as labels and fields, stored column by column."""
    continues = any(segment.runs[0].text[0].islower() for row in rows[1:] for segment in row)
    return len({len(row) for row in rows}) == 1 and not continues


def _ends_last_cell(row: list[Segment], above: list[list[Segment]]) -> bool:
    """Whether a row's only segment continues the last cell of the rows above."""
    last = max(chain.from_iterable(above), key=lambda one: one.order)
    is_next = (
        len(row) == 1
        and row[0].order == last.order + 1
        and last.baseline - row[0].baseline < 2 * last.size
    )
    return (
        is_next
        and abs(row[0].left - last.left) < last.size
        and row[0].left > min(one.right for one in above[-1])
    )


def _begins_first_cell(above: list[list[Segment]], rows: list[list[Segment]]) -> bool:
    """Whether the only segment above these rows begins their first cell."""
    first, second, *_ = segments = sorted(chain.from_iterable(rows), key=lambda one: one.order)
    before = above[0][0]
    gap = before.baseline - first.baseline
    is_beside = any(first.baseline + 1 < segment.baseline < before.baseline for segment in segments)
    is_next = len(above) == len(above[0]) == 1 and before.order == first.order - 1
    is_below = gap < 2 * first.size and abs(before.left - first.left) < first.size
    return is_next and is_below and (is_beside or abs(first.baseline - second.baseline - gap) < 0.1)


def _starts(row: list[Segment], edges: Mapping[int, int]) -> Iterator[Segment]:
    """The segments of a row that may begin a cell.

    `edges`: numbers of segments by their left edge.
    """
    yield row[0]
    for before, segment in pairwise(row):
        is_aligned = edges[round(segment.left)] >= 3  # Words of one line are closer than cells
        if segment.left - before.right > (0.2 if is_aligned else 0.6) * segment.size:
            yield segment


def _precedes(left: Segment, right: Segment) -> bool:
    """Whether the file has `left` before `right`, which is higher and to the right."""
    return left.order < right.order and left.right - 1 <= right.left


def _table_row(cells: list[list[Segment]]) -> Segment:
    parts = list(chain.from_iterable(cells))
    top = max(parts, key=lambda part: part.baseline)
    left, right = min(part.left for part in parts), max(part.right for part in parts)
    runs = [run for part in parts for run in part.runs]
    return Segment(runs, left, right, top.baseline, top.size, parts[0].order, cells)


def _cells(segments: Iterable[Segment]) -> list[list[Segment]]:
    cells: list[list[Segment]] = []
    left = right = 0.0
    for segment in sorted(segments, key=lambda one: one.order):
        is_beside = segment.left > right - 1 or segment.right < left + 1
        if not cells or is_beside or segment.baseline > cells[-1][-1].baseline + 0.5 * segment.size:
            cells.append([])
            left, right = segment.left, segment.right
        cells[-1].append(segment)
        left, right = min(left, segment.left), max(right, segment.right)
    return cells
