"""The memory tree covers all pages, and each summary is built once."""

from pathlib import Path
from typing import Any

import pytest

from gistread.memory.derived import ArtifactProgress, DerivedRecords
from gistread.memory.model import GistMemory
from gistread.memory.tree import MAX_CHILDREN, Node, build, current_tree, outline
from tests.fake_engine import FakeEngine
from tests.readers.memories import make_memory


def engine(**changes: Any) -> FakeEngine:
    """Writes a distinct text for every prompt."""
    return FakeEngine(says=lambda text: " ".join(text.split()[2:22]) + ".", **changes)


async def tree_of(
    memory: GistMemory, fake: FakeEngine
) -> tuple[Node, list[ArtifactProgress]]:
    progress = [event async for event in build(memory, fake)]
    return current_tree(memory), progress


def leaves(node: Node) -> list[int]:
    if node.children:
        return [page for child in node.children for page in leaves(child)]
    return [node.first]


def all_nodes(node: Node) -> list[Node]:
    return [node, *(inner for child in node.children for inner in all_nodes(child))]


@pytest.mark.parametrize("pages", [1, 2, 8, 9, 17, 64, 65, 200])
async def test_every_page_is_a_leaf_once_in_order_and_no_node_has_too_many_children(
    pages: int,
) -> None:
    top, grown = await tree_of(make_memory(pages, pages), engine())
    assert leaves(top) == list(range(1, pages + 1))
    for node in all_nodes(top):
        assert len(node.children) <= MAX_CHILDREN
        if node.children:
            assert (node.first, node.last) == (
                node.children[0].first,
                node.children[-1].last,
            )
            assert max(child.level for child in node.children) == node.level - 1
    inner = [
        node for node in outline(make_memory(pages, pages)).nodes() if node.children
    ]
    expected = len(inner) - 1  # nobody looks at the top from above
    assert [(progress.done, progress.total) for progress in grown] == [
        (done, expected) for done in range(1, expected + 1)
    ]


async def test_a_stopped_build_resumes(tmp_path: Path) -> None:
    memory, again = make_memory(70, 70), make_memory(70, 70)
    memory.derived = DerivedRecords(tmp_path / "x.derived")
    growing = build(memory, engine())
    for _ in range(4):
        await anext(growing)
    await growing.aclose()
    again.derived = DerivedRecords(tmp_path / "x.derived")
    fake = engine()
    await tree_of(again, fake)
    whole = engine()
    await tree_of(make_memory(70, 70), whole)
    assert 0 < len(fake.calls) <= len(whole.calls) - 4


async def test_a_damaged_line_costs_only_its_summary(tmp_path: Path) -> None:
    path = tmp_path / "x.derived"
    memory = make_memory(70, 70)
    memory.derived = DerivedRecords(path)
    built, _ = await tree_of(memory, engine())
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b"a", b"b", 1)
    path.write_bytes(b"".join(lines))
    again = make_memory(70, 70)
    again.derived = DerivedRecords(path)
    fake = engine()
    rebuilt, _ = await tree_of(again, fake)
    assert rebuilt == built
    assert 1 <= len(fake.calls) <= 2


async def test_a_summary_is_shown_as_soon_as_it_is_stored() -> None:
    memory = make_memory(70, 70)
    growing = build(memory, engine(fingerprint="another model"))
    for _ in range(3):
        await anext(growing)
    await growing.aclose()
    assert (
        3
        <= sum(node.made for node in all_nodes(current_tree(memory)) if node.children)
        < 9
    )
    grown, _ = await tree_of(memory, engine())
    assert current_tree(memory) == grown
