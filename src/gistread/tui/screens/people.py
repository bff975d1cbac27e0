"""The people and places of the book, those near the reading place first, with a filter."""

from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, Static

from gistread.people.joining import Entity
from gistread.tui.commands import own_keys
from gistread.tui.screens.listing import RowsPanel
from gistread.tui.text import Block, Clicked, LongText, Span
from gistread.tui.widgets.lines import Actions
from gistread.units import counted


class PeopleScreen(RowsPanel[str | None]):
    """Dismissed with a form of the chosen name, with `undo` or `timeline`, or with None."""

    BINDINGS = own_keys(
        ("escape", "leave", "Close"),
        ("tab", "dismiss('timeline')", "Timeline"),
        ("ctrl+z", "dismiss('undo')", "Undo the last correction"),
        priority=True,
    )

    def __init__(self, entities: Sequence[Entity], length: int, note: str) -> None:
        """`length` of the book in characters; `note`: how much of the book is covered."""
        super().__init__()
        self._entities = entities
        self._length = length
        self._note = note

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel", id="people-panel"):
            yield Static("People and places", classes="panel-title", markup=False)
            yield Input(placeholder="a name", compact=True)
            yield Static("", classes="panel-note", id="note", markup=False)
            yield LongText(cursor=True, side_margin=0, id="rows")
            yield Actions(
                ("Enter", "card", "choose"),
                ("Tab", "timeline", "dismiss('timeline')"),
                ("Ctrl+Z", "undo", "dismiss('undo')"),
            )

    def on_mount(self) -> None:
        self._show()

    @on(Input.Changed)
    def _show(self) -> None:
        wanted = self.wanted.casefold().strip()
        numbers = [number for number, one in enumerate(self._entities) if _has(one, wanted)]
        self.rows.show([self._block(number, first=not at) for at, number in enumerate(numbers)], keep_position=False)
        self.rows.action_top()
        found = counted(len(numbers), "name") if numbers else "no such name" if wanted else "no names"
        self.query_one("#note", Static).update(" ".join(filter(None, (found, self._note))))

    def _block(self, number: int, *, first: bool) -> Block:
        entity = self._entities[number]
        others = f"  {', '.join(entity.others)}" if entity.others else ""
        return Block(
            f"{entity.name}{others}",
            key=number,
            spans=(Span(0, len(entity.name), "strong"),),
            tail=f"{counted(entity.count, 'mention')} · first at {entity.first / max(1, self._length):.0%}",
            blank_before=0 if first else 1,
        )

    @on(Input.Submitted)
    def action_choose(self) -> None:
        if isinstance(key := self.rows.cursor_key, int):
            self.dismiss(self._entities[key].forms[0].text)

    @on(Clicked, "#rows")
    def _clicked(self, event: Clicked) -> None:
        if isinstance(event.block_key, int):
            self.dismiss(self._entities[event.block_key].forms[0].text)


def _has(entity: Entity, wanted: str) -> bool:
    return any(wanted in name.casefold() for name in (entity.name, *entity.others))
