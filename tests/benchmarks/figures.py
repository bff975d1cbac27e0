"""What a part hands back: tables and ratios that have an aim, as text and as JSON.

Knows nothing of what was measured.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """A median and the range that it was taken from."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        return cls(statistics.median(values), min(values), max(values))


Value = Spread | float | str | None
"""What stands in a cell. None: not measured, printed as a dash."""


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    columns: tuple[str, ...]
    """The first names the rows. Units stand in brackets: `prefill [tok/s]`."""
    rows: tuple[tuple[Value, ...], ...]

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"{self.title}: a row has not {len(self.columns)} values")


@dataclass(frozen=True, slots=True)
class Target:
    """One figure and what it must reach: `at_most` or `at_least`, never both."""

    what: str
    value: float
    at_most: float | None = None
    at_least: float | None = None

    @property
    def reached(self) -> bool:
        if self.at_most is not None:
            return self.value <= self.at_most
        return self.value >= (self.at_least or 0.0)

    @property
    def bound(self) -> str:
        if self.at_most is not None:
            return f"≤ {self.at_most:.2f}"
        return f"≥ {self.at_least:.2f}"


@dataclass(frozen=True, slots=True)
class Skipped:
    """What could not be measured here, and why."""

    what: str
    reason: str


Finding = Table | Target | Skipped
"""What a part yields, in the order in which it is known."""


def aims_table(aims: Sequence[Target]) -> Table:
    rows = tuple(
        (aim.what, aim.value, aim.bound, "yes" if aim.reached else "NO") for aim in aims
    )
    return Table("What must be reached", ("figure", "measured", "aim", "reached"), rows)


def as_text(finding: Finding) -> str:
    """For people: a table with its columns aligned, an aim or a reason on one line."""
    match finding:
        case Table():
            return _table(finding)
        case Target():
            return f"  → {finding.what}: {_shown(finding.value)}  (aim {finding.bound})"
        case Skipped():
            return f"  {finding.what}: left out, {finding.reason}"


def as_json(finding: Finding) -> dict[str, object]:
    """For programs: rows as objects by column, spreads as their three figures."""
    match finding:
        case Table():
            rows = [
                dict(zip(finding.columns, map(_plain, row), strict=True))
                for row in finding.rows
            ]
            return {"table": finding.title, "rows": rows}
        case Target():
            return {
                "aim": finding.what,
                "value": finding.value,
                "at_most": finding.at_most,
                "at_least": finding.at_least,
                "reached": finding.reached,
            }
        case Skipped():
            return {"skipped": finding.what, "reason": finding.reason}


def _table(table: Table) -> str:
    cells = [table.columns, *(tuple(map(_shown, row)) for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(
            [
                row[0].ljust(widths[0]),
                *(
                    cell.rjust(width)
                    for cell, width in zip(row[1:], widths[1:], strict=True)
                ),
            ]
        )
        for row in cells
    ]
    lines.insert(1, "─" * len(lines[0]))
    return "\n".join([table.title, *(f"  {line}" for line in lines)])


def _shown(value: Value) -> str:
    match value:
        case None:
            return "–"
        case Spread():
            return f"{_shown(value.median)} ({_shown(value.low)}–{_shown(value.high)})"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.{_decimals(abs(value))}f}"
        case _:
            return str(value)


def _decimals(size: float) -> int:
    """Decimals of a number of this size: none from 1,000, one from 10, two from 1, else three."""
    for least, decimals in ((1000, 0), (10, 1), (1, 2)):
        if size >= least:
            return decimals
    return 3


def _plain(value: Value) -> object:
    if isinstance(value, Spread):
        return {"median": value.median, "low": value.low, "high": value.high}
    return value
