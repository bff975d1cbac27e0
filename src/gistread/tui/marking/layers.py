"""What lies over the text of the book, in layers: highlights, what was cited, what was found.

The one place that gives panes their marks. Whoever has marks to show sets a layer of their own; a later layer
of `Layer` lies over an earlier one. Knows neither what a mark means nor what it looks like.
"""

from collections.abc import Iterable
from enum import IntEnum

from gistread.tui.text.marks import Mark
from gistread.tui.text.widget import LongText


class Layer(IntEnum):
    """From the lowest to the topmost."""

    HIGHLIGHTS = 1
    """The person's own marks."""
    SPOKEN = 2
    """The sentence that is being read aloud."""
    LINKS = 3
    """The link that is chosen."""
    CITED = 4
    """The source of an answer that was gone to."""
    HITS = 5
    """What a search found."""
    CURRENT_HIT = 6


class Layers:
    """The marks of these panes, which show the same book."""

    def __init__(self, *panes: LongText) -> None:
        self._panes = panes
        self._layers: dict[Layer, tuple[Mark, ...]] = {}

    def set(self, layer: Layer, marks: Iterable[Mark] = ()) -> None:
        """Show these marks in a layer in place of those that were in it; none empties it."""
        wanted = tuple(marks)
        if wanted == self._layers.get(layer, ()):
            return
        self._layers[layer] = wanted
        shown = tuple(mark for one in sorted(self._layers) for mark in self._layers[one])
        for pane in self._panes:
            pane.marks = shown

    def of(self, layer: Layer) -> tuple[Mark, ...]:
        """What is shown in a layer."""
        return self._layers.get(layer, ())
