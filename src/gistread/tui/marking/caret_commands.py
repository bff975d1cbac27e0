"""The commands that move the caret and extend the selection."""

from enum import StrEnum
from typing import Protocol

from gistread.tui.commands import Command, Scope


class Unit(StrEnum):
    """What the caret moves by."""

    WORD = "word"
    SENTENCE = "sentence"
    PARAGRAPH = "paragraph"
    ROW = "row"


class CaretText(Protocol):
    """A text with a caret. `gistread keys` names its commands without a widget."""

    def move_caret(self, unit: Unit, *, forward: bool) -> None: ...

    def extend_selection(self, unit: Unit, *, forward: bool) -> None: ...

    def drop_selection(self) -> None: ...

    def toggle_anchor(self) -> None: ...


_MOVING_CARET: tuple[Command[CaretText], ...] = (
    Command(
        Scope.SELECTING,
        "caret-next-word",
        "right",
        "Caret to the next word",
        lambda text: text.move_caret(Unit.WORD, forward=True),
    ),
    Command(
        Scope.SELECTING,
        "caret-previous-word",
        "left",
        "Caret to the previous word",
        lambda text: text.move_caret(Unit.WORD, forward=False),
    ),
    Command(
        Scope.SELECTING,
        "caret-next-row",
        "down,j",
        "Caret to the next line",
        lambda text: text.move_caret(Unit.ROW, forward=True),
    ),
    Command(
        Scope.SELECTING,
        "caret-previous-row",
        "up,k",
        "Caret to the previous line",
        lambda text: text.move_caret(Unit.ROW, forward=False),
    ),
    Command(
        Scope.SELECTING,
        "caret-next-sentence",
        ")",
        "Caret to the next sentence",
        lambda text: text.move_caret(Unit.SENTENCE, forward=True),
    ),
    Command(
        Scope.SELECTING,
        "caret-previous-sentence",
        "(",
        "Caret to the previous sentence",
        lambda text: text.move_caret(Unit.SENTENCE, forward=False),
    ),
    Command(
        Scope.SELECTING,
        "caret-next-paragraph",
        "}",
        "Caret to the next paragraph",
        lambda text: text.move_caret(Unit.PARAGRAPH, forward=True),
    ),
    Command(
        Scope.SELECTING,
        "caret-previous-paragraph",
        "{",
        "Caret to the previous paragraph",
        lambda text: text.move_caret(Unit.PARAGRAPH, forward=False),
    ),
)
EXTENDING: tuple[Command[CaretText], ...] = (
    Command(
        Scope.SELECTING,
        "extend-next-word",
        "shift+right",
        "Extend by a word; starts a selection",
        lambda text: text.extend_selection(Unit.WORD, forward=True),
    ),
    Command(
        Scope.SELECTING,
        "extend-previous-word",
        "shift+left",
        "Extend back by a word",
        lambda text: text.extend_selection(Unit.WORD, forward=False),
    ),
    Command(
        Scope.SELECTING,
        "extend-next-row",
        "shift+down",
        "Extend by a line",
        lambda text: text.extend_selection(Unit.ROW, forward=True),
    ),
    Command(
        Scope.SELECTING,
        "extend-previous-row",
        "shift+up",
        "Extend back by a line",
        lambda text: text.extend_selection(Unit.ROW, forward=False),
    ),
)
DROP_SELECTION: Command[CaretText] = Command(
    Scope.SELECTING,
    "drop-selection",
    "escape",
    "Clear the selection",
    lambda text: text.drop_selection(),
)
SELECTING: tuple[Command[CaretText], ...] = (
    *_MOVING_CARET,
    *EXTENDING,
    Command(
        Scope.SELECTING,
        "caret-anchor",
        "V,v",
        "Begin the selection here",
        lambda text: text.toggle_anchor(),
        help="Arrows extend it.",
    ),
    DROP_SELECTION,
)
