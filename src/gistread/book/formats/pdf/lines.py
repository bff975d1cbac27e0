"""Arranges a page's text runs into columns and lines in reading order, by position."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, groupby, pairwise

from gistread.book.formats.pdf.pages import EAST_ASIAN, PdfPage, TextRun
from gistread.book.formats.pdf.table_rows import Segment, is_table, table_flows, with_table_rows

_SCRIPT_RATIO = 0.92  # Browsers set exponents in up to 0.89 of the size
_WIDE_SHARE = 0.6
_MOST_SEGMENTS = 4_000
READING_RATIO = 0.65  # Largest size of readings (ruby), relative to their words


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
    lines: tuple[TextLine, ...]
    left: float
    right: float


def rows(page: PdfPage) -> list[TextLine]:
    """The rows across the whole page, from the top down."""
    return [_line(page.number, group) for group in _by_baseline(_segments(page.runs))]


def columns(page: PdfPage, gutter: float | None, dropped: Iterable[TextLine]) -> list[Column]:
    """The page's columns in reading order, without the `dropped` rows.

    `gutter`: the usual place between columns.
    """
    gone = {id(run) for line in dropped for run in line.runs}
    segments = _segments([run for run in page.runs if id(run) not in gone] if gone else page.runs)
    flows = _flows(segments, gutter, depth=0)
    return [
        _column([_line(page.number, row) for row in _by_baseline(flow)]) for flow in flows if flow
    ]


def find_gutter(page: PdfPage) -> float | None:
    """The x between two columns, or None."""
    segments = _segments(page.runs)
    x = _gutter(segments, None)
    return None if x is None or is_table(segments, x) else x


def _segments(runs: Sequence[TextRun]) -> list[Segment]:
    found: list[Segment] = []
    for run in _with_readings(runs):
        if not run.text.strip():
            continue
        last = found[-1] if found else None
        if last and _continues(last, run):
            last.runs.append(run)
            last.right = max(last.right, run.right)
            if run.size > last.size:
                last.size, last.baseline = run.size, run.baseline
        else:
            found.append(Segment([run], run.left, run.right, run.baseline, run.size, len(found)))
    return found


def _with_readings(runs: Sequence[TextRun]) -> Sequence[TextRun]:
    """Insert small readings (ruby), in brackets, after the East Asian characters below them."""
    bases = [run for run in runs if EAST_ASIAN.search(run.text)]
    placed: dict[int, list[tuple[int, str]]] = {}
    readings: set[int] = set()
    for run in runs if bases else ():
        for base in bases:
            above = (run.baseline - base.baseline) / base.size
            start, end = (
                (x - base.left) / (base.right - base.left or 1) for x in (run.left, run.right)
            )
            if (
                run.size < READING_RATIO * base.size
                and 0.6 < above < 1.4
                and 0 < (start + end) / 2 < 1
            ):
                letters = len(base.text.rstrip())
                last = max(1, min(letters, round(end * letters)))
                placed.setdefault(id(base), []).append((last, f"（{''.join(run.text.split())}）"))
                readings.add(id(run))
                break
    if not readings:
        return runs
    found = []
    for run in (run for run in runs if id(run) not in readings):
        text = run.text
        for place, part in sorted(placed.get(id(run), []), reverse=True):
            text = text[:place] + part + text[place:]
        found.append(run if text == run.text else replace(run, text=text))
    return found


def _continues(segment: Segment, run: TextRun) -> bool:
    size = max(segment.size, run.size)
    gap = run.left - segment.right
    # Gaps within a column are narrow.
    return -0.3 * size <= gap <= 1.05 * size and _on_one_row(segment, run)


def _on_one_row(one: Segment | TextRun, other: Segment | TextRun) -> bool:
    """Whether two runs share a line: on one baseline, or the smaller one raised or lowered."""
    small, large = sorted((one, other), key=lambda each: each.size)
    if abs(one.baseline - other.baseline) <= 0.35 * small.size:
        return True
    raised = small.baseline - large.baseline
    fits = small.size <= _SCRIPT_RATIO * large.size and large.size < 2 * small.size + 1
    return fits and -0.5 * large.size < raised < 0.6 * large.size


def _by_baseline(segments: list[Segment]) -> list[list[Segment]]:
    ordered = sorted(segments, key=lambda one: (-round(one.baseline / 3), one.left))
    if len(segments) > _MOST_SEGMENTS:  # Each row would be compared with each
        return [list(row) for _, row in groupby(ordered, key=lambda one: round(one.baseline / 3))]
    found: list[list[Segment]] = []
    # A raised number joins its line; the line does not join the number.
    for segment in ordered:
        for row in reversed(found[-3:]):
            largest = max(row, key=lambda one: one.size)
            if _on_one_row(largest, segment) and not any(segment.overlaps(other) for other in row):
                row.append(segment)
                break
        else:
            found.append([segment])
    for row in found:
        row.sort(key=lambda one: one.left)
    found = _with_drop_caps(found)
    found.sort(key=lambda row: -max(row, key=lambda one: one.size).baseline)
    return found


def _with_drop_caps(found: list[list[Segment]]) -> list[list[Segment]]:
    kept = []
    for row in found:
        letter = row[0]
        text = "".join(run.text for run in letter.runs).strip()
        if len(text) <= 2 and text.isalpha() and len(row) <= 2:
            adjacent = [
                other
                for other in found
                if other is not row
                and letter.size >= 1.8 * other[0].size
                and letter.baseline - 1 <= other[0].baseline < letter.baseline + letter.size
                and letter.left <= other[0].left < letter.right + 2 * other[0].size
            ]
            rest = row[1:]
            first = max(
                (*adjacent, *([rest] if rest else [])),
                key=lambda other: other[0].baseline,
                default=None,
            )
            if first is not None and adjacent:
                body, initial = first[0], letter.runs[-1].text.rstrip()
                font = body.runs[0].font
                body.runs.insert(
                    0, TextRun(initial, body.left - 1, body.left, body.baseline, body.size, font)
                )
                body.left = min(other[0].left for other in (*adjacent, first))
                if rest:
                    kept.append(rest)
                continue
        kept.append(row)
    return kept


def _flows(segments: list[Segment], gutter: float | None, depth: int) -> list[list[Segment]]:
    if len(segments) > _MOST_SEGMENTS:
        return [segments]
    x = _gutter(segments, gutter) if depth < 2 else None
    in_table = x is not None and is_table(segments, x)
    if x is None or (in_table and gutter is None):
        return table_flows(_by_baseline(segments))
    if in_table:
        segments = with_table_rows(_by_baseline(segments), x)
    bands: list[
        tuple[bool, list[Segment]]
    ] = []  # From the top down: whether the segments span the gutter
    for segment in sorted(segments, key=lambda one: -one.baseline):
        is_left, is_right = segment.right <= x + 1, segment.left >= x - 1
        spans = not (is_left or is_right)
        if is_right and not is_left and bands and bands[-1][0]:
            spans = _on_one_row(bands[-1][1][-1], segment)
        if not bands or spans is not bands[-1][0]:
            bands.append((spans, []))
        bands[-1][1].append(segment)
    flows: list[list[Segment]] = []
    for spans, band in bands:
        if spans:
            flows.append(band)
            continue
        for side in (
            [one for one in band if one.right <= x + 1],
            [one for one in band if one.right > x + 1],
        ):
            flows += _flows(side, None, depth + 1) if side else ()
    return flows


def _gutter(segments: list[Segment], known: float | None) -> float | None:
    if len(segments) < 2:
        return None
    lefts = sorted(segment.left for segment in segments)
    rights = sorted(segment.right for segment in segments)
    start, end = lefts[len(lefts) // 20], rights[-1 - len(rights) // 20]
    width = end - start
    if known is not None:
        between = sum(one.right > known + 2 and one.left < known - 2 for one in segments)
        left = sum(one.right <= known + 2 for one in segments)
        right = len(segments) - between - left
        return known if left and right and between <= 0.5 * len(segments) else None
    if width < 2 * 90.0:
        return None
    fewest, low, high = len(segments) + 1, start, start
    x = start + width * 0.25
    while x < start + width * 0.75:
        # Segments that end before x or start after it do not cross it.
        crossing = len(segments) - bisect_left(rights, x) - (len(lefts) - bisect_left(lefts, x))
        if crossing < fewest:
            fewest, low, high = crossing, x, x
        elif crossing == fewest and x - high < 3:
            high = x
        x += 2
    x = (low + high) / 2
    ordered = sorted(segments, key=lambda one: (one.left >= x, -round(one.baseline), one.left))
    grouped = groupby(ordered, key=lambda one: (one.left >= x, round(one.baseline)))
    spans = ([(one.left, one.right) for one in row] for _, row in grouped)
    rows = [(row[0][0], max(right for _, right in row)) for row in spans]
    left_wide = sum(right <= x and right - left > _WIDE_SHARE * (x - start) for left, right in rows)
    right_wide = sum(left >= x and right - left > _WIDE_SHARE * (end - x) for left, right in rows)
    return x if min(left_wide, right_wide) >= 4 and fewest <= left_wide + right_wide else None


def _line(page: int, segments: list[Segment]) -> TextLine:
    if any(segment.cells for segment in segments):
        stacks = [cell for segment in segments for cell in segment.cells or [[segment]]]
        return _table_line([[_line(page, row) for row in _by_baseline(cell)] for cell in stacks])
    runs = sorted((run for segment in segments for run in segment.runs), key=lambda run: run.left)
    sizes: Counter[float] = Counter()
    for run in runs:
        sizes[run.size] += len(run.text)
    size = max(sizes, key=lambda value: sizes[value])
    baseline = next(run.baseline for run in runs if run.size == size)
    words: list[str] = []
    cells: list[int] = []
    right = runs[0].left
    together = {
        id(b) for segment in segments for a, b in pairwise(segment.runs) if a.left <= b.left
    }
    for index, run in enumerate(runs):
        gap = run.left - right
        if index and gap > 1.8 * size:
            cells.append(index)
        # PDFium reports the white space between neighbours in the file.
        if index and not words[-1].endswith(" ") and gap > 0.12 * size and id(run) not in together:
            words.append(" ")
        words.append(run.text)
        right = max(right, run.right)
    return TextLine(
        page, tuple(runs), runs[0].left, right, baseline, size, "".join(words).strip(), tuple(cells)
    )


def _table_line(cells: list[list[TextLine]]) -> TextLine:
    lines = list(chain.from_iterable(cells))
    runs = [[run for line in cell for run in line.runs] for cell in cells]
    return TextLine(
        page=lines[0].page,
        runs=tuple(chain.from_iterable(runs)),
        left=min(line.left for line in lines),
        right=max(line.right for line in lines),
        baseline=max(line.baseline for line in lines),
        size=lines[0].size,
        text=" ".join(line.text for line in lines),
        cells=tuple(accumulate(map(len, runs[:-1]))),
        stacks=tuple(map(tuple, cells)),
    )


def is_raised(line: TextLine, run: TextRun) -> bool:
    return run.size < _SCRIPT_RATIO * line.size and run.baseline > line.baseline + 0.15 * line.size


def is_lowered(line: TextLine, run: TextRun) -> bool:
    return run.size < _SCRIPT_RATIO * line.size and run.baseline < line.baseline - 0.08 * line.size


def _column(lines: list[TextLine]) -> Column:
    lefts = sorted(line.left for line in lines)
    rights = sorted(line.right for line in lines)
    return Column(tuple(lines), lefts[len(lefts) // 10], rights[-1 - len(rights) // 10])
