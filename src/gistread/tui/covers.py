"""Covers of the library's books: read in a thread when first shown, with small copies kept on disk."""

import asyncio
import io
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from gistread.errors import GistreadError
from gistread.library.entries import LibraryEntry
from gistread.library.metadata import read_cover
from gistread.store.files import make_folder, replace_file
from gistread.tui.drawing import Drawer
from gistread.tui.text.figure import Figure

_WITH_COVERS = ("epub", "fb2", "pdf", "")  # formats with covers; books opened by earlier versions have no format
_PIXELS = 320, 480  # maximum size of the copy on disk


class Covers:
    def __init__(self, folder: Path, drawer: Drawer) -> None:
        self._folder = folder
        self._drawer = drawer
        self._figures: dict[tuple[str, ...], Figure | None] = {}  # By the book's ids; None if it has no cover
        self._wanted: list[LibraryEntry] = []
        self._loading = False

    def of(self, entry: LibraryEntry) -> Figure | None:
        return self._figures.get(entry.ids)

    async def load(self, entries: Iterable[LibraryEntry], loaded: Callable[[], object]) -> None:
        """Load these covers one by one, replacing the waiting list; call `loaded` after each."""
        self._wanted = [entry for entry in entries if entry.ids not in self._figures]
        if self._loading:
            return
        self._loading = True
        try:
            while self._wanted:
                entry = self._wanted.pop(0)
                if entry.ids in self._figures or entry.path is None or entry.format not in _WITH_COVERS:
                    continue
                self._figures[entry.ids] = None
                with suppress(GistreadError):  # without a cover the title is drawn
                    self._figures[entry.ids] = await asyncio.to_thread(self._read, entry, entry.path)
                    loaded()
        finally:
            self._loading = False

    def _read(self, entry: LibraryEntry, path: Path) -> Figure | None:
        kept = self._folder / f"{entry.digest}.jpg"  # Empty for a book without a cover
        with suppress(OSError, GistreadError):
            if entry.digest:
                data = kept.read_bytes()
                return self._drawer.figure(data, _PIXELS) if data else None
        if entry.missing:
            return None
        data = read_cover(path)
        figure = self._drawer.figure(data, _PIXELS) if data else None
        with suppress(OSError):
            if entry.digest:
                out = io.BytesIO()
                if figure is not None:
                    figure.pixels.save(out, "JPEG", quality=90)
                make_folder(self._folder)
                replace_file(kept, out.getvalue())
        return figure
