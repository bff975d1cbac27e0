"""The prefix tree, compared with a plain list of cells."""

import random

import pytest

from gistread.engine.llama.worker.prefix_tree import PrefixTree, common_prefix


class _Cells:
    """What llama.cpp's unified cache does: a cell is one token at one position, held by some sequences."""

    def __init__(self) -> None:
        self.cells: list[tuple[int, int, set[int]]] = []

    def tokens(self, sequence: int) -> list[int]:
        return [token for _, token, _ in sorted((p, t, id(h)) for p, t, h in self.cells if sequence in h)]

    def extend(self, sequence: int, tokens: list[int]) -> None:
        start = len(self.tokens(sequence))
        self.cells += [(start + i, token, {sequence}) for i, token in enumerate(tokens)]

    def share(self, source: int, target: int, length: int) -> None:
        for position, _, holders in self.cells:
            if source in holders and position < length:
                holders.add(target)

    def cut(self, sequence: int, length: int) -> None:
        for position, _, holders in self.cells:
            if position >= length:
                holders.discard(sequence)
        self.cells = [cell for cell in self.cells if cell[2]]


@pytest.mark.parametrize("seed", range(40))
def test_the_prefix_tree_mirrors_the_cache(seed: int) -> None:
    dice = random.Random(seed)
    tree, cells = PrefixTree(), _Cells()
    for _ in range(120):
        sequence = dice.randrange(5)
        held = len(cells.tokens(sequence))
        match dice.randrange(4):
            case 0 | 1:
                tokens = [dice.randrange(2) for _ in range(dice.randrange(4))]
                tree.extend(sequence, tokens)
                cells.extend(sequence, tokens)
            case 2:
                length = dice.randint(0, held)
                tree.cut(sequence, length)
                cells.cut(sequence, length)
            case 3:
                target = (sequence + 1 + dice.randrange(4)) % 5
                length = dice.randint(0, held)
                for each in (tree, cells):
                    each.cut(target, 0)
                    each.share(sequence, target, length)
        assert tree.cells == len(cells.cells)
        for number in range(5):
            assert tree.tokens(number) == cells.tokens(number)
            assert tree.length(number) == len(cells.tokens(number))
        wanted = [dice.randrange(2) for _ in range(8)]
        shared = [common_prefix(cells.tokens(number), wanted) for number in range(5)]
        found, length = tree.find(wanted)
        assert length == max(shared)
        assert found is None if not length else shared[found] == length
        whole = [n for n in range(5) if (own := cells.tokens(n)) and own == wanted[: len(own)]]
        found, length = tree.find_whole(wanted)
        assert length == max((len(cells.tokens(n)) for n in whole), default=0)


def test_shared_prefixes_are_counted_once() -> None:
    tree = PrefixTree()
    tree.extend(0, list(range(1000)))
    for sequence in range(1, 9):
        tree.share(0, sequence, 900)
        tree.extend(sequence, [sequence] * 10)
    assert tree.cells == 1080
    tree.cut(0, 0)
    assert tree.cells == 980
    assert tree.find([*range(900), 3, 3, 5]) == (3, 902)
