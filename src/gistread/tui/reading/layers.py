"""Layers of marks over the text: each controller sets its own, and all are drawn together."""

from collections.abc import Iterable
from enum import IntEnum

from gistread.tui.text import LongText, Mark


class Layer(IntEnum):
    """Layers of marks over the text, from bottom to top."""

    SECTIONS = 0  # Where the sections of the memory begin
    MODEL = 1  # The page that the model is reading
    HIGHLIGHTS = 2  # The user's own marks
    SPOKEN = 3  # The sentence being read aloud
    LINKS = 4  # The chosen link
    CITED = 5  # The source of an answer that was followed
    HITS = 6  # The hits of a search
    CURRENT_HIT = 7


class MarkLayers:
    """Marks over the text of the book, in its pane and in the memory's."""

    def __init__(self, book: LongText, memory: LongText) -> None:
        self._book, self._memory = book, memory
        self._layers: dict[Layer, tuple[Mark, ...]] = {}

    def set(self, layer: Layer, marks: Iterable[Mark] = ()) -> None:
        """Replace the marks of a layer."""
        marks = tuple(marks)
        if marks == self._layers.get(layer, ()):
            return
        self._layers[layer] = marks
        above_sections = tuple(
            mark
            for other in Layer
            if other is not Layer.SECTIONS
            for mark in self.of(other)
        )
        self._book.marks = (*self.of(Layer.SECTIONS), *above_sections)
        # The memory shows the numbers of its sections itself.
        self._memory.marks = above_sections

    def of(self, layer: Layer) -> tuple[Mark, ...]:
        return self._layers.get(layer, ())
