"""Marks over the text of the book, in layers: highlights, citations, search hits.

The only place that gives panes their marks. Each controller sets its own layer.
"""

from collections.abc import Iterable
from enum import IntEnum

from gistread.tui.text import LongText, Mark


class Layer(IntEnum):
    """From bottom to top."""

    HIGHLIGHTS = 1
    """The person's own marks."""
    SPOKEN = 2
    """The sentence being read aloud."""
    LINKS = 3
    """The chosen link."""
    CITED = 4
    """The source of an answer that was followed."""
    HITS = 5
    CURRENT_HIT = 6


class MarkLayers:
    def __init__(self, *panes: LongText) -> None:
        self._panes = panes
        self._layers: dict[Layer, tuple[Mark, ...]] = {}

    def set(self, layer: Layer, marks: Iterable[Mark] = ()) -> None:
        """Replace the marks of a layer."""
        wanted = tuple(marks)
        if wanted == self._layers.get(layer, ()):
            return
        self._layers[layer] = wanted
        shown = tuple(mark for one in sorted(self._layers) for mark in self._layers[one])
        for pane in self._panes:
            pane.marks = shown

    def of(self, layer: Layer) -> tuple[Mark, ...]:
        return self._layers.get(layer, ())
