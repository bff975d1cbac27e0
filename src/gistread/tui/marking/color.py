"""The list of highlight colours."""

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from gistread.marking.model import Color
from gistread.tui.marking.describe import COLOR_SIGNS
from gistread.tui.screens.listing import ListScreen


class ColorScreen(ListScreen):
    """Dismissed with the name of a colour."""

    def __init__(self, current: Color) -> None:
        super().__init__("Highlight colour", "For the selection and later highlights.")
        self._current = current

    def on_mount(self) -> None:
        options = self.query_one("#rows", OptionList)
        for color in Color:
            look = f"$gr-on-mark on $gr-highlight-{color}"
            options.add_option(Option(Content.assemble(f"{COLOR_SIGNS[color]} ", (f" {color} ", look)), id=color.value))
        options.highlighted = list(Color).index(self._current)
