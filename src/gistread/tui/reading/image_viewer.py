"""From the words of a picture to the picture: by a key, or by a click on them. A part of the reading screen."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, cast

from textual import on

from gistread.tui.reading.moving import Moving
from gistread.tui.text.messages import Clicked

if TYPE_CHECKING:
    from gistread.tui.app import GistreadApp


class ImageViewer(Moving):
    """What a screen with a book pane needs to show pictures."""

    path: Path | None
    """The file that the book came from, which holds its pictures."""

    def action_picture(self) -> None:
        """The first picture in view, or else the next one below."""
        view = self.book_pane.visible_range
        images = self.book.images if self.book else ()
        if not images or view is None:
            self.warn("This book has no pictures.")
            return
        self._show_picture(next((index for index, one in enumerate(images) if one.end > view[0]), len(images) - 1))

    @on(Clicked, "#book")
    def _picture_clicked(self, event: Clicked) -> None:
        if self.book is None or event.book_offset is None or event.link is not None:
            return
        for image in self.book.images_between(event.book_offset, event.book_offset + 1):
            self._show_picture(self.book.images.index(image))
            return

    def _show_picture(self, index: int) -> None:
        # Imported when the first one is looked at: a book is to be on the screen before.
        from gistread.tui.drawing import way_of
        from gistread.tui.screens.image import ImageScreen

        assert self.book is not None
        app = cast("GistreadApp", self.app)
        way = way_of(app.config.images, os.environ, no_color=app.no_color)

        def go(offset: int | None) -> None:
            if offset is not None:
                self.jump(offset, top=0.2)

        app.push_screen(ImageScreen(self.book, self.path, index, way), go)
