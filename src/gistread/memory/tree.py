"""The memory tree (MemWalker, section 3.1): gists of pages, and summaries of what holds them.

MemWalker walks down the tree. A memory that outgrows the window is shown by its upper levels
(ReadAgent, Appendices F.3 and I), from one line for the whole book to the gists of pages where that
matters most. More than eight neighbours are grouped evenly. Summaries are guarded like gists and
stored by their text (`derived.py`); sentences stand in for missing summaries.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import heappop, heappush
from itertools import groupby, pairwise
from typing import NamedTuple, Self

from gistread.engine.protocol import NO_USAGE, Engine, Priority, Usage
from gistread.errors import PromptTooLongError
from gistread.memory import gisting
from gistread.memory.derived import ArtifactProgress, as_finished, key_of
from gistread.memory.extractive import extract
from gistread.memory.gisting import (
    careful_attempts,
    gist_page,
    is_short,
    merged_words,
    wanted_words,
)
from gistread.memory.guard import told_before
from gistread.memory.model import Gist, GistMemory, GistSource
from gistread.memory.sizes import TOKENS_PER_WORD, RemainingWork, unread_page_words
from gistread.words import count_words

MAX_CHILDREN = 8  # MemWalker has 5 to 8 (Table 4)
_KIND = "summary"
_USUAL_CHILDREN = 6
_OUTPUT_CHILDREN = 3  # Room for the output, in children
_TASK_WORDS = 40  # Words of the prompt without the text to shorten


@dataclass(frozen=True, slots=True)
class PageRange:
    """A page, or neighbouring ranges that belong together."""

    level: int  # 0 for a page, else one more than the highest of its children
    first: int  # Number of its first page
    last: int
    children: tuple[Self, ...] = ()

    def nodes(self) -> Iterator[Self]:
        """The ranges within, and this one, in post-order."""
        for child in self.children:
            yield from child.nodes()
        yield self


@dataclass(frozen=True, slots=True, kw_only=True)
class Node(PageRange):
    """A page with its gist, or neighbouring nodes with their summary."""

    summary: Gist
    made: bool = True  # False while sentences of its children replace its summary
    line: bool = False  # One line of the summary of its only child


def current_tree(memory: GistMemory) -> Node:
    """The tree so far, with sentences for missing summaries.

    May take a second: run it in a thread.
    """
    return _node(memory, outline(memory), _stand_in)


def remaining(memory: GistMemory, *, whole: bool = False) -> RemainingWork:
    """Estimate the summaries left, unread pages included.

    `whole`: also that of the book. Run it in a thread.
    """
    top = current_tree(memory) if memory.entries else None
    if top:
        inside = [
            node for node in top.nodes() if node.children and (whole or node is not top)
        ]
    else:
        inside = []
    sizes = [
        sum(child.summary.words for child in node.children)
        for node in inside
        if not node.made
    ]
    done = len(inside) - len(sizes)
    gists = [wanted_words(words) for words in unread_page_words(memory)]
    starts = range(0, len(gists), _USUAL_CHILDREN)
    sizes += (sum(gists[start : start + _USUAL_CHILDREN]) for start in starts)
    return RemainingWork(
        done,
        done + len(sizes),
        round(sum(words + _TASK_WORDS for words in sizes) * TOKENS_PER_WORD),
        round(sum(merged_words(words) for words in sizes) * TOKENS_PER_WORD),
    )


async def build(
    memory: GistMemory,
    engine: Engine,
    priority: Priority = Priority.BACKGROUND,
    *,
    whole: bool = False,
) -> AsyncGenerator[ArtifactProgress, None]:
    """Summarise the pages read so far, at least one.

    `whole`: also the whole book. Raises EngineError.
    """
    memory = replace(memory, entries=list(memory.entries))
    top = outline(memory)
    inside = [
        pages for pages in top.nodes() if pages.children and (whole or pages is not top)
    ]
    tasks: dict[PageRange, asyncio.Task[tuple[Gist, Usage]]] = {}
    limit = asyncio.Semaphore(engine.info.parallel)

    async def summarise(pages: PageRange) -> tuple[Gist, Usage]:
        below = [await gist_of(child) for child in pages.children]
        async with limit:
            return await _summary(memory, pages, _text(below), engine, priority)

    async def gist_of(pages: PageRange) -> Gist:
        if not pages.children:
            return memory.entry(pages.first).gist
        summary, _usage = await tasks[pages]
        return summary

    done, usage = 0, NO_USAGE
    for pages in inside:
        tasks[pages] = asyncio.create_task(summarise(pages))
    async with aclosing(as_finished(tasks.values())) as summaries:
        async for _, cost in summaries:
            done, usage = done + 1, usage + cost
            yield ArtifactProgress(done, len(inside), usage)


def _node(
    memory: GistMemory, pages: PageRange, stand_in: Callable[[str, str], Gist]
) -> Node:
    if not pages.children:
        return _page(memory, pages.first)
    children = tuple(_node(memory, child, stand_in) for child in pages.children)
    text = _text([child.summary for child in children])
    known = _known(memory, text)
    summary = known or stand_in(text, memory.focus.task)
    return Node(
        pages.level,
        pages.first,
        pages.last,
        children,
        summary=summary,
        made=known is not None,
    )


def existing_summaries(memory: GistMemory, last: int) -> list[Node]:
    """Pages 1 to `last` as few nodes: existing summaries, else pages. Builds no stand-ins."""

    def existing(node: Node) -> list[Node]:
        if node.last <= last and all(inner.made for inner in node.nodes()):
            return [node]
        return [inner for child in node.children for inner in existing(child)]

    missing = Gist("", 0, GistSource.EXTRACTIVE)
    if memory.entries:
        return existing(_node(memory, outline(memory), lambda _text, _task: missing))
    return []


def _page(memory: GistMemory, number: int) -> Node:
    return Node(0, number, number, summary=memory.entry(number).gist)


def _text(gists: list[Gist]) -> str:
    return "\n\n".join(gist.text for gist in gists)


def _key(memory: GistMemory, text: str) -> str:
    return key_of(memory.focus.version(*gisting.PROMPTS), text)


def _known(memory: GistMemory, text: str) -> Gist | None:
    if is_short(text):
        return Gist(text, count_words(text), GistSource.VERBATIM)
    match memory.derived.get(_KIND, _key(memory, text)):
        case {"text": str(known), "source": str(source)} if known and source in set(
            GistSource
        ):
            return Gist(known, count_words(known), GistSource(source))
    return None


@lru_cache(maxsize=4096)
def _stand_in(text: str, task: str) -> Gist:
    own = extract(text, merged_words(count_words(text)), task)
    return Gist(own, count_words(own), GistSource.EXTRACTIVE)


async def _summary(
    memory: GistMemory, pages: PageRange, text: str, engine: Engine, priority: Priority
) -> tuple[Gist, Usage]:
    if (known := _known(memory, text)) is not None:
        return known, NO_USAGE
    most = int(
        (engine.info.context_tokens / TOKENS_PER_WORD - _TASK_WORDS)
        / (MAX_CHILDREN + _OUTPUT_CHILDREN)
    )
    words = min(merged_words(count_words(text)), max(1, most))
    attempts = await careful_attempts(text, engine, memory.focus, words)
    task = memory.focus.task
    end = memory.entry(pages.last).page.end
    before = told_before(memory.book.text, end, engine.info.wording)
    try:
        result = await gist_page(
            text, engine, attempts, priority, task=task, words=words, told_before=before
        )
        gist, usage = result.gist, result.usage
    except PromptTooLongError:  # a model with a larger window made the gists
        gist, usage = _stand_in(text, task), NO_USAGE
    memory.derived.put(
        _KIND, _key(memory, text), {"text": gist.text, "source": gist.source.value}
    )
    return gist, usage


def outline(memory: GistMemory) -> PageRange:
    """The tree of all pages read so far, at least one; its top has children."""
    paths: list[tuple[int, ...]] = []
    around: list[tuple[int, int]] = []
    for index, chapter in enumerate(memory.book.chapters):
        while around and around[-1][0] >= chapter.level:
            around.pop()
        around.append((chapter.level, index))
        paths.append(tuple(number for _, number in around))
    # A page belongs to the chapter at its end, since it may begin with the titles of parts.
    ends = ((entry.page.number, entry.page.end - 1) for entry in memory.entries)
    pages = [(number, paths[memory.book.chapter_index(end)]) for number, end in ends]
    top = _section(pages, 0)
    if top.children:
        return top
    return PageRange(1, top.first, top.last, (top,))


_Placed = tuple[int, tuple[int, ...]]  # A page number and the path of its chapter


def _section(pages: Sequence[_Placed], depth: int) -> PageRange:
    children: list[PageRange] = []
    for step, group in groupby(pages, key=lambda page: page[1][depth : depth + 1]):
        inside = list(group)
        if step:
            children.append(_section(inside, depth + 1))
        elif len(inside) == len(pages):
            children = [PageRange(0, number, number) for number, _ in inside]
        else:  # text of a part before its first chapter
            children.append(
                _group([PageRange(0, number, number) for number, _ in inside])
            )
    return _group(children)


def _group(neighbours: list[PageRange]) -> PageRange:
    while (count := len(neighbours)) > MAX_CHILDREN:
        parents = -(-count // MAX_CHILDREN)  # The fewest, of even size
        starts = [
            index * (count // parents) + min(index, count % parents)
            for index in range(parents + 1)
        ]
        neighbours = [_parent(neighbours[start:end]) for start, end in pairwise(starts)]
    return _parent(neighbours)


def _parent(children: list[PageRange]) -> PageRange:
    if len(children) == 1:
        return children[0]
    level = 1 + max(child.level for child in children)
    return PageRange(level, children[0].first, children[-1].last, tuple(children))


_LINE_WORDS = 14
# Weight of the page where the person reads; the page most relevant to the question has 1
_POSITION_WEIGHT = 0.5
# This many pages away, the weight of the person's position is halved
_HALF_WEIGHT_PAGES = 6.0


def page_by_page(memory: GistMemory) -> list[Node]:
    return [_page(memory, entry.page.number) for entry in memory.entries]


def page_weights(scores: Sequence[float], here: int | None) -> list[float]:
    """How much each page matters: its score for the question, and its distance from page `here`."""
    best = max(scores, default=0.0) or 1.0
    weights = [score / best for score in scores]
    if here is not None:
        for page in range(len(weights)):
            weights[page] += _POSITION_WEIGHT / (
                1 + abs(page + 1 - here) / _HALF_WEIGHT_PAGES
            )
    return weights


def choose_nodes(
    top: Node, weights: Sequence[float], room: float, cost: Callable[[Node], float]
) -> list[Node]:
    """Nodes over all pages at a total cost of at most `room`; empty if none fit.

    `weights`: page 1 first.
    """
    chosen: list[Node] = []
    queue = [_priority(one_line(top), weights)]
    spent = cost(queue[0].node)
    if spent > room:
        return []
    while queue:
        node = heappop(queue).node
        as_lines = not node.line and any(child.children for child in node.children)
        finer = (
            [one_line(child) for child in node.children] if as_lines else node.children
        )
        refined = spent + sum(map(cost, finer)) - cost(node)
        if not finer or refined > room:
            chosen.append(node)
            continue
        spent = refined
        for child in finer:
            heappush(queue, _priority(child, weights))
    return sorted(chosen, key=lambda node: node.first)


def one_line(node: Node) -> Node:
    text = extract(node.summary.text, _LINE_WORDS)
    summary = Gist(text, count_words(text), GistSource.EXTRACTIVE)
    if summary.words < node.summary.words:
        return replace(node, summary=summary, children=(node,), line=True)
    return node


class _Priority(NamedTuple):
    """Sorts nodes by their most important page, then by size, then by position.

    Importance, size and level are negative: the greatest comes first.
    """

    importance: float
    size: int
    first: int
    level: int
    node: Node


def _priority(node: Node, weights: Sequence[float]) -> _Priority:
    importance = max(weights[node.first - 1 : node.last])
    size = node.last - node.first
    return _Priority(-importance, -size, node.first, -node.level, node)
