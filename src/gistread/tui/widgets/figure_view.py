"""A picture as large as its container allows."""

from collections.abc import Callable

from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from gistread.tui.text.figure import Figure


class FigureView(Widget):
    DEFAULT_CSS = "FigureView { width: auto; height: auto; }"

    def __init__(self, figure: Figure, forget: Callable[[Figure], object]) -> None:
        super().__init__()
        self._figure = figure
        self._forget = forget

    def on_unmount(self) -> None:
        self._forget(self._figure)

    def get_content_width(self, container: Size, viewport: Size) -> int:
        return self._figure.limited(container.height).cells_in(container.width)[0]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self._figure.limited(container.height).cells_in(container.width)[1]

    def render_line(self, y: int) -> Strip:
        return Strip(self._figure.row(y, *self.size), self.size.width).apply_style(self.rich_style)
