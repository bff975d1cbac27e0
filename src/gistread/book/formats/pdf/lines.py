"""Arranges a page's text runs into columns and lines in reading order, by position."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, pairwise

from gistread.book.formats.pdf.gutters import find_gutter, inner_edges
from gistread.book.formats.pdf.pages import PdfPage, TextRun
from gistread.book.formats.pdf.segments import (
    MOST_SEGMENTS,
    SCRIPT_RATIO,
    Segment,
    are_on_one_row,
    join_runs,
    split_into_rows,
)
from gistread.book.formats.pdf.table_rows import is_table, table_flows, with_table_rows

_MOST_DEPTH = 2  # Columns inside columns
_SPACE_EMS = 0.12  # Least gap between words
_CELL_GAP_EMS = 1.8  # Least gap between cells
_LEAST_RAISED_EMS = 0.15
_LEAST_LOWERED_EMS = 0.08
_EDGE_OUTLIERS = 10  # One line in this many may stick out of a column


@dataclass(frozen=True, slots=True)
class TextLine:
    """Text on one baseline of one column, from left to right."""

    page: int
    runs: tuple[TextRun, ...]
    left: float
    right: float
    baseline: float
    size: float  # Font size of most of its letters
    text: str
    cells: tuple[int, ...] = ()  # Indices of the runs after a gap too wide for a space
    # The lines of each cell, if it is a table row with multi-line cells.
    stacks: tuple[tuple["TextLine", ...], ...] = ()

    @property
    def parts(self) -> tuple["TextLine", ...]:
        """The lines it consists of, usually only itself."""
        return tuple(chain.from_iterable(self.stacks)) or (self,)

    @property
    def bottom(self) -> float:
        """The lowest baseline."""
        return min(part.baseline for part in self.parts)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a page, or a part of it across all columns."""

    lines: tuple[TextLine, ...]
    left: float
    right: float


@dataclass(frozen=True, slots=True)
class PageScan:
    """A page as it is before its columns are known."""

    rows: list[TextLine]  # Across the whole page, from the top down
    gutter: float | None  # The x between two columns


def scan_page(page: PdfPage) -> PageScan:
    """The rows of a page across its columns, and the gutter unless it parts a table."""
    segments = join_runs(page.runs)
    gutter = find_gutter(segments)
    if gutter is not None and is_table(segments, gutter):
        gutter = None
    return PageScan(_lines(page.number, segments), gutter)


def columns(
    page: PdfPage, gutter: float | None, furniture: Iterable[TextLine]
) -> list[Column]:
    """The page's columns in reading order, without the rows that are furniture.

    `gutter`: the usual place between columns; None to find that of this page.
    """
    furniture_ids = {id(run) for line in furniture for run in line.runs}
    runs = [run for run in page.runs if id(run) not in furniture_ids]
    flows = _flows(join_runs(runs), gutter, depth=0)
    return [_column(page.number, flow) for flow in flows if flow]


def _column(page: int, segments: list[Segment]) -> Column:
    lines = _lines(page, segments)
    left, right = inner_edges(lines, _EDGE_OUTLIERS)
    return Column(tuple(lines), left, right)


def _flows(
    segments: list[Segment], usual_gutter: float | None, depth: int
) -> list[list[Segment]]:
    """Parts of the page, one below or beside the other, in the order of reading.

    `usual_gutter`: that of other pages; None to find this page's own.
    """
    if len(segments) > MOST_SEGMENTS:
        return [segments]
    gutter = None
    if depth < _MOST_DEPTH:
        gutter = find_gutter(segments, usual_gutter)
    if gutter is None:
        return table_flows(split_into_rows(segments))
    if is_table(segments, gutter):
        if usual_gutter is None:
            return table_flows(split_into_rows(segments))
        # Other pages have these columns: the table is only a part of this one.
        segments = with_table_rows(split_into_rows(segments), gutter)
    flows: list[list[Segment]] = []
    for band in _bands(segments, gutter):
        if band.spans_gutter:
            flows.append(band.segments)
            continue
        left = [segment for segment in band.segments if segment.right <= gutter + 1]
        right = [segment for segment in band.segments if segment.right > gutter + 1]
        for side in (left, right):
            if side:
                flows += _flows(side, usual_gutter=None, depth=depth + 1)
    return flows


@dataclass(slots=True)
class _Band:
    """Neighbouring segments that all span the gutter, or none of which does."""

    spans_gutter: bool
    segments: list[Segment] = field(default_factory=list)


