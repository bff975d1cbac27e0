"""The theme chooser, with a preview; Esc restores the previous theme."""

from collections.abc import Sequence

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import OptionList, Static

from gistread.tui.screens.listing import ListScreen, Row
from gistread.tui.text import Block, LongText, Mark, Span
from gistread.tui.themes import HIGHLIGHTS, Palette
from gistread.tui.widgets.lines import Line, fitted

SAMPLE_COLUMNS = 72  # columns below which there is no sample; the screen behind shows the theme

_PROSE = (
    "The lamp was lit at dusk. ‘Keep it,’ she said, ‘as you would keep a promise’, and went down to the boats, where "
    "the men stood talking of the ice. He counted the stairs. He oiled the brass, and wrote the hour and the wind into "
    "the log."
)
_HIGHLIGHTED = ("lit at dusk", "keep a promise", "talking of the ice", "oiled the brass")


class ThemeList(OptionList):
    """A list whose cursor follows the mouse, for the preview."""

    def on_mouse_move(self, event: events.MouseMove) -> None:
        index = event.style.meta.get("option")
        if index is not None:
            self.highlighted = index


class ThemeScreen(ListScreen):
    """Dismissed with the name of a theme. `problems`: one line for each invalid theme file."""

    def __init__(self, palettes: Sequence[Palette], current: str, problems: Sequence[str]) -> None:
        rows = [Row(one.name, f"{fitted(one.title, 22):<24}{_ground(one)}") for one in palettes]
        note = "\n".join((*problems, "Enter keeps it, Esc keeps the one before."))
        super().__init__("Choose a theme", note, rows, current)

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel", id="themes"):
            yield Static(self._title, classes="panel-title", markup=False)
            yield Static(self._note, classes="panel-note", id="note", markup=False)
            with Horizontal():
                yield ThemeList(id="rows", markup=False)
                with Vertical(id="sample"):
                    yield LongText(_book(), side_margin=1, id="sample-book")
                    yield LongText(_memory(), side_margin=1, id="sample-memory")
                    yield Line(id="sample-status")

    def on_mount(self) -> None:
        for text in self.query(LongText):
            text.can_focus = False
        highlights = (Mark(*_place(words), style) for words, style in zip(_HIGHLIGHTED, HIGHLIGHTS, strict=True))
        cited = Mark(*_place("counted the stairs"), "cited")
        self.query_one("#sample-book", LongText).marks = (*highlights, cited)
        self.query_one("#sample-status", Line).update("● Reading along · 12 of ~46 pages · 4 min left")

    def on_resize(self, event: events.Resize) -> None:
        self.query_one("#sample").display = event.size.width >= SAMPLE_COLUMNS

    @on(OptionList.OptionHighlighted)
    def _preview(self, event: OptionList.OptionHighlighted) -> None:
        if event.option.id is not None:
            self.app.theme = event.option.id


def _ground(palette: Palette) -> str:
    return "own" if palette.terminal else "dark" if palette.dark else "light"


def _place(words: str) -> tuple[int, int]:
    start = _PROSE.index(words)
    return start, start + len(words)


def _book() -> tuple[Block, ...]:
    spans = Span(*_place("as you would"), "emphasis"), Span(*_place("the log"), "link")
    return (
        Block("IV. The Keeper", style="heading", level=2, align="center", blank_before=0),
        Block(_PROSE, start=0, spans=spans),
        Block("Nobody asked who had lit it.", start=len(_PROSE), style="quote", indent=4),
    )


def _memory() -> tuple[Block, ...]:
    answer = "Finch relit the lamp [11]."
    return (
        Block(
            "Finch learns the lamp and the tides.", hanging=" 10", indent=5, style="gist", tail="← you", blank_before=0
        ),
        Block("opened by the agent", hanging=" 11 ▾", indent=5, style="muted", blank_before=0),
        Block(answer, style="answer", spans=(Span(answer.index("["), len(answer) - 1, "link"),)),
    )
