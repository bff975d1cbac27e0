"""The help: all commands with their keys, those of the current pane first, with a filter."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import ActiveBinding
from textual.containers import Vertical
from textual.screen import Screen
from textual.widgets import Input, Static

from gistread.tui.commands import BY_ID, READING, Scope, display_key, help_lines, own_keys
from gistread.tui.layout import Pane
from gistread.tui.screens.listing import Panel
from gistread.tui.text import Block, LongText, Span

_INTRODUCTION = (
    "The model reads the book page by page and keeps a gist of each: that is the memory beside the book. "
    "A question is answered from the gists and the text; where they are not enough, the agent opens pages, and you see "
    "which and why. Numbers in brackets are the sources of an answer: they lead to its words in the book."
)
_KEY_COLUMNS = 18


class Line(NamedTuple):
    heading: str
    keys: str
    title: str
    about: str = ""

    def matches(self, words: Iterable[str]) -> bool:
        """Whether every word occurs in the line; a word of one letter is a key."""
        text = f"{self.heading} {self.keys} {self.title} {self.about}".casefold()
        return all(word in self.keys.split() if len(word) == 1 else word.casefold() in text for word in words)


def nearest_scopes(pane: Pane | None, *, selecting: bool = False, library: bool = False) -> tuple[Scope, ...]:
    """The scopes of the current screen and pane, nearest first; none for a panel with its own keys."""
    if library:
        return (Scope.LIBRARY, Scope.MOVING)
    if selecting:
        return (Scope.SELECTING, *READING)
    of_panes = {
        Pane.BOOK: (Scope.MOVING, *READING),
        Pane.MEMORY: (Scope.REMEMBERING, Scope.MEMORY, Scope.MOVING),
        Pane.ANSWERS: (Scope.ASKING, Scope.MOVING),
    }
    return of_panes[pane] if pane is not None else ()


def lines_of_panel(active: Iterable[ActiveBinding]) -> list[Line]:
    keys: dict[str, list[str]] = {}
    for one in active:
        binding = one.binding
        if isinstance(one.node, Screen) and binding.description and binding.id not in BY_ID:
            keys.setdefault(binding.description, []).append(display_key(binding.key))
    return [Line("On this panel", " ".join(those), what) for what, those in keys.items()]


def sorted_help(keymap: Mapping[str, str], first: Sequence[Scope], panel: Sequence[Line] = ()) -> list[Line]:
    table = [Line(place, keys, title, about) for place, keys, title, about in help_lines(keymap)]
    rank = {place: number for number, place in enumerate(first)}
    table.sort(key=lambda line: rank.get(Scope(line.heading), len(rank)))  # stable: the rest keeps its order
    return [*panel, *table]


class HelpScreen(Panel[None]):
    BINDINGS = own_keys(
        ("escape", "leave"),
        ("enter,f1", "dismiss"),
        ("down", "scroll('line_down')"),
        ("up", "scroll('line_up')"),
        ("pagedown", "scroll('page_down')"),
        ("pageup", "scroll('page_up')"),
        ("ctrl+home", "scroll('top')"),
        ("ctrl+end", "scroll('bottom')"),
        priority=True,
    )
    AUTO_FOCUS = "Input"

    def __init__(self, lines: Sequence[Line]) -> None:
        super().__init__()
        self._lines = lines

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel", id="help"):
            yield Static("Help", classes="panel-title", markup=False)
            yield Input(placeholder="Type to find a command or a key", compact=True, id="help-search")
            text = LongText(tuple(self._blocks("")), side_margin=0)
            text.can_focus = False
            yield text
            yield Static("Ctrl+P runs any command by its name.", classes="panel-foot", markup=False)

    def action_scroll(self, action: str) -> None:
        getattr(self.query_one(LongText), f"action_{action}")()

    @on(Input.Changed)
    def _search(self, event: Input.Changed) -> None:
        text = self.query_one(LongText)
        text.show(tuple(self._blocks(event.value)), keep_position=False)
        text.action_top()

    def _blocks(self, search: str) -> Iterator[Block]:
        words = search.split()
        if not words:
            yield Block(_INTRODUCTION, blank_before=0)
        heading = ""
        for line in self._lines:
            if not line.matches(words):
                continue
            if line.heading != heading:
                heading = line.heading
                yield Block(heading, style="heading", level=2)
            text = f"{line.title}. {line.about}" if line.about else line.title
            spans = (Span(len(line.title), len(text), "muted"),) if line.about else ()
            yield Block(text, hanging=line.keys, indent=_KEY_COLUMNS, blank_before=0, spans=spans)
        if not heading:
            yield Block(f"No command matches “{search.strip()}”.", style="muted")
