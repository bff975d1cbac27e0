"""Paints one row of a laid-out block as segments. Text is never read as markup."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.widget import Widget

from gistread.tui.text.cells import TABLES, can_shift, cell_len, clean, crop
from gistread.tui.text.document import Span
from gistread.tui.text.layout import Layout
from gistread.tui.text.typesetting import Run, set_row

PREFIX = "long-text--"

_LOWEST_LEVEL = 4  # Lower headings look like this level


class TextStyles:
    """The styles of a widget by name, each computed when it is first needed."""

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self.ground: Style = widget.rich_style  # Of cells without text
        self.block = cache(self._block)
        # What a span or mark changes below it
        self.layer = cache(lambda style: _layer(widget, PREFIX + style))

    @cached_property
    def selection(self) -> Style:
        # Without colours only attributes show a selection.
        no_color = self._widget.app.no_color
        if no_color:
            return Style(reverse=True)
        return _layer(self._widget.screen, "screen--selection")

    def _block(self, style: str, level: int = 0) -> Style:
        base = self._widget.get_component_rich_style(PREFIX + style)
        if not level:
            return base
        return base + self.layer(f"{style}-{min(level, _LOWEST_LEVEL)}")

    def on_ground(self, style: Style, ground: str) -> Style:
        """A style on the background of the block style `ground`; unchanged if that is empty."""
        below = self.block(ground) if ground else Style.null()
        # None changes nothing, where False would undo a reversal.
        return style + Style(bgcolor=below.bgcolor, reverse=below.reverse or None)


def _layer(widget: Widget, name: str) -> Style:
    """The changes that a component style makes to the style below it."""
    changes = widget.get_component_rich_style(name, partial=True)
    # Colours that depend on the background (auto, transparent) are correct only in the whole style.
    whole = widget.get_component_rich_style(name)
    return changes + Style(
        color=whole.color if changes.color else None,
        bgcolor=whole.bgcolor if changes.bgcolor else None,
    )


@dataclass(frozen=True, slots=True)
class RowLook:
    """How one row is drawn, beside its layout."""

    palette: TextStyles
    marked: Sequence[Span]  # Drawn over the block's own style
    selected: tuple[int, int] | None  # Part of the block's text
    # Whether the block continues the one before and their rail runs through
    joined: bool
    ground: str  # A style whose background fills the row
    at: int  # The row's number in the document, for Textual's selections

    @property
    def bare(self) -> Style:
        """Of cells without text."""
        return self.palette.on_ground(self.palette.ground, self.ground)

    def on_ground(self, style: str) -> Style:
        return self.palette.on_ground(self.palette.block(style), self.ground)


def paint_row(layout: Layout, row: int, look: RowLook) -> list[Segment]:
    """The segments of a row, from the rail to the end of the text or tail."""
    block = layout.block
    segments: list[Segment] = []
    rail = crop(clean(block.rail), layout.left)
    if rail and (look.joined or row >= layout.above):
        segments.append(before_text(rail, look.on_ground("rail"), look.at))
    used = cell_len(rail)
    _, figure_rows = layout.figure_cells
    is_in_figure = 0 <= row - block.blank_before < figure_rows
    if is_in_figure:
        return [*segments, *_figure_row(layout, row, look, used)]
    if layout.span(row) is not None:
        lead = _lead(layout, row, look, used)
        segments += lead
        segments += _pieces(layout, row, look)
        used += sum(segment.cell_length for segment in lead) + layout.row_cells(row)
    is_last = row == layout.rows - 1
    if is_last and (block.tail or block.rule):
        segments += _tail(layout, row, look, used)
    return segments


def _figure_row(layout: Layout, row: int, look: RowLook, used: int) -> list[Segment]:
    """A row of the block's picture, centred, after `used` cells."""
    figure = layout.block.figure
    if figure is None:
        return []
    columns, rows = layout.figure_cells
    gap = max(0, layout.left + (layout.room - columns) // 2 - used)
    pixels = figure.row(row - layout.block.blank_before, columns, rows)
    bare = look.bare
    return [before_text(" " * gap, bare, look.at), *Segment.apply_style(pixels, bare)]


def _lead(layout: Layout, row: int, look: RowLook, used: int) -> list[Segment]:
    """The label and the empty cells before a row's text, after `used` cells."""
    lead: list[Segment] = []
    label = layout.label if row == layout.above else ""
    if label:
        lead.append(before_text(label, look.on_ground("label"), look.at))
    gap = layout.text_cell(row) - used - cell_len(label)
    if gap > 0:
        lead.append(before_text(" " * gap, look.bare, look.at))
    return lead


def _tail(layout: Layout, row: int, look: RowLook, used: int) -> list[Segment]:
    """The block's tail at the right edge, after a rule or empty cells."""
    block = layout.block
    tail = crop(clean(block.tail), layout.width - used)
    between = layout.width - used - cell_len(tail)
    style = look.bare
    line = " " * between
    if block.rule:
        style = look.palette.block("rule")
        # An empty cell on each side of the rule; without a tail, none at its end
        rule = "─" * (between - 1 - bool(tail))
        line = f" {rule} "[:between]
    start, end = layout.span(row) or (0, 0)
    length = end - start
    return [
        located(line, style, length, look.at),
        located(tail, look.on_ground("tail"), length, look.at),
    ]


def row_end(layout: Layout, row: int, look: RowLook, cells: int) -> Segment:
    """Empty cells after a row, which the mouse selects as the end of its text."""
    start, end = layout.span(row) or (0, 0)
    return located(" " * cells, look.bare, end - start, look.at)


def located(text: str, style: Style, character: int, row: int) -> Segment:
    """A segment that Textual finds under the mouse, and selects, as this character of a row."""
    return Segment(text, style + Style.from_meta({"offset": (character, row)}))


def before_text(text: str, style: Style, row: int) -> Segment:
    """A segment before the row's text, with negative character offsets."""
    return located(text, style, -len(text), row)


def _pieces(layout: Layout, row: int, look: RowLook) -> list[Segment]:
    """The row's text, in pieces of one style."""
    runs = set_row(layout, row)
    if not runs:
        return []
    block = layout.block
    block_style = look.palette.block(block.style, block.level)
    row_start, _ = layout.spans[layout.line_of(row)]
    painter = _RunPainter(
        base=look.palette.on_ground(block_style, look.ground),
        layers=_layers(layout, row, look),
        row_start=row_start,
        row=look.at,
    )
    segments: list[Segment] = []
    for run in runs:
        segments += painter.paint_text(run) if run.plain else painter.paint_filler(run)
    return segments


class _StyleLayer(NamedTuple):
    """What changes the look of `shown[start:end]`."""

    start: int
    end: int
    style: Style
    shifts: Mapping[int, int] | None = None  # Raises or lowers the characters


@dataclass(frozen=True, slots=True)
class _RunPainter:
    """Paints the runs of one row."""

    base: Style  # Below all layers
    layers: Sequence[_StyleLayer]
    row_start: int  # Index in `shown` of the row's first character
    row: int  # Its number in the document

    def paint_text(self, run: Run) -> Iterator[Segment]:
        """A plain run, split where a layer begins or ends."""
        edges = {edge for layer in self.layers for edge in (layer.start, layer.end)}
        inner_edges = sorted(edge for edge in edges if run.start < edge < run.end)
        for start, end in pairwise((run.start, *inner_edges, run.end)):
            text = run.text[start - run.start : end - run.start]
            style, text = _layered(self.base, text, self.layers, start, end)
            yield located(text, style, start - self.row_start, self.row)

    def paint_filler(self, run: Run) -> Iterator[Segment]:
        """Another run, such as a wider space.

        It has the style of the character that it stands for or follows, and counts as that
        character under the mouse.
        """
        end = max(run.start + 1, run.end)
        style, _ = _layered(self.base, "", self.layers, run.start, end)
        for character in run.text:
            yield located(character, style, run.start - self.row_start, self.row)


def _layers(layout: Layout, row: int, look: RowLook) -> list[_StyleLayer]:
    """The spans, marks and selection in a row, the topmost last."""
    start, end = layout.spans[layout.line_of(row)]
    palette = look.palette
    layers: list[_StyleLayer] = []
    if layout.is_table_head(row):
        layers.append(_StyleLayer(start, end, palette.layer("strong")))
    for span in (*layout.block.spans, *look.marked):
        if span.start < end and span.end > start:
            is_shifted = can_shift(layout.shown[span.start : span.end], span.style)
            shifts = TABLES[span.style] if is_shifted else None
            style = palette.layer(span.style)
            layers.append(_StyleLayer(span.start, span.end, style, shifts))
    if look.selected is not None:
        first, last = look.selected
        if first < end and last > start:
            layers.append(_StyleLayer(first, last, palette.selection))
    return layers


def _layered(
    style: Style, text: str, layers: Sequence[_StyleLayer], left: int, right: int
) -> tuple[Style, str]:
    """Style and text of `shown[left:right]` under the layers that cover it."""
    for layer in layers:
        if layer.start <= left and right <= layer.end:
            style += layer.style
            if layer.shifts is not None:
                text = text.translate(layer.shifts)
    return style, text
