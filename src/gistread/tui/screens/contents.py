"""The contents of a book: choose a chapter."""

from gistread.book.model import Book
from gistread.tui.screens.listing import ListScreen, Row


class ContentsScreen(ListScreen):
    """Dismissed with the number of the chapter, from 0."""

    def __init__(self, book: Book, chapter: int) -> None:
        super().__init__(book.title)
        self._book = book
        self._chapter = chapter

    def on_mount(self) -> None:
        length = max(1, len(self._book.text))
        rows = [
            Row(str(index), f"{chapter.start / length:>4.0%}  {'  ' * (chapter.level - 1)}{chapter.title}")
            for index, chapter in enumerate(self._book.chapters)
        ]
        self.show_rows(rows, self._chapter)
