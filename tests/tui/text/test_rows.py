"""The row index maps rows to blocks, and a splice equals a rebuild."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from gistread.tui.text.document import Block, Mark, MarkIndex
from gistread.tui.text.layout import lay_out
from gistread.tui.text.rows import RowIndex

BLOCKS = st.builds(
    Block,
    text=st.text(alphabet="ab 字—\n", max_size=60),
    key=st.integers(0, 5),
    start=st.one_of(st.none(), st.integers(0, 1000)),
    indent=st.integers(0, 6),
    first_indent=st.integers(0, 3),
    turnover=st.integers(0, 4),
    hanging=st.sampled_from(["", "11 ▾", "字字字字字"]),
    rail=st.sampled_from(["", "╎ "]),
    tail=st.sampled_from(["", "(410 w)", "字"]),
    blank_before=st.integers(0, 2),
    align=st.sampled_from(["left", "center", "justify"]),
    max_width=st.sampled_from([0, 8]),
)
DOCUMENTS = st.lists(BLOCKS, max_size=12)


class Lazy:
    """A source that counts how many blocks it made."""

    def __init__(self, blocks: list[Block]) -> None:
        self.blocks = blocks
        self.made = 0

    def __len__(self) -> int:
        return len(self.blocks)

    def __getitem__(self, index: int) -> Block:
        self.made += 1
        return self.blocks[index]


def numbers(index: RowIndex) -> list[tuple[int, int]]:
    return [
        (index.first_row(block), index.layout(block).rows)
        for block in range(len(index))
    ]


@given(DOCUMENTS, DOCUMENTS, st.integers(0, 12), st.integers(0, 4), st.integers(1, 30))
def test_a_splice_equals_a_rebuild(
    before: list[Block], new: list[Block], at: int, removed: int, width: int
) -> None:
    at = min(at, len(before))
    removed = min(removed, len(before) - at)
    spliced = RowIndex(Lazy(before), width)
    assert spliced.height == sum(lay_out(block, width).rows for block in before)
    numbers(spliced)
    spliced.splice(at, removed, new)
    rebuilt = RowIndex([*before[:at], *new, *before[at + removed :]], width)
    assert numbers(spliced) == numbers(rebuilt)
    assert spliced.height == rebuilt.height
    for offset in (0, 500, 1000):
        assert spliced.find_offset(offset) == rebuilt.find_offset(offset)
    for key in range(6):
        assert spliced.find_key(key) == rebuilt.find_key(key)


@given(DOCUMENTS, st.integers(1, 30), st.integers(1, 30))
def test_each_row_is_found_by_its_position(
    blocks: list[Block], width: int, other: int
) -> None:
    index = RowIndex(blocks, width)
    for row in range(index.height):
        assert index.row_of(index.place_of(row)) == row
    index.resize(other)
    assert index.height == RowIndex(blocks, other).height


@given(BLOCKS, st.integers(2, 40))
def test_indent_text_and_tail_fit_into_the_row(block: Block, width: int) -> None:
    layout = lay_out(block, width)
    for row in range(layout.rows):
        if (span := layout.span(row)) is not None:
            assert layout.text_cell(row) + cell_len(layout.shown[slice(*span)]) <= width


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30))),
    st.integers(0, 60),
    st.integers(1, 30),
)
def test_all_marks_of_a_range_are_found(
    marks: list[tuple[int, int]], start: int, length: int
) -> None:
    known = [Mark(first, first + size) for first, size in marks]
    marks_between = list(MarkIndex(known).between(start, start + length))
    expected = [
        m
        for m in known
        if m.start < start + length and m.end > start and m.end > m.start
    ]
    assert sorted(marks_between) == sorted(expected)
