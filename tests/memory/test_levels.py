"""The level of detail of each part of a memory.

Every page is covered, with detail where it matters.
"""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gistread.memory.model import Gist, GistSource
from gistread.memory.tree import (
    Node,
    choose_nodes,
    current_tree,
    one_line,
    page_weights,
)
from tests.memory.books import prose
from tests.readers.memories import make_memory


def words(piece: Node) -> float:
    return piece.summary.words + 3.0


def pages_of(pieces: list[Node]) -> list[int]:
    return [page for piece in pieces for page in range(piece.first, piece.last + 1)]


@pytest.fixture(scope="module")
def top() -> Node:
    memory = make_memory(200, 200)
    for index, entry in enumerate(memory.entries):
        memory.entries[index] = replace(
            entry, gist=Gist(prose(30, seed=index), 30, GistSource.MODEL)
        )
    return current_tree(memory)


@settings(max_examples=15)
@given(
    room=st.integers(0, 9000),
    near=st.lists(st.floats(0, 1), min_size=200, max_size=200),
)
def test_every_page_is_covered_once_in_order_within_the_budget(
    top: Node, room: int, near: list[float]
) -> None:
    pieces = choose_nodes(top, near, room, words)
    fits = words(one_line(top)) <= room
    assert pages_of(pieces) == (list(range(1, 201)) if fits else [])
    assert sum(map(words, pieces)) <= room
    assert pieces == choose_nodes(top, near, room, words)


def test_pages_near_the_question_and_then_near_the_reader_get_most_detail() -> None:
    near = page_weights([0.0, 4.0, 0.2, 0.0, 0.0, 0.0], here=6)
    assert sorted(range(1, 7), key=lambda page: -near[page - 1])[:2] == [2, 6]
    assert page_weights([0.0, 0.0], None) == [0.0, 0.0]
