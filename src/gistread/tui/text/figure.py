"""A picture in rows of text: half blocks, dots without colours, or the graphics of the terminal."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from rich.color import Color
from rich.segment import Segment
from rich.style import Style

if TYPE_CHECKING:
    from PIL.Image import Image as Pixels

Rows = Sequence[Sequence[Segment]]
Painter = Callable[["Figure", int, int], Rows]  # (figure, columns, rows)

PIXELS_A_CELL = 5  # Pixels of the original per cell, at natural size
_CELL_HEIGHT = 2  # In widths of a cell
_BYTES_A_PIXEL = 3  # RGB
_DOTS_ACROSS, _DOTS_DOWN = 2, 4  # Of a cell
# Pillow shrinks coarsely to this multiple of the size, then exactly
_REDUCING_GAP = 2.0
_NO_DOTS = 0x2800  # The character to which the bits of dots are added
# (pixel of a cell, bit of its dot)
_BRAILLE = (
    (0, 1),
    (1, 8),
    (2, 2),
    (3, 16),
    (4, 4),
    (5, 32),
    (6, 64),
    (7, 128),
)


@lru_cache(maxsize=128)
def half_blocks(figure: "Figure", columns: int, rows: int) -> Rows:
    """Draw two pixels in a cell, for every terminal with colours."""
    size = (columns, 2 * rows)
    data = figure.pixels.resize(size, reducing_gap=_REDUCING_GAP).tobytes()
    stride = _BYTES_A_PIXEL * columns  # Bytes of a row of pixels
    drawn: list[list[Segment]] = []
    for row in range(rows):
        upper_start = 2 * row * stride
        cells: list[Segment] = []
        for upper in range(upper_start, upper_start + stride, _BYTES_A_PIXEL):
            lower = upper + stride
            above = data[upper : upper + _BYTES_A_PIXEL]
            below = data[lower : lower + _BYTES_A_PIXEL]
            cells.append(Segment("▀", _style(above, below)))
        drawn.append(cells)
    return drawn


@lru_cache(maxsize=128)
def dots(figure: "Figure", columns: int, rows: int) -> Rows:
    """Draw eight dots in a cell, for a terminal without colours."""
    stride = _DOTS_ACROSS * columns
    size = (stride, _DOTS_DOWN * rows)
    small = figure.pixels.resize(size, reducing_gap=_REDUCING_GAP)
    # Dithered to black and white, then widened from a bit to a byte for each pixel
    pixels = small.convert("1").convert("L").tobytes()

    def cell(column: int, row: int) -> str:
        """The Braille character with a dot for each light pixel."""
        first = _DOTS_DOWN * row * stride + _DOTS_ACROSS * column
        lit = 0
        for dot, bit in _BRAILLE:
            down, across = divmod(dot, _DOTS_ACROSS)
            if pixels[first + down * stride + across]:
                lit += bit
        return chr(_NO_DOTS + lit)

    lines = (
        "".join(cell(column, row) for column in range(columns)) for row in range(rows)
    )
    return [[Segment(line)] for line in lines]


@dataclass(frozen=True, eq=False, slots=True)
class Figure:
    """A picture with the way it is drawn. Cached by identity: equal pixels are drawn twice."""

    pixels: "Pixels"  # RGB
    natural_columns: int  # Maximum columns to draw it in
    most_rows: int = 0  # 0: no limit
    painter: Painter = half_blocks

    def limited(self, rows: int) -> "Figure":
        """The same picture in at most `rows` rows."""
        return replace(self, most_rows=rows)

    def cells_in(self, columns: int) -> tuple[int, int]:
        """(columns, rows) of the figure, if `columns` are available."""
        width, height = self.pixels.size
        columns = max(1, min(columns, self.natural_columns))
        rows = max(1, round(columns * height / width / _CELL_HEIGHT))
        if 0 < self.most_rows < rows:
            rows = self.most_rows
            fitting_columns = round(rows * _CELL_HEIGHT * width / height)
            columns = max(1, min(columns, fitting_columns))
        return columns, rows

    def row(self, row: int, columns: int, rows: int) -> Sequence[Segment]:
        """One row of the figure, stretched to `columns` and `rows`."""
        return self.painter(self, columns, rows)[row]


@lru_cache(maxsize=8192)
def _style(upper: bytes, lower: bytes) -> Style:
    return Style(color=Color.from_rgb(*upper), bgcolor=Color.from_rgb(*lower))
