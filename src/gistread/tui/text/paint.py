"""Paints one row of a laid-out block as segments. Text is never read as markup."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise

from rich.segment import Segment
from rich.style import Style
from textual.widget import Widget

from gistread.tui.text.cells import TABLES, can_shift, cell_len, clean, crop
from gistread.tui.text.document import Span
from gistread.tui.text.layout import Layout
from gistread.tui.text.typesetting import set_row

PREFIX = "long-text--"

_LOWEST_LEVEL = 4  # lower headings look like this level


class TextStyles:
    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self.ground: Style = widget.rich_style  # of cells without text
        self.block = cache(self._block)
        self.layer = cache(
            lambda style: _layer(widget, PREFIX + style)
        )  # what a span or mark changes below it

    @cached_property
    def selection(self) -> Style:
        # Without colours only attributes show a selection.
        no_color = self._widget.app.no_color
        return Style(reverse=True) if no_color else _layer(self._widget.screen, "screen--selection")

    def _block(self, style: str, level: int = 0) -> Style:
        own = self._widget.get_component_rich_style(PREFIX + style)
        return own + self.layer(f"{style}-{min(level, _LOWEST_LEVEL)}") if level else own

    def on_ground(self, style: Style, ground: str) -> Style:
        """A style on the background of another one."""
        own = self.block(ground) if ground else Style.null()
        return style + Style(bgcolor=own.bgcolor, reverse=own.reverse or None)


def _layer(widget: Widget, name: str) -> Style:
    """The changes that a component style makes to the style below it."""
    own = widget.get_component_rich_style(name, partial=True)
    # Colours that depend on the background (auto, transparent) are correct only in the whole style.
    whole = widget.get_component_rich_style(name)
    return own + Style(
        color=whole.color if own.color else None, bgcolor=whole.bgcolor if own.bgcolor else None
    )


@dataclass(frozen=True, slots=True)
class RowLook:
    """How one row is drawn, beside its layout."""

    palette: TextStyles
    marked: Sequence[Span]  # Over the block's own style
    selected: tuple[int, int] | None  # Part of the block's text
    joined: bool  # Whether the block continues the one before and their rail runs through
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
    block, at, bare = layout.block, look.at, look.bare
    segments: list[Segment] = []
    used = 0
    rail = crop(clean(block.rail), layout.left)
    if rail and (look.joined or row >= layout.above):
        segments.append(before_text(rail, look.on_ground("rail"), at))
        used = cell_len(rail)
    if (
        block.figure is not None
        and 0 <= (inner := row - block.blank_before) < (size := layout.figure_cells)[1]
    ):
        gap = max(0, layout.left + (layout.room - size[0]) // 2 - used)
        return [
            *segments,
            before_text(" " * gap, bare, at),
            *Segment.apply_style(block.figure.row(inner, *size), bare),
        ]
    span = layout.span(row)
    if span is not None:
        if row == layout.above and (label := layout.label):
            segments.append(before_text(label, look.on_ground("label"), at))
            used += cell_len(label)
        if (gap := layout.text_cell(row) - used) > 0:
            segments.append(before_text(" " * gap, bare, at))
            used += gap
        segments.extend(_pieces(layout, row, look))
        used += layout.row_cells(row)
    if row == layout.rows - 1 and (block.tail or block.rule):
        tail = crop(clean(block.tail), layout.width - used)
        length = span[1] - span[0] if span is not None else 0
        between = layout.width - used - cell_len(tail)
        line = f" {'─' * (between - 1 - bool(tail))} "[:between] if block.rule else " " * between
        segments.append(
            located(line, look.palette.block("rule") if block.rule else bare, length, at)
        )
        segments.append(located(tail, look.on_ground("tail"), length, at))
    return segments


def located(text: str, style: Style, character: int, row: int) -> Segment:
    return Segment(text, style + Style.from_meta({"offset": (character, row)}))


def before_text(text: str, style: Style, row: int) -> Segment:
    """A segment before the row's text, with negative character offsets."""
    return located(text, style, -len(text), row)


def _pieces(layout: Layout, row: int, look: RowLook) -> list[Segment]:
    runs = set_row(layout, row)
    if not runs:
        return []
    block, palette, selected, at = layout.block, look.palette, look.selected, look.at
    base = palette.on_ground(palette.block(block.style, block.level), look.ground)
    start, end = layout.spans[layout.line_of(row)]
    drawn = [
        piece for piece in (*block.spans, *look.marked) if piece.start < end and piece.end > start
    ]
    layers = [(piece.start, piece.end, palette.layer(piece.style)) for piece in drawn]
    shifted = [
        (piece.start, piece.end, TABLES[piece.style])
        for piece in drawn
        if can_shift(layout.shown[piece.start : piece.end], piece.style)
    ]
    if layout.is_table_head(row):
        layers.insert(0, (start, end, palette.layer("strong")))
    if selected is not None and selected[0] < end and selected[1] > start:
        layers.append((*selected, palette.selection))
    edges = sorted({edge for first, last, _ in layers for edge in (first, last)})
    segments = []
    for run in runs:
        cuts = (
            [run.start, *(edge for edge in edges if run.start < edge < run.end), run.end]
            if run.plain
            else ()
        )
        for left, right in pairwise(cuts):
            style = _style(base, layers, left, right)
            text = run.text[left - run.start : right - run.start]
            for first, last, table in shifted:
                if first <= left and right <= last:
                    text = text.translate(table)
            segments.append(located(text, style, left - start, at))
        if not run.plain:
            # Filler has the style of the character before it, and counts as that character under
            # the mouse.
            style = _style(base, layers, run.start, max(run.start + 1, run.end))
            segments.extend(
                located(character, style, run.start - start, at) for character in run.text
            )
    return segments


def _style(base: Style, layers: Sequence[tuple[int, int, Style]], left: int, right: int) -> Style:
    style = base
    for first, last, layer in layers:
        if first <= left and right <= last:
            style += layer
    return style
