"""The command palette: one row per command with its keys, recently used ones first, then by group."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol, cast

from rich.cells import cell_len
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.screen import Screen

from gistread.atomic_write import make_folder, private_opener

_KEY_CELLS, _TITLE_CELLS = 14, 38
_ABOUT_SCORE = 0.1  # For a match in the help, below any match in a title
_RECENT = 5  # Commands shown first


class RecentCommands:
    """Ids of the commands last run from the palette, newest first, saved one per line."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.ids: list[str] = []
        with suppress(OSError, UnicodeError):
            self.ids = file.read_text("utf-8").split()[:_RECENT]

    def add(self, command: str) -> None:
        self.ids = [command, *(one for one in self.ids if one != command)][:_RECENT]
        with suppress(OSError):
            make_folder(self._file.parent)
            with open(self._file, "w", encoding="utf-8", opener=private_opener) as file:
                file.write("\n".join(self.ids))


class Entry(NamedTuple):
    id: str
    title: str
    keys: str
    group: str
    about: str
    run: Callable[[], None]

    def row(self, title: Content, group: str) -> Content:
        first = self.keys.split(" ")[0]
        keys = self.keys if cell_len(self.keys) < _KEY_CELLS else first
        gap = " " * max(2, _TITLE_CELLS - cell_len(self.title))
        return Content.assemble(
            (f"{keys:<{_KEY_CELLS}}", "$gr-accent"),
            title.stylize_before("not bold"),
            gap,
            (group, "$gr-muted not bold"),
        )


class HasCommands(Protocol):
    """The part of the app that the palette uses."""

    recent_commands: RecentCommands

    def palette_entries(self, screen: Screen[object]) -> Iterable[Entry]: ...


class Commands(Provider):
    async def discover(self) -> Hits:
        recent = self._app.recent_commands.ids
        entries = {entry.id: entry for entry in self._app.palette_entries(self.screen)}
        first = [entries[name] for name in recent if name in entries]
        above = ""
        for entry in (*first, *(entry for entry in entries.values() if entry.id not in recent)):
            group = "used recently" if entry.id in recent else entry.group
            named = group if group != above else ""  # once, as a heading
            above = group
            yield DiscoveryHit(entry.row(Content(entry.title), named), entry.run, text=entry.title)

    async def search(self, query: str) -> Hits:
        """Commands by their titles or their keys, then those with the words in their help."""
        matcher = self.matcher(query)
        for entry in self._app.palette_entries(self.screen):
            score = 1.0 if query in entry.keys.split() else matcher.match(entry.title)
            if not score and query.casefold() in f"{entry.about} {entry.group}".casefold():
                score = _ABOUT_SCORE
            if score:
                yield Hit(score, entry.row(matcher.highlight(entry.title), entry.group), entry.run, text=entry.title)

    @property
    def _app(self) -> HasCommands:
        return cast(HasCommands, self.app)
