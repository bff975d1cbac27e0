"""The panel of reading figures."""

import asyncio
from datetime import date

from gistread.library.catalogue import Catalogue
from gistread.library.entries import list_entries
from gistread.library.figures import Figures, reading_figures
from gistread.library.text import describe_book_figures, describe_figures
from gistread.tui.screens.listing import ListScreen, Row
from gistread.tui.services import AppServices


async def figures_panel(services: AppServices) -> ListScreen:
    """The panel: today, the last seven days, and a row for each book. Reads the disk in a thread."""

    def read() -> Figures:
        entries, _ = list_entries(services.user_data, Catalogue(services.paths.library))
        return reading_figures(services.user_data, entries, date.today())

    figures = await asyncio.to_thread(read)
    lines = describe_figures(figures, services.config.reading_goal)
    note = "\n".join((*lines, *([] if figures.books else ["Time is counted while you read on in a book."])))
    rows = [Row(book.sha256, book.title, describe_book_figures(book)) for book in figures.books]
    return ListScreen("Reading figures", note, rows)