def _bands(segments: list[Segment], gutter: float) -> list[_Band]:
    """The bands of a page from the top down."""
    bands: list[_Band] = []
    from_top = sorted(segments, key=lambda segment: -segment.baseline)
    for segment in from_top:
        is_left = segment.right <= gutter + 1
        is_right = segment.left >= gutter - 1
        spans_gutter = not is_left and not is_right
        last = bands[-1] if bands else None
        if last and last.spans_gutter and is_right and not is_left:
            # It may be the end of a line that spans the gutter.
            spans_gutter = are_on_one_row(last.segments[-1], segment)
        if last is None or last.spans_gutter != spans_gutter:
            last = _Band(spans_gutter)
            bands.append(last)
        last.segments.append(segment)
    return bands


def _lines(page: int, segments: Sequence[Segment]) -> list[TextLine]:
    return [_line(page, row) for row in split_into_rows(segments)]


def _line(page: int, segments: list[Segment]) -> TextLine:
    """The line of the segments of a row."""
    if any(segment.cells for segment in segments):
        return _table_line(_cells_of(page, segments))
    all_runs = chain.from_iterable(segment.runs for segment in segments)
    runs = sorted(all_runs, key=lambda run: run.left)
    size = _usual_size(runs)
    gaps = _gaps(runs)
    cells = [index for index, gap in enumerate(gaps, 1) if gap > _CELL_GAP_EMS * size]
    return TextLine(
        page=page,
        runs=tuple(runs),
        left=runs[0].left,
        right=max(runs[0].left, *(run.right for run in runs)),
        baseline=next(run.baseline for run in runs if run.size == size),
        size=size,
        text=_spaced(runs, gaps, size, _ids_of_continuations(segments)),
        cells=tuple(cells),
    )


def _cells_of(page: int, segments: list[Segment]) -> list[list[TextLine]]:
    """The lines of each cell of a table row; a segment without cells is a cell itself."""
    cells: list[list[TextLine]] = []
    for segment in segments:
        segments_by_cell = segment.cells or [[segment]]
        cells += [_lines(page, cell) for cell in segments_by_cell]
    return cells


def _usual_size(runs: Sequence[TextRun]) -> float:
    characters_of: Counter[float] = Counter()
    for run in runs:
        characters_of[run.size] += len(run.text)
    return max(characters_of, key=characters_of.__getitem__)


def _gaps(runs: Sequence[TextRun]) -> list[float]:
    """The gap before each run but the first."""
    gaps: list[float] = []
    right = runs[0].left
    for run, following in pairwise(runs):
        right = max(right, run.right)
        gaps.append(following.left - right)
    return gaps


def _ids_of_continuations(segments: Sequence[Segment]) -> set[int]:
    """Ids of the runs that follow, in the file, a run to their left."""
    ids: set[int] = set()
    for segment in segments:
        for before, run in pairwise(segment.runs):
            if before.left <= run.left:
                ids.add(id(run))
    return ids


def _spaced(
    runs: Sequence[TextRun], gaps: Sequence[float], size: float, continuations: set[int]
) -> str:
    """The text of runs, with spaces where there are gaps.

    PDFium reports the white space before continuations.
    """
    parts = [runs[0].text]
    for run, gap in zip(runs[1:], gaps, strict=True):
        is_apart = gap > _SPACE_EMS * size and id(run) not in continuations
        if is_apart and not parts[-1].endswith(" "):
            parts.append(" ")
        parts.append(run.text)
    return "".join(parts).strip()


def _table_line(cells: list[list[TextLine]]) -> TextLine:
    """A table row as one line. Each cell has at least one line."""
    lines = list(chain.from_iterable(cells))
    run_counts = [sum(len(line.runs) for line in cell) for cell in cells]
    return TextLine(
        page=lines[0].page,
        runs=tuple(chain.from_iterable(line.runs for line in lines)),
        left=min(line.left for line in lines),
        right=max(line.right for line in lines),
        baseline=max(line.baseline for line in lines),
        size=lines[0].size,
        text=" ".join(line.text for line in lines),
        cells=tuple(accumulate(run_counts[:-1])),
        stacks=tuple(map(tuple, cells)),
    )


def is_raised(line: TextLine, run: TextRun) -> bool:
    """Whether a run is an exponent or the number of a note."""
    lowest = line.baseline + _LEAST_RAISED_EMS * line.size
    return _is_small(line, run) and run.baseline > lowest


def is_lowered(line: TextLine, run: TextRun) -> bool:
    """Whether a run is an index."""
    highest = line.baseline - _LEAST_LOWERED_EMS * line.size
    return _is_small(line, run) and run.baseline < highest


def _is_small(line: TextLine, run: TextRun) -> bool:
    return run.size < SCRIPT_RATIO * line.size
