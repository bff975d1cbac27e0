"""Panels over a screen, and lists in them.

All have the same frame. A list has a cursor, keys for its rows, and often a line that filters it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen, ScreenResultType
from textual.widgets import Input, Static

from gistread.book.model import Book
from gistread.search.tokens import folded
from gistread.tui.commands import display_key, own_keys
from gistread.tui.text import Block, Clicked, Span, clean
from gistread.tui.widgets.input_line import OrderedInput
from gistread.tui.widgets.lines import ActionItem, Actions
from gistread.tui.widgets.row_list import RowList
from gistread.units import format_place

T = TypeVar("T")
_LEAST_ROWS = 6  # Fewest rows of a list that takes the height it needs
_AROUND_ROWS = 8  # Rows of a panel around its list
_HEADING_LEVEL = 4  # Small, and at the left
# Where the cursor is at first, from the top (0) to the bottom (1) of the list
_PLACE_OF_CHOSEN = 0.4


def place_in(book: Book, offset: int, length: int = 0) -> str:
    """A place in words: `34% · Chapter 2`.

    `length`: characters of the whole book, if `book` is only its beginning.
    """
    place = format_place(offset, length or len(book.text))
    return " · ".join(filter(None, (place, book.chapter_title(offset))))


class Panel(ModalScreen[ScreenResultType]):
    """A panel over a screen.

    A click outside or on the words in its border closes it without a result.
    """

    BINDINGS = own_keys(("escape", "leave", "Close"), priority=True)
    CLOSE = "[@click=screen.leave]Esc close[/]"  # In the border
    CLEAR = "[@click=screen.leave]Esc clear[/]"  # While a list is filtered
    # Whether the panel may be as tall as the screen. It keeps its height while it is filtered.
    TALL = False
    # Textual declares no class variables.
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-low"), (18, "-middle"), (30, "-high")]  # noqa: RUF012

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title

    def compose(self) -> ComposeResult:
        classes = "panel -tall" if self.TALL else "panel"
        with Vertical(classes=classes) as frame:
            frame.border_title = Content(clean(self._title))
            frame.border_subtitle = self.CLOSE
            yield from self.compose_panel()

    def compose_panel(self) -> ComposeResult:
        """The widgets in the frame."""
        raise NotImplementedError

    def on_click(self, event: events.Click) -> None:
        if not self.query_one(".panel").region.contains_point(event.screen_offset):
            self.action_leave()

    def action_leave(self) -> None:
        self.dismiss(None)

    async def action_dismiss(self, result: ScreenResultType | None = None) -> None:
        """Close the panel, but not before it is mounted: a key may arrive while it is composed."""
        if self.is_mounted:
            await super().action_dismiss(result)
        else:
            # Twice later: after everything that waits now. By then it may be mounted.
            self.call_later(self.call_later, self.action_dismiss, result)


@dataclass(frozen=True, slots=True)
class Row(Generic[T]):
    """A row that can be chosen, or without a key a heading or text in another `style`."""

    key: T | None
    text: str
    about: str = ""  # Muted lines below the text
    also: str = ""  # More words that the filter matches
    tail: str = ""  # Muted, at the right
    spans: tuple[Span, ...] = ()
    indent: int = 0
    hanging: str = ""
    style: str = "heading"  # Style of a row without a key

    def blocks(self, number: int, *, spaced: bool) -> list[Block]:
        """The blocks of the row, the `number`th from 0. `spaced`: with empty rows between rows."""
        is_set_apart = spaced or self.key is None
        above = 1 if number > 0 and is_set_apart else 0
        if self.key is None:
            level = _HEADING_LEVEL if self.style == "heading" else 0
            return [Block(self.text, style=self.style, level=level, blank_before=above)]
        text = Block(
            self.text,
            key=number,
            spans=self.spans,
            tail=self.tail,
            indent=self.indent,
            hanging=self.hanging,
            blank_before=above,
        )
        about = [
            Block(line, key=number, style="muted", indent=2, blank_before=0)
            for line in self.about.split("\n")
            if line
        ]
        return [text, *about]

    def holds(self, words: Sequence[str]) -> bool:
        """Whether all of these folded words are in the row."""
        text = folded(f"{self.text} {self.about} {self.also}".casefold())
        return all(word in text for word in words)


class ListScreen(Panel[T | None]):
    """A list, with a line to filter it if it has a placeholder.

    Dismissed with the key of the chosen row, or None. Letters filter, unless they are keys of the
    list (`LETTERS`); then `/` goes to the line.
    """

    BINDINGS = [  # noqa: RUF012
        *own_keys(
            ("down", "move('line_down', 1)"),
            ("up", "move('line_down', -1)"),
            ("pagedown", "move('turn', 1)"),
            ("pageup", "move('turn', -1)"),
            ("ctrl+home", "move('top')"),
            ("ctrl+end", "move('bottom')"),
            priority=True,
        ),
        *own_keys(("enter", "choose"), ("q", "leave"), ("slash", "filter")),
    ]
    AUTO_FOCUS = ""
    ENTER = ""  # What Enter does, in a word; empty if that goes without saying
    # Keys of the list, as for `own_keys`; they are shown below it
    KEYS: ClassVar[tuple[tuple[str, str, str], ...]] = ()
    LETTERS = False  # Whether letters are keys of the list
    FILTERS = True  # Whether only rows with the words in the line are shown
    SPACED = False  # Whether empty rows stand between the rows
    # What to do with the chosen row; keys of the list set other verbs (`leave_with`)
    verb = "go"

    def __init__(
        self,
        title: str,
        note: str = "",
        rows: Sequence[Row[T]] = (),
        at: T | None = None,
        *,
        placeholder: str = "",
        typed: str = "",
    ) -> None:
        """`at`: key of the row for the cursor; `typed`: what is in the line at first."""
        super().__init__(title)
        self.note = note
        self.rows = rows
        self.at = at
        self.shown: Sequence[Row[T]] = ()  # The rows that match what is typed
        self._placeholder = placeholder
        self._first_typed = typed
        self._most_rows = _LEAST_ROWS  # The most rows that a tall panel has shown

    def compose_panel(self) -> ComposeResult:
        yield Static(self.note, classes="panel-note", id="note", markup=False)
        if self._placeholder:
            yield OrderedInput(
                self._first_typed,
                placeholder=self._placeholder,
                compact=True,
                id="typed",
            )
        rows = RowList(cursor=True, side_margin=0, id="rows")
        rows.can_focus = self.LETTERS or not self._placeholder
        yield rows
        yield Actions(id="row-keys")

    def on_mount(self) -> None:
        self.set_focus(self.list if self.list.can_focus else self.query_one("#typed"))
        self.show_rows(self.at)
        if self.list.cursor_key != self._first_number:
            self.list.scroll_to_key(self.list.cursor_key, top=_PLACE_OF_CHOSEN)

    @property
    def list(self) -> RowList:
        return self.query_one("#rows", RowList)

    @property
    def typed(self) -> str:
        """What is typed in the line; empty without a line."""
        if not self._placeholder:
            return ""
        return self.query_one("#typed", Input).value.strip()

    @property
    def chosen(self) -> T | None:
        """Key of the row under the cursor."""
        number = self.list.cursor_key
        if isinstance(number, int) and number < len(self.shown):
            return self.shown[number].key
        return None

    def rows_for(self, typed: str) -> Sequence[Row[T]]:
        """The rows to show for what is typed in the line."""
        words = folded(typed.casefold()).split()
        if not self.FILTERS or not words:
            return self.rows
        return [row for row in self.rows if row.key is not None and row.holds(words)]

    @property
    def nothing(self) -> str:
        """What to say without any row."""
        if not self.typed:
            return ""
        return "Nothing in the list has these words."

    @property
    def _first_number(self) -> int | None:
        """The number of the first row that can be chosen."""
        for number, row in enumerate(self.shown):
            if row.key is not None:
                return number
        return None

    def _number_of(self, key: T | None) -> int | None:
        """The number of the row with this key, or else of the first that can be chosen."""
        if key is not None:
            for number, row in enumerate(self.shown):
                if row.key == key:
                    return number
        return self._first_number

    def show_rows(self, at: T | None) -> None:
        """Draw the rows for what is typed, with the cursor on this key, or else on the first."""
        self.shown = self.rows_for(self.typed)
        blocks = [
            block
            for number, row in enumerate(self.shown)
            for block in row.blocks(number, spaced=self.SPACED)
        ]
        if self.TALL and not self.list.size.height:
            # About the height that it needs, until that can be measured
            self.query_one(".panel").styles.height = _AROUND_ROWS + len(blocks)
        self.list.show(blocks or [Block(self.nothing, style="muted", blank_before=0)])
        self.list.set_cursor(self._number_of(at))
        self.list.show_heading()
        self.say(self.note)
        self.query_one("#row-keys", Actions).show_actions(*self._actions())
        self.call_after_refresh(self._fit)

    def _actions(self) -> Sequence[ActionItem]:
        """The keys of the list, with Enter and the filter if it has rows."""
        actions: list[ActionItem] = []
        for keys, action, word in self.KEYS:
            first_key, _, _ = keys.partition(",")
            actions.append((display_key(first_key), word, action))
        if not self.shown:
            # Without a row, letters do nothing.
            return () if self.LETTERS else actions
        if self.ENTER:
            actions.insert(0, ("Enter", self.ENTER, "choose"))
        if self.LETTERS and self._placeholder:
            actions.append(("/", "filter", "filter"))
        return actions

    def on_resize(self) -> None:
        self._most_rows = _LEAST_ROWS
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        """Give a tall panel the height that its rows need. It does not shrink while filtered."""
        # There is no list before the panel is mounted, and once it is closed.
        rows = self.query_one_optional("#rows", RowList)
        if not self.TALL or rows is None or not rows.size.height:
            return
        panel = self.query_one(".panel")
        self._most_rows = max(self._most_rows, self.list.row_count)
        height_before = panel.styles.height
        rows_around = panel.outer_size.height - self.list.size.height
        height = rows_around + self._most_rows
        panel.styles.height = height
        has_changed = height_before is None or height_before.value != height
        if has_changed:
            # A list squeezed to one row cannot be measured well: measure again.
            self.call_after_refresh(self._fit)
        else:
            self.list.show_heading()  # There may be room for it now.

    def say(self, note: str) -> None:
        """Show this above the list."""
        self.note = note
        line = self.query_one("#note", Static)
        line.update(clean(note))
        line.display = bool(note)

    @on(Input.Changed, "#typed")
    def _line_changed(self) -> None:
        self.filtered()

    @on(Input.Submitted, "#typed")
    async def _line_entered(self) -> None:
        """Choose. The line reports Enter after the letters before it, however fast they came."""
        await self.run_action("choose")

    def filtered(self) -> None:
        """Show the rows for what is typed now."""
        # The first row that matches is the likeliest choice.
        self.show_rows(None if self.typed else self.at)
        is_filtered = self.query_one("#typed", Input).value != self._first_typed
        panel = self.query_one(".panel")
        panel.border_subtitle = self.CLEAR if is_filtered else self.CLOSE

    def action_move(self, action: str, *arguments: int) -> None:
        getattr(self.list, f"action_{action}")(*arguments)

    def action_filter(self) -> None:
        if self._placeholder:
            self.set_focus(self.query_one("#typed"))

    def action_choose(self) -> None:
        key = self.chosen
        if key is not None:
            self.choose(key)

    def choose(self, key: T) -> None:
        """Do what the list is for with the chosen row: by default, close with its key."""
        self.dismiss(key)

    def action_leave_with(self, verb: str) -> None:
        """Close with the chosen row and another verb."""
        if self.chosen is not None:
            self.verb = verb
            self.dismiss(self.chosen)

    def action_leave(self) -> None:
        """Restore the line; if it is as at first, go back to the list; in the list, close.

        In a list whose letters filter, the line has the focus: there, close.
        """
        line = self.query_one("#typed", Input) if self._placeholder else None
        if line is not None and line.value != self._first_typed:
            line.value = self._first_typed
        elif self.list.can_focus and not self.list.has_focus:
            self.set_focus(self.list)
        else:
            self.dismiss(None)

    @on(Clicked, "#rows")
    def _clicked(self, event: Clicked) -> None:
        """Choose the row; in a list with keys of its own, a first click only moves the cursor."""
        is_choice = event.again or not self.LETTERS
        if event.block_key is not None and is_choice:
            self.action_choose()


class AskScreen(ListScreen[str]):
    """A list with a line for another answer.

    Dismissed with what is typed, or the key of the chosen row.
    """

    FILTERS = False

    def action_choose(self) -> None:
        answer = self.typed or self.chosen
        if answer:
            self.dismiss(answer)


class StoryScreen(ListScreen[int]):
    """Paragraphs. Dismissed with the offset in the book of the chosen one."""

    ENTER = "go there"
    TALL = True
