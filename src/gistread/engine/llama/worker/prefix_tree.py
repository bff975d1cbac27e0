"""The tokens of all sequences in the KV cache, as a tree of shared prefixes.

A node is a run of cells.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(eq=False, slots=True)
class _Node:
    tokens: list[int]
    parent: "_Node | None"
    holders: set[int]  # The sequences that have these tokens
    children: list["_Node"] = field(default_factory=list)


class PrefixTree:
    """Tree of the tokens of all non-empty sequences."""

    def __init__(self) -> None:
        self._root = _Node([], None, set())
        self._leaves: dict[int, _Node] = {}  # The last node of each sequence
        self.cells = 0  # Cells in use; shared ones count once

    def length(self, sequence: int) -> int:
        return sum(len(node.tokens) for node in self._path(sequence))

    def find(self, tokens: Sequence[int]) -> tuple[int | None, int]:
        """The sequence with the longest common prefix with these tokens, and its length.

        (None, 0) if there is none.
        """
        tokens = list(tokens)
        best: tuple[int | None, int] = (None, 0)
        open_nodes = [(child, 0) for child in self._root.children]
        while open_nodes:
            node, start = open_nodes.pop()
            here = tokens[start : start + len(node.tokens)]
            shared = common_prefix(node.tokens, here)
            end = start + shared
            if shared and end > best[1]:
                best = (min(node.holders), end)
            if shared == len(node.tokens):
                open_nodes += [(child, end) for child in node.children]
        return best

    def find_whole(self, tokens: Sequence[int]) -> tuple[int | None, int]:
        """The longest sequence that is itself a prefix of these tokens, and its length.

        (None, 0) if there is none.
        """
        best: tuple[int | None, int] = (None, 0)
        for sequence in self._leaves:
            length = self.length(sequence)
            if best[1] < length <= len(tokens):
                path = self._path(sequence)
                whole = [token for node in path for token in node.tokens]
                if whole == list(tokens[:length]):
                    best = (sequence, length)
        return best

    def extend(self, sequence: int, tokens: Sequence[int]) -> None:
        """Add tokens at the end of a sequence."""
        leaf = self._leaves.get(sequence, self._root)
        if leaf.holders == {sequence}:
            leaf.tokens.extend(tokens)
        else:
            node = _Node(list(tokens), leaf, {sequence})
            self._leaves[sequence] = node
            leaf.children.append(node)
        self.cells += len(tokens)

    def share(self, source: int, target: int, length: int) -> None:
        """Let the empty sequence `target` share the first tokens of `source`: one or more."""
        assert not self.length(target)
        shared = 0
        for node in self._path(source):
            if shared == length:
                break
            if shared + len(node.tokens) > length:
                self._split(node, length - shared)
            node.holders.add(target)
            self._leaves[target] = node
            shared += len(node.tokens)

    def cut(self, sequence: int, length: int) -> None:
        """Keep the first `length` tokens of a sequence, or all if it has fewer."""
        at = self.length(sequence)
        if at <= length:
            return
        node = self._leaves[sequence]
        while at > length and node.parent is not None:
            start = at - len(node.tokens)
            if start < length:
                self._split(node, length - start)  # The part to remove is now a child.
                self._drop(node.children[-1], sequence)
                break
            self._drop(node, sequence)
            node, at = node.parent, start
        if length:
            self._leaves[sequence] = node
        else:
            del self._leaves[sequence]

    def _path(self, sequence: int) -> list[_Node]:
        """The nodes of a sequence, the first tokens first; empty for an empty one."""
        path: list[_Node] = []
        node = self._leaves.get(sequence)
        while node is not None and node.parent is not None:
            path.append(node)
            node = node.parent
        return path[::-1]

    def _split(self, node: _Node, at: int) -> None:
        """Move the tokens of a node from `at` on into a new child, its only one."""
        tail = _Node(node.tokens[at:], node, set(node.holders), node.children)
        for child in tail.children:
            child.parent = tail
        node.tokens = node.tokens[:at]
        node.children = [tail]
        for holder in tail.holders:
            if self._leaves[holder] is node:
                self._leaves[holder] = tail

    def _drop(self, node: _Node, sequence: int) -> None:
        """Take a node from a sequence; without other holders it leaves the tree."""
        node.holders.discard(sequence)
        if not node.holders and node.parent is not None:
            self.cells -= len(node.tokens)
            node.parent.children.remove(node)


def common_prefix(first: list[int] | str, other: list[int] | str) -> int:
    """Length of the beginning that both share."""
    limit = min(len(first), len(other))
    if first[:limit] == other[:limit]:
        return limit

    def differs(at: int) -> bool:
        return first[: at + 1] != other[: at + 1]

    # Slices compare in C: bisection beats a loop over thousands of tokens.
    return bisect_left(range(limit), True, key=differs)
