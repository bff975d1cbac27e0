"""The timeline of the book: chapters with dates, and a strip for each person."""

from textual.content import Content
from textual.widgets import Static

from gistread.people.timeline import Timeline, format_table
from gistread.tui.commands import own_keys
from gistread.tui.screens.listing import ListScreen, Row

_PANEL_CELLS = 140  # `TimelineScreen .panel` in gistread.tcss
_AROUND_CELLS = 9  # Border, padding and scroll bar


class TimelineScreen(ListScreen):
    """Dismissed with `at OFFSET NUMBER`, with `people` to go back to the list, or with None."""

    BINDINGS = own_keys(("tab", "dismiss('people')", "People and places"))

    def __init__(self, line: Timeline, place: int) -> None:
        """`place`: the reading place."""
        actions = (
            ("Enter", "go there", "choose"),
            ("Tab", "people", "dismiss('people')"),
        )
        super().__init__("Timeline", actions=actions)
        self._line = line
        self._place = place

    def on_mount(self) -> None:
        heading, rows = format_table(self._line, min(_PANEL_CELLS, self.app.size.width) - _AROUND_CELLS)
        self.query_one("#note", Static).update(heading)
        chapters = self._line.chapters
        here = max((at for at, one in enumerate(chapters) if one.start <= self._place), default=0)
        self._rows = [
            Row(f"at {one.date_at} {number}", Content(row))
            for number, (one, row) in enumerate(zip(chapters, rows, strict=True))
        ]
        self._at = self._rows[here].id if self._rows else ""
