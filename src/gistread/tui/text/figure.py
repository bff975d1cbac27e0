"""A picture in rows of text: half blocks, which draw two pixels in a cell on every terminal with colours."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from rich.color import Color
from rich.segment import Segment
from rich.style import Style

if TYPE_CHECKING:
    from PIL.Image import Image as Pixels

_PIXELS_A_CELL = 5  # Width of a cell that shows a picture in its natural size


@dataclass(frozen=True, eq=False, slots=True)
class Figure:
    pixels: "Pixels"  # RGB
    natural_columns: int  # Most columns it is drawn in
    most_rows: int = 0  # 0: no limit

    @staticmethod
    def of(pixels: "Pixels", width: int) -> "Figure":
        """`width`: of the original, in pixels."""
        return Figure(pixels, max(2, width // _PIXELS_A_CELL))

    def limited(self, rows: int) -> "Figure":
        return replace(self, most_rows=rows)

    def cells_in(self, columns: int) -> tuple[int, int]:
        """Its size as (columns, rows) if `columns` are available."""
        width, height = self.pixels.size
        columns = max(1, min(columns, self.natural_columns))
        rows = max(1, round(columns * height / width / 2))
        if 0 < self.most_rows < rows:
            rows = self.most_rows
            columns = max(1, min(columns, round(rows * 2 * width / height)))
        return columns, rows

    def row(self, row: int, columns: int, rows: int) -> tuple[Segment, ...]:
        """One of its rows, stretched to these columns and rows in all."""
        return _half_blocks(self, columns, rows)[row]


@lru_cache(maxsize=128)
def _half_blocks(figure: Figure, columns: int, rows: int) -> tuple[tuple[Segment, ...], ...]:
    data = figure.pixels.resize((columns, 2 * rows), reducing_gap=2.0).tobytes()
    stride = 3 * columns
    return tuple(
        tuple(
            Segment("▀", _style(data[at : at + 3], data[at + stride : at + stride + 3]))
            for at in range(2 * row * stride, (2 * row + 1) * stride, 3)
        )
        for row in range(rows)
    )


@lru_cache(maxsize=8192)
def _style(upper: bytes, lower: bytes) -> Style:
    return Style(color=Color.from_rgb(*upper), bgcolor=Color.from_rgb(*lower))
