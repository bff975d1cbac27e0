"""Asks for a letter, to set a mark or to go to one."""

from collections.abc import Sequence
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from gistread.book.model import Book
from gistread.marking.model import Mark
from gistread.tui.marking.describe import where, words_of
from gistread.tui.text import clean

BACK = "'"


class LetterScreen(ModalScreen[str | None]):
    """Dismissed with a letter, with `BACK` if that is offered, or with None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Close", show=False)]
    AUTO_FOCUS = "OptionList"

    def __init__(self, title: str, marks: Sequence[Mark], book: Book, *, back: bool = False) -> None:
        super().__init__()
        self._title = title
        self._marks = marks
        self._book = book
        self._back = back

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel"):
            yield Static(self._title, classes="panel-title", markup=False)
            note = "" if self._marks else "No letter is set in this book yet."
            yield Static(f"{note} Esc leaves it.".strip(), classes="panel-note", markup=False)
            rows = [
                Option(
                    Content.assemble(
                        (mark.letter, "bold $gr-accent"),
                        f"  {clean(words_of(mark, 60))}\n   ",
                        (clean(where(mark, self._book)), "$gr-muted"),
                    ),
                    id=mark.letter,
                )
                for mark in self._marks
            ]
            if self._back:
                rows.append(Option(Content.assemble((BACK, "bold $gr-accent"), "  back to where you were"), id=BACK))
            options = OptionList(*rows, markup=False)
            options.display = bool(rows)
            yield options

    def on_key(self, event: events.Key) -> None:
        character = event.character or ""
        if len(character) == 1 and (character.isalpha() or (self._back and character == BACK)):
            event.stop()
            event.prevent_default()
            self.dismiss(character)

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)
