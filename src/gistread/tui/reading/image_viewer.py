"""Shows pictures of the book: by key, or by a click on a caption."""

from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.navigation import Navigation
from gistread.tui.text import Clicked


class ImageViewer:
    def __init__(self, context: ReadingContext, navigation: Navigation) -> None:
        self._context = context
        self._navigation = navigation

    def show_next(self) -> None:
        view, images = self._context.book_pane.visible_range, self._context.book.images
        if not images or view is None:
            self._context.warn("This book has no pictures.")
            return
        self._show(next((index for index, image in enumerate(images) if image.end > view[0]), len(images) - 1))

    def clicked(self, event: Clicked) -> bool:
        if event.book_offset is None:
            return False
        book = self._context.book
        image = next(iter(book.images_between(event.book_offset, event.book_offset + 1)), None)
        if image is not None:
            self._show(book.images.index(image))
        return image is not None

    def _show(self, index: int) -> None:
        # Imported when the first picture is shown: the book's text comes first.
        from gistread.tui.screens.image import ImageScreen

        context = self._context
        screen = ImageScreen(context.book, context.path, index, context.services.drawer)
        context.push(screen, lambda offset: self._navigation.jump(offset, top=0.2))
