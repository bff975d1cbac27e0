"""An index of all rows of a document at one width: a few numbers per block.

Blocks are laid out when in view.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

from textual.cache import LRUCache

from gistread.tui.text.document import Block, BlockSource
from gistread.tui.text.layout import Layout, lay_out

_NO_OFFSET = -1
_LAYOUTS_KEPT = 512
# A block with more characters keeps its layout even when its rows are only counted
_COSTLY = 20_000


class TextPlace(NamedTuple):
    """A character of a block, or a row near it, to be found again at another width."""

    block: int
    offset: int
    # Rows below the one of `offset`; negative for the empty rows above the text
    shift: int = 0


class RowIndex:
    """The rows of `source`, each `width` cells wide. Counted when first needed."""

    def __init__(self, source: BlockSource, width: int, reorder: bool = True) -> None:
        # The owner may change a list before it calls `splice`.
        self.source: BlockSource = tuple(source) if isinstance(source, list) else source
        self.width = width  # Cells of a row
        self.reorder = reorder
        self._layouts: LRUCache[int, Layout] = LRUCache(_LAYOUTS_KEPT)
        self._table: _Table | None = None
        # (offset in the book, index) of the book's blocks, sorted
        self._by_offset: list[tuple[int, int]] | None = None
        self._by_key: dict[Hashable, int] | None = None

    @property
    def _rows(self) -> "_Table":
        if self._table is None:
            self._table = _Table(*self._measure(self.source, 0))
        return self._table

    def _measure(
        self, blocks: BlockSource, at: int
    ) -> tuple["array[int]", "array[int]"]:
        """The row count and the offset of each block. `at`: index of the first in the document."""
        counts = array("L")
        offsets = array("q")
        bare = getattr(blocks, "bare", blocks.__getitem__)  # Spans take no rows.
        for number in range(len(blocks)):
            block = bare(number)
            layout = lay_out(block, self.width, self.reorder)
            if len(block.text) > _COSTLY:
                self._layouts[at + number] = replace(layout, block=blocks[number])
            counts.append(layout.rows)
            offsets.append(_NO_OFFSET if block.start is None else block.start)
        return counts, offsets

    @property
    def height(self) -> int:
        return self._rows.firsts[-1]

    def __len__(self) -> int:
        return len(self.source)

    def block(self, index: int) -> Block:
        return self.source[index]

    def layout(self, index: int) -> Layout:
        """The layout of a block; the last ones are cached."""
        layout = self._layouts.get(index)
        if layout is None:
            layout = lay_out(self.source[index], self.width, self.reorder)
            self._layouts[index] = layout
        return layout

    def first_row(self, index: int) -> int:
        """The block's first row, which may be empty; for `len(self)`, the height."""
        return self._rows.firsts[index]

    def locate(self, row: int) -> tuple[int, int]:
        """(block, row within it) of a row, clamped to the document.

        Raises IndexError if that is empty.
        """
        if not len(self):
            raise IndexError("an empty document has no rows")
        row = min(max(0, row), self.height - 1)
        firsts = self._rows.firsts
        index = bisect_right(firsts, row) - 1
        return index, row - firsts[index]

    def block_at(self, row: int) -> Block:
        """Raises IndexError if the document is empty."""
        return self.block(self.locate(row)[0])

    def place_of(self, row: int) -> TextPlace:
        """The first character in a row; in a row without text, the nearest in its block.

        Raises IndexError if the document is empty.
        """
        index, inner = self.locate(row)
        layout = self.layout(index)
        line = layout.line_of(inner)
        offset = 0
        if line:  # White space that was dropped before the first line belongs to it.
            offset, _ = layout.spans[line]
        rows_below_line = inner - layout.above - line
        return TextPlace(index, offset, rows_below_line)

    def row_of(self, place: TextPlace) -> int:
        """The row of a place, within its block; 0 in an empty document."""
        if not len(self):
            return 0
        index = min(max(0, place.block), len(self) - 1)
        layout = self.layout(index)
        row = layout.row_of(place.offset) + place.shift
        row_of_block = min(max(0, row), layout.rows - 1)
        return self._rows.firsts[index] + row_of_block

    def find_offset(self, offset: int) -> TextPlace | None:
        """Place of the book's character at `offset`.

        If it is not shown: of the nearest one before it, or else of the first. None without text.
        """
        if self._by_offset is None:
            self._by_offset = sorted(
                (start, index)
                for index, start in enumerate(self._rows.offsets)
                if start != _NO_OFFSET
            )
        if not self._by_offset:
            return None
        after_offset = (offset + 1, -1)  # Before every block that starts after `offset`
        nearest = max(0, bisect_left(self._by_offset, after_offset) - 1)
        start, index = self._by_offset[nearest]
        offset_in_block = min(max(0, offset - start), len(self.block(index).text))
        return TextPlace(index, offset_in_block)

    def find_key(self, key: Hashable) -> int | None:
        """Index of the first block with this key."""
        if self._by_key is None:
            self._by_key = {}
            for index in range(len(self)):
                self._by_key.setdefault(self.block(index).key, index)
        return self._by_key.get(key)

    def book_offset(self, place: TextPlace) -> int | None:
        """Offset of the place in the book.

        In a block that is not the book's: where the next text of the book begins, or else where the
        last one ends. None without text of the book.
        """
        offsets = self._rows.offsets
        at = min(place.block, len(self))
        is_of_book = at < len(self) and offsets[at] != _NO_OFFSET
        if is_of_book:
            return offsets[at] + place.offset
        for start_after in offsets[at:]:
            if start_after != _NO_OFFSET:
                return start_after
        for index in range(at - 1, -1, -1):
            start_before = offsets[index]
            if start_before != _NO_OFFSET:
                return start_before + len(self.block(index).text)
        return None

    def run_of(self, index: int) -> tuple[int, int]:
        """(first, end) of the neighbouring blocks with the key of this one."""
        key = self.block(index).key
        start, end = index, index + 1
        while start > 0 and self.block(start - 1).key == key:
            start -= 1
        while end < len(self) and self.block(end).key == key:
            end += 1
        return start, end

    def recall(self, place: TextPlace, block: Block, among: range) -> TextPlace | None:
        """Find a place in `block` of another document again, in one of the blocks `among`.

        By its offset in the book, or else by the key of its block.
        """
        if block.start is not None:
            counterpart = self.find_offset(block.start + place.offset)
            if counterpart is not None and counterpart.block in among:
                return counterpart._replace(shift=place.shift)
        if block.key is not None:
            index = self.find_key(block.key)
            if index is not None and index in among:
                return place._replace(block=index)
        return None

    def splice(self, at: int, removed: int, blocks: Sequence[Block]) -> None:
        """Replace `removed` blocks from index `at`. Only the new ones are laid out."""
        if not isinstance(self.source, list):
            # A copy: the source belongs to the caller.
            self.source = [self.block(number) for number in range(len(self))]
        self.source[at : at + removed] = blocks
        self._by_offset = self._by_key = None
        # As many as before: the blocks below keep their indices, so their layouts too.
        if removed == len(blocks):
            for index in range(at, at + removed):
                self._layouts.discard(index)
        else:
            self._layouts.clear()
        if self._table is not None:
            counts, offsets = self._measure(blocks, at)
            self._table.counts[at : at + removed] = counts
            self._table.offsets[at : at + removed] = offsets
            self._table = _Table(self._table.counts, self._table.offsets)

    def recount(self, index: int) -> None:
        """Lay out a block again after the source has replaced it by one with the same text."""
        self._layouts.discard(index)
        if self._table is not None:
            self._table.counts[index] = self.layout(index).rows
            self._table = _Table(self._table.counts, self._table.offsets)

    def resize(self, width: int, reorder: bool = True) -> None:
        if (width, reorder) != (self.width, self.reorder):
            self.width, self.reorder = width, reorder
            self._layouts.clear()
            self._table = None


class _Table:
    """Per block: its row count, offset and first row; `firsts` ends with the height."""

    def __init__(self, counts: "array[int]", offsets: "array[int]") -> None:
        self.counts, self.offsets = counts, offsets
        self.firsts = array("q", accumulate(counts, initial=0))
