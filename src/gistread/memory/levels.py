"""Chooses the level of detail for each part of a memory whose gists do not all fit. Pure.

Iterative gisting (ReadAgent, Appendix F.3) and the merging of pages (Appendix I): it starts with one line for the whole
book and refines where that matters most, so every page is always covered.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from gistread.memory.extractive import extract
from gistread.memory.model import GistMemory
from gistread.memory.tree import Node
from gistread.words import count_words

_LINE_WORDS = 14
_POSITION_WEIGHT = 0.5  # Weight of the page where the person reads; the page most relevant to the question has 1
_HALF_WEIGHT_PAGES = 6.0  # This many pages away, the weight of the person's position is halved


@dataclass(frozen=True, slots=True)
class Segment:
    first: int  # Number of its first page
    last: int
    level: int  # In the tree; 0 for the gist of a page
    text: str
    words: int
    made: bool = True  # False while sentences of the gists below replace the summary
    line: bool = False  # Only one line of the summary is shown


def page_by_page(memory: GistMemory) -> list[Segment]:
    return [
        Segment(entry.page.number, entry.page.number, 0, entry.gist.text, entry.gist.words) for entry in memory.entries
    ]


def page_weights(scores: Sequence[float], here: int | None) -> list[float]:
    """How much each page matters, by its score for the question and its distance from page `here`."""
    best = max(scores, default=0.0) or 1.0
    weights = [score / best for score in scores]
    if here is not None:
        for page in range(len(weights)):
            weights[page] += _POSITION_WEIGHT / (1 + abs(page + 1 - here) / _HALF_WEIGHT_PAGES)
    return weights


def choose_segments(
    top: Node, weights: Sequence[float], room: float, cost: Callable[[Segment], float]
) -> list[Segment]:
    """Segments over all pages at a total cost of at most `room`; empty if none fit. `weights`: page 1 first."""
    chosen = {(top.first, top.last): one_line(top)}
    spent = sum(map(cost, chosen.values()))
    if spent > room:
        return []
    queue = [_priority(top, weights)]
    while queue:
        node = heappop(queue)[-1]
        segment = chosen[node.first, node.last]
        finer = _refine(node, segment)
        refined = spent + sum(cost(part) for _, part in finer) - cost(segment)
        if not finer or refined > room:
            continue
        spent = refined
        del chosen[node.first, node.last]
        for child, its_segment in finer:
            chosen[child.first, child.last] = its_segment
            heappush(queue, _priority(child, weights))
    return sorted(chosen.values(), key=lambda segment: segment.first)


def _priority(node: Node, weights: Sequence[float]) -> tuple[float, int, int, int, Node]:
    """Sorts nodes by their most important page, then by size, then by position."""
    return -max(weights[node.first - 1 : node.last]), -node.pages, node.first, -node.level, node


def _refine(node: Node, segment: Segment) -> list[tuple[Node, Segment]]:
    if segment.line:
        return [(node, _whole(node))]
    closer = _whole if all(not child.children for child in node.children) else one_line
    return [(child, closer(child)) for child in node.children]


def _whole(node: Node) -> Segment:
    return Segment(node.first, node.last, node.level, node.summary.text, node.summary.words, node.made)


def one_line(node: Node) -> Segment:
    text = extract(node.summary.text, _LINE_WORDS)
    words = count_words(text)
    if words >= node.summary.words:
        return _whole(node)
    return Segment(node.first, node.last, node.level, text, words, node.made, line=True)
