"""The level of detail of each part of a memory: every page is covered, with detail where it matters."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gistread.memory.levels import Segment, choose_segments, page_by_page, page_weights
from gistread.memory.model import Gist, GistSource
from gistread.memory.tree import Node, current_tree, nodes
from tests.memory.books import prose
from tests.readers.memories import make_memory


def words(piece: Segment) -> float:
    return piece.words + 3.0


def told(pieces: list[Segment]) -> list[int]:
    return [page for piece in pieces for page in range(piece.first, piece.last + 1)]


@pytest.fixture(scope="module")
def top() -> Node:
    memory = make_memory(200, 200)
    for index, entry in enumerate(memory.entries):
        memory.entries[index] = replace(entry, gist=Gist(prose(30, seed=index), 30, GistSource.MODEL))
    return current_tree(memory)


@settings(max_examples=30, deadline=None)
@given(room=st.integers(0, 9000), near=st.lists(st.floats(0, 1), min_size=200, max_size=200))
def test_every_page_is_covered_once_in_order_within_the_budget(top: Node, room: int, near: list[float]) -> None:
    pieces = choose_segments(top, near, room, words)
    assert told(pieces) in (list(range(1, 201)), [])
    assert sum(map(words, pieces)) <= room
    assert pieces == choose_segments(top, near, room, words)


def test_the_memory_shrinks_to_one_line_and_grows_to_every_page(top: Node) -> None:
    (line,) = choose_segments(top, [0.0] * 200, 20, words)
    assert (line.first, line.last, line.line) == (1, 200, True)
    assert [(p.level, p.line) for p in choose_segments(top, [0.0] * 200, 10**6, words)] == [(0, False)] * 200


def test_a_larger_budget_never_shows_the_nearest_page_in_less_detail(top: Node) -> None:
    near = [float(page == 77) for page in range(1, 201)]
    seen = []
    for room in range(25, 9000, 150):
        (piece,) = [piece for piece in choose_segments(top, near, room, words) if piece.first <= 77 <= piece.last]
        seen.append((piece.level, piece.line))
    assert seen == sorted(seen, reverse=True)
    assert seen[-1] == (0, False)


def test_a_chapter_is_shown_by_its_summary_or_by_all_its_pages(top: Node) -> None:
    for room in range(25, 9000, 150):
        own = {
            piece.first
            for piece in choose_segments(top, [1.0 / page for page in range(1, 201)], room, words)
            if not piece.level
        }
        for node in nodes(top):
            pages = {child.first for child in node.children if not child.children}
            assert pages <= own or not pages & own


def test_pages_near_the_question_and_then_near_the_reader_get_most_detail() -> None:
    near = page_weights([0.0, 4.0, 0.2, 0.0, 0.0, 0.0], here=6)
    assert sorted(range(1, 7), key=lambda page: -near[page - 1])[:2] == [2, 6]
    assert page_weights([0.0, 0.0], None) == [0.0, 0.0]


def test_page_by_page_is_the_gist_of_every_page() -> None:
    memory = make_memory(5)
    assert [(p.first, p.last, p.text) for p in page_by_page(memory)] == [
        (e.page.number, e.page.number, e.gist.text) for e in memory.entries
    ]
