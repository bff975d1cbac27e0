"""Tables as Markdown and as text that fits a terminal. What stands in the cells is not looked at."""

from collections.abc import Sequence

from gistread.evaluation.table import Cells

_GAP = "  "


def markdown(cells: Cells) -> str:
    """One table; the first column is words, the others are figures."""
    head, *rows = [[cell.replace("|", "\\|") for cell in row] for row in cells]
    rule = ["---", *("---:" for _ in head[1:])]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def text(cells: Cells, columns: int) -> str:
    """Columns under one another, parted into blocks with the first column before each where they are too wide."""
    widths = [max(len(row[index]) for row in cells) for index in range(len(cells[0]))]
    blocks = [_block(cells, widths, part) for part in _parts(widths, columns)]
    return "\n\n".join(blocks)


def _parts(widths: Sequence[int], columns: int) -> list[list[int]]:
    """Which columns beside the first stand together."""
    parts: list[list[int]] = [[]]
    used = widths[0]
    for index in range(1, len(widths)):
        needed = len(_GAP) + widths[index]
        if parts[-1] and used + needed > columns:
            parts.append([])
            used = widths[0]
        parts[-1].append(index)
        used += needed
    return parts


def _block(cells: Cells, widths: Sequence[int], part: Sequence[int]) -> str:
    lines = []
    for row in cells:
        line = [f"{row[0]:<{widths[0]}}", *(f"{row[index]:>{widths[index]}}" for index in part)]
        lines.append(_GAP.join(line).rstrip())
    rule = _GAP.join("─" * widths[index] for index in (0, *part))
    return "\n".join([lines[0], rule, *lines[1:]])
