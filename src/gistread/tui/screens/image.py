"""The picture viewer: one picture as large as the screen allows, with its caption."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

from textual import events
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from gistread.book.model import Book, Image
from gistread.errors import GistreadError
from gistread.tui.commands import own_keys
from gistread.tui.drawing import Drawer, Picture, read_picture, unpack
from gistread.tui.jobs import run_job
from gistread.tui.text import clean
from gistread.tui.text.figure import Figure
from gistread.tui.widgets.lines import Actions, Line

# (key, word, action)
_OTHERS = (("←", "previous", "step(-1)"), ("→", "next", "step(1)"))
_CHOICES = (
    ("Enter", "go to it in the book", "go"),
    ("Esc", "close", "dismiss(None)"),
)


class ImageScreen(ModalScreen[int | None]):
    """Dismissed with the offset of the picture to go to, or with None."""

    BINDINGS = own_keys(
        ("escape,q,i", "dismiss(None)", "Close"),
        ("right,n,space,l,pagedown", "step(1)", "Next picture"),
        ("left,p,b,h,pageup", "step(-1)", "Picture before"),
        ("enter,o", "go", "Go to it in the book"),
    )

    def __init__(
        self, book: Book, path: Path | None, first: int, drawer: Drawer
    ) -> None:
        """`path`: the book's file, None if read from a pipe; `first`: index in `book.images`."""
        super().__init__()
        self._book = book
        self._path = path
        self._at = first  # Index of the picture that is shown
        self._drawer = drawer

    def compose(self) -> ComposeResult:
        actions = list(_CHOICES)
        if len(self._book.images) > 1:
            actions = [*_OTHERS, *_CHOICES]
        with Vertical(id="viewer"):
            yield Line(id="viewer-title")
            yield Container(id="viewer-picture")
            yield Static("", id="viewer-caption", markup=False)
            yield Actions(*actions, id="viewer-keys")

    def on_mount(self) -> None:
        self._show()

    def action_step(self, step: int) -> None:
        self._at = (self._at + step) % len(self._book.images)
        self._show()

    def action_go(self) -> None:
        self.dismiss(self._image.start)

    def on_click(self, event: events.Click) -> None:
        """A click on the picture shows the next one; a click outside closes."""
        if event.widget is self:
            self.dismiss(None)
        elif len(self._book.images) > 1 and not isinstance(event.widget, Actions):
            self.action_step(1)

    @property
    def _image(self) -> Image:
        return self._book.images[self._at]

    def _show(self) -> None:
        """Show the caption of the picture at once, and draw it in a worker."""
        image = self._image
        caption = " ".join(self._book.text[image.start : image.end].split())
        title = f"Picture {self._at + 1} of {len(self._book.images)}"
        self.query_one("#viewer-title", Line).update(title)
        self.query_one("#viewer-caption", Static).update(clean(caption))
        run_job(self, partial(self._draw, image, title))

    async def _draw(self, image: Image, title: str) -> None:
        """Draw a picture, and add its size to the title."""

        def read() -> Picture:
            return unpack(read_picture(self._path, image.source))

        frame = self.query_one("#viewer-picture", Container)
        widget, picture = await _drawn(self._drawer, read)
        if picture is not None:
            title += f" · {picture.width} × {picture.height} · {picture.kind}"
        await frame.remove_children()
        await frame.mount(widget)
        self.query_one("#viewer-title", Line).update(title)


class CoverScreen(ModalScreen[None]):
    """One picture that belongs to no opened book, as large as the screen allows."""

    BINDINGS = own_keys(("escape,q,enter,f2", "dismiss(None)", "Close"))

    def __init__(self, title: str, caption: str, data: bytes, drawer: Drawer) -> None:
        super().__init__()
        self._title = title
        self._caption = caption
        self._data = data
        self._drawer = drawer

    def compose(self) -> ComposeResult:
        with Vertical(id="viewer"):
            yield Line(id="viewer-title")
            yield Container(id="viewer-picture")
            yield Static(clean(self._caption), id="viewer-caption", markup=False)
            yield Actions(("Esc", "close", "dismiss(None)"), id="viewer-keys")

    def on_mount(self) -> None:
        self.query_one("#viewer-title", Line).update(clean(self._title))
        self.run_worker(self._draw())

    async def _draw(self) -> None:
        widget, _ = await _drawn(self._drawer, lambda: unpack(self._data))
        await self.query_one("#viewer-picture", Container).mount(widget)

    def on_click(self) -> None:
        self.dismiss(None)


async def _drawn(
    drawer: Drawer, read: Callable[[], Picture]
) -> tuple[Widget, Picture | None]:
    """A widget that shows a picture, and the picture; if it fails, why, and None."""
    try:
        picture = await asyncio.to_thread(read)
        return await _enlarged(drawer, picture), picture
    except GistreadError as error:
        message = clean(str(error))
        return Static(message, classes="viewer-message", markup=False), None


async def _enlarged(drawer: Drawer, picture: Picture) -> Widget:
    """The picture as large as possible. Raises DrawingError."""
    figure = await asyncio.to_thread(drawer.enlarged, picture)
    return drawer.sixels(picture) or FigureView(figure, drawer.forget)


class FigureView(Widget):
    """A picture as large as its container allows."""

    DEFAULT_CSS = "FigureView { width: auto; height: auto; }"

    def __init__(self, figure: Figure, forget: Callable[[Figure], object]) -> None:
        super().__init__()
        self._figure = figure
        self._forget = forget

    def on_unmount(self) -> None:
        self._forget(self._figure)

    def get_content_width(self, container: Size, viewport: Size) -> int:
        columns, _ = self._cells_in(container)
        return columns

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        _, rows = self._cells_in(container)
        return rows

    def _cells_in(self, container: Size) -> tuple[int, int]:
        """(columns, rows) of the picture in its container."""
        figure = self._figure.limited(container.height)
        return figure.cells_in(container.width)

    def render_line(self, y: int) -> Strip:
        width, height = self.size
        strip = Strip(self._figure.row(y, width, height), width)
        return strip.apply_style(self.rich_style)
