"""The list of presets."""

from collections.abc import Iterable

from gistread.presets import Preset
from gistread.tui.screens.listing import ListScreen, Row


class PresetScreen(ListScreen):
    """Dismissed with the name of a preset."""

    def __init__(self, presets: Iterable[Preset], current: str, suits: str, note: str) -> None:
        """`current`: name of the preset in use; `suits`: of the suggested one."""
        super().__init__("Read this book as …", note)
        self._presets = tuple(presets)
        self._current = current
        self._suits = suits

    def on_mount(self) -> None:
        rows = [self._row(preset) for preset in self._presets]
        at = self._current or self._suits
        self.show_rows(rows, next((index for index, row in enumerate(rows) if row.id == at), 0))

    def _row(self, preset: Preset) -> Row:
        mark = "● " if preset.name == self._current else ""
        suits = "   suggested" if preset.name == self._suits else ""
        return Row(preset.name, f"{mark}{preset.title}{suits}", preset.summary)
