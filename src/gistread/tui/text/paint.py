"""One row of a laid-out block as a strip of segments.

The painter decides what stands where and in which style by name; what the names look like is the stylesheet's
affair, and what is scrolled where the widget's. Text reaches a segment as it is, never as markup.
"""

from collections.abc import Sequence
from itertools import pairwise

from rich.segment import Segment
from rich.style import Style
from textual.widget import Widget

from gistread.tui.text.cells import cell_len, clean, crop
from gistread.tui.text.document import Span
from gistread.tui.text.layout import Layout, label_of
from gistread.tui.text.scripts import TABLES, can_shift
from gistread.tui.text.stylesheet import PREFIX, STYLES


class Palette:
    """What the names of styles look like in the widget as it stands now."""

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self.ground: Style = widget.rich_style
        """Of cells without text."""
        self._blocks: dict[tuple[str, int], Style] = {}
        self._layers: dict[str, Style] = {}
        self._selection: Style | None = None

    @property
    def selection(self) -> Style:
        """What selecting changes."""
        if self._selection is None:
            # Without colours nothing but attributes can tell what is selected.
            no_color = self._widget.app.no_color
            self._selection = Style(reverse=True) if no_color else _layer(self._widget.screen, "screen--selection")
        return self._selection

    def block(self, style: str, level: int = 0) -> Style:
        """The whole style of a block's text."""
        found = self._blocks.get((style, level))
        if found is None:
            found = self._widget.get_component_rich_style(PREFIX + (style if style in STYLES else "text"))
            if f"{style}-{level}" in STYLES:
                found += self.layer(f"{style}-{level}")
            self._blocks[style, level] = found
        return found

    def layer(self, style: str) -> Style:
        """What a span or a mark changes about the style under it."""
        found = self._layers.get(style)
        if found is None:
            found = _layer(self._widget, PREFIX + style) if style in STYLES else Style.null()
            self._layers[style] = found
        return found


def _layer(widget: Widget, name: str) -> Style:
    """What a component style changes about the style under it."""
    own = widget.get_component_rich_style(name, partial=True)
    # Colours that depend on the background (auto, half transparent) are right in the whole style only.
    whole = widget.get_component_rich_style(name)
    return own + Style(color=whole.color if own.color else None, bgcolor=whole.bgcolor if own.bgcolor else None)


def paint_row(
    layout: Layout,
    row: int,
    palette: Palette,
    marked: Sequence[Span] = (),
    selected: tuple[int, int] | None = None,
    joined: bool = False,
) -> tuple[list[Segment], int]:
    """The row from the rail to the end of the text or of the tail (at most `layout.width` cells), and how many of
    its characters stand before the text.

    Args:
        marked: what is drawn over the block's own style and spans, the topmost last.
        selected: the part `[start, end)` of the block's text that is selected.
        joined: whether the block goes on from the one before, so that its rail runs through the empty rows between.
    """
    block = layout.block
    base = palette.block(block.style, block.level)
    ground = palette.ground
    segments: list[Segment] = []
    used = lead = 0
    rail = crop(clean(block.rail), layout.left)
    if rail and (joined or row >= block.blank_before):
        segments.append(Segment(rail, palette.block("rail")))
        used = cell_len(rail)
    span = layout.span(row)
    if span is not None:
        if row == block.blank_before and (label := label_of(layout)):
            segments.append(Segment(label, palette.block("label")))
            used += cell_len(label)
        if (gap := layout.text_cell(row) - used) > 0:
            segments.append(Segment(" " * gap, ground))
            used += gap
        lead = sum(len(segment.text) for segment in segments)
        pieces = _pieces(layout, span, base, palette, marked, selected)
        segments.extend(pieces)
        used += sum(cell_len(piece.text) for piece in pieces)
    if block.tail and row == layout.rows - 1:
        tail = crop(clean(block.tail), layout.width - used)
        segments.append(Segment(" " * (layout.width - used - cell_len(tail)), ground))
        segments.append(Segment(tail, palette.block("tail")))
    return segments, lead


def _pieces(
    layout: Layout,
    span: tuple[int, int],
    base: Style,
    palette: Palette,
    marked: Sequence[Span],
    selected: tuple[int, int] | None,
) -> list[Segment]:
    """The row's text, cut where its style changes."""
    start, end = span
    drawn = [piece for piece in (*layout.block.spans, *marked) if piece.start < end and piece.end > start]
    layers = [(piece.start, piece.end, palette.layer(piece.style)) for piece in drawn]
    shifted = [
        (piece.start, piece.end, TABLES[piece.style])
        for piece in drawn
        if can_shift(layout.shown[piece.start : piece.end], piece.style)
    ]
    if selected is not None and selected[0] < end and selected[1] > start:
        layers.append((*selected, palette.selection))
    if not layers:
        return [Segment(layout.shown[start:end], base)] if end > start else []
    cuts = sorted({start, end, *(min(max(cut, start), end) for first, last, _ in layers for cut in (first, last))})
    segments = []
    for left, right in pairwise(cuts):
        style = base
        for first, last, layer in layers:
            if first <= left and right <= last:
                style += layer
        text = layout.shown[left:right]
        for first, last, table in shifted:
            if first <= left and right <= last:
                text = text.translate(table)
        segments.append(Segment(text, style))
    return segments
