"""Which level each part of a memory is told at, when all of its gists are more than there is room for. Pure.

Iterative gisting (ReadAgent, Appendix F.3) and the merging of pages (Appendix I), over the memory tree: what is near is
told page by page, what is far in the summary of its chapter or of the part around it, or in one line of that. It begins
with one line for the whole book and gives every further word to where it is needed most. So what is told covers every
page at every moment, whatever the room; a chapter is told by its own summary or by its pages, never by some of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from gistread.book.normalise import count_words
from gistread.memory.extractive import extract
from gistread.memory.model import GistMemory
from gistread.memory.tree import Node

_LINE_WORDS = 14
"""Of a part that is told in one line."""
_LATELY = 0.5
"""Weight of where the person reads, beside that of the page nearest to the question (1)."""
_STEP_PAGES = 6.0
"""So many pages away from where the person reads, a page matters half as much."""


@dataclass(frozen=True, slots=True)
class Segment:
    """What stands for a page, or for neighbours."""

    first: int
    """Number of its first page."""
    last: int
    level: int
    """Of the tree; 0: a page, told by its own gist."""
    text: str
    words: int
    made: bool = True
    """False: sentences of the gists below stand in for a summary that has not been made."""
    line: bool = False
    """No more than one line of it."""


def page_by_page(memory: GistMemory) -> list[Segment]:
    """Every page by its own gist."""
    return [
        Segment(entry.page.number, entry.page.number, 0, entry.gist.text, entry.gist.words) for entry in memory.entries
    ]


def page_weights(scores: Sequence[float], here: int | None) -> list[float]:
    """How much each page matters: by its score for the question, and by how near it is to page `here`."""
    best = max(scores, default=0.0) or 1.0
    near = [score / best for score in scores]
    if here is not None:
        near = [value + _LATELY / (1 + abs(page - here) / _STEP_PAGES) for page, value in enumerate(near, start=1)]
    return near


def coarsest(top: Node) -> Segment:
    """The least that can be told of a memory: one line for the whole of it."""
    return _line(top)


def choose_segments(top: Node, near: Sequence[float], room: float, cost: Callable[[Segment], float]) -> list[Segment]:
    """Pieces that together tell of every page, in the order of the book; they cost at most `room`.

    None where not even one line fits. `near` is of each page how much it matters, page 1 first.
    """
    told = {(top.first, top.last): coarsest(top)}
    spent = sum(map(cost, told.values()))
    if spent > room:
        return []
    waiting = [_place(top, near)]
    heapify(waiting)
    while waiting:
        node = heappop(waiting)[-1]
        piece = told[node.first, node.last]
        finer = _finer(node, piece)
        grown = spent + sum(cost(part) for _, part in finer) - cost(piece)
        if not finer or grown > room:
            continue
        spent = grown
        del told[node.first, node.last]
        for part, its_piece in finer:
            told[part.first, part.last] = its_piece
            heappush(waiting, _place(part, near))
    return sorted(told.values(), key=lambda piece: piece.first)


def _place(node: Node, near: Sequence[float]) -> tuple[float, int, int, int, Node]:
    """Who is given words first: who holds the page that matters most; of equals the larger, then the earlier."""
    return -max(near[node.first - 1 : node.last]), -node.pages, node.first, -node.level, node


def _finer(node: Node, piece: Segment) -> list[tuple[Node, Segment]]:
    """The next closer look at what this piece tells; empty where there is none."""
    if piece.line:
        return [(node, _whole(node))]
    closer = _whole if all(not child.children for child in node.children) else _line
    return [(child, closer(child)) for child in node.children]


def _whole(node: Node) -> Segment:
    return Segment(node.first, node.last, node.level, node.summary.text, node.summary.words, node.made)


def _line(node: Node) -> Segment:
    """One line of the summary; all of it where it is no longer than that."""
    text = extract(node.summary.text, _LINE_WORDS)
    words = count_words(text)
    if words >= node.summary.words:
        return _whole(node)
    return Segment(node.first, node.last, node.level, text, words, node.made, line=True)
