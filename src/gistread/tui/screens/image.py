"""The picture viewer: one picture as large as the screen allows, with its caption."""

import asyncio
from collections.abc import Callable
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
from gistread.tui.text import clean
from gistread.tui.text.figure import Figure
from gistread.tui.widgets.lines import Actions, Line

_OTHERS = ("←", "previous", "step(-1)"), ("→", "next", "step(1)")
_CHOICES = ("Enter", "go to it in the book", "go"), ("Esc", "close", "dismiss(None)")


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
        self._at = first
        self._drawer = drawer

    def compose(self) -> ComposeResult:
        with Vertical(id="viewer"):
            yield Line(id="viewer-title")
            yield Container(id="viewer-picture")
            yield Static("", id="viewer-caption", markup=False)
            yield Actions(
                *(_OTHERS if len(self._book.images) > 1 else ()),
                *_CHOICES,
                id="viewer-keys",
            )

    def on_mount(self) -> None:
        self._show()

    def action_step(self, by: int) -> None:
        self._at = (self._at + by) % len(self._book.images)
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
        words = clean(
            " ".join(self._book.text[self._image.start : self._image.end].split())
        )
        title = f"Picture {self._at + 1} of {len(self._book.images)}"
        self.query_one("#viewer-title", Line).update(title)
        self.query_one("#viewer-caption", Static).update(words)
        self.run_worker(self._draw(self._image, title), exclusive=True)

    async def _draw(self, image: Image, title: str) -> None:
        room = self.query_one("#viewer-picture", Container)
        drawn, picture = await _drawn(
            self._drawer, lambda: unpack(read_picture(self._path, image.source))
        )
        if picture is not None:
            title += f" · {picture.width} × {picture.height} · {picture.kind}"
        await room.remove_children()
        await room.mount(drawn)
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
        drawn, _ = await _drawn(self._drawer, lambda: unpack(self._data))
        await self.query_one("#viewer-picture", Container).mount(drawn)

    def on_click(self) -> None:
        self.dismiss(None)


async def _drawn(
    drawer: Drawer, read: Callable[[], Picture]
) -> tuple[Widget, Picture | None]:
    """A picture as large as possible; or why it cannot be drawn, and None."""
    try:
        picture = await asyncio.to_thread(read)
        return await _enlarged(drawer, picture), picture
    except GistreadError as error:
        return Static(clean(str(error)), classes="viewer-message", markup=False), None


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
        return self._figure.limited(container.height).cells_in(container.width)[0]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self._figure.limited(container.height).cells_in(container.width)[1]

    def render_line(self, y: int) -> Strip:
        return Strip(self._figure.row(y, *self.size), self.size.width).apply_style(
            self.rich_style
        )
