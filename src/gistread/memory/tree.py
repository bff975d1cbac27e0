"""The memory tree (MemWalker, section 3.1): gists of pages, summaries of gists, summaries of summaries.

Built from the bottom up. The pages are the leaves, their gists are what is known of them; five to eight neighbours
have one parent, whose summary is made from theirs as a gist is made from a page, guard included. The top has no
summary: nobody looks at it from above. Which nodes there are follows from the number of pages alone; each summary is
kept by the text it was made of (`derived.py`), so a build that was stopped goes on, and one after more pages were
read makes only what is new.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from gistread import prompts
from gistread.book.words import count_words
from gistread.engine.protocol import NO_USAGE, Engine, Priority, Usage
from gistread.memory import gisting
from gistread.memory.derived import Grown, key_of
from gistread.memory.gisting import careful_attempts, gist_page
from gistread.memory.model import Gist, GistMemory, GistSource

MOST_CHILDREN = 8
"""Of a node; MemWalker has 5 to 8 (Table 4)."""
_KIND = "summary"


@dataclass(frozen=True, slots=True)
class Node:
    """A stretch of the book: a page, or neighbours that belong together."""

    level: int
    """0: a page."""
    first: int
    """Number of its first page."""
    last: int
    summary: Gist
    """Of the top: empty."""
    children: tuple["Node", ...] = ()


def spread(count: int) -> list[int]:
    """How many of `count` neighbours each of the fewest parents has: as even as can be, at most `MOST_CHILDREN`."""
    parents = -(-count // MOST_CHILDREN)
    return [count // parents + (index < count % parents) for index in range(parents)] if count else []


def summaries_in(pages: int) -> int:
    """How many summaries the tree over so many pages has."""
    total = 0
    while pages > MOST_CHILDREN:
        pages = len(spread(pages))
        total += pages
    return total


async def grow(
    memory: GistMemory, engine: Engine, priority: Priority = Priority.BACKGROUND
) -> AsyncGenerator[Grown | Node, None]:
    """Build the tree over all pages that have been read; its top is the last thing yielded.

    There must be a page. Raises EngineError when the engine fails.
    """
    nodes = [Node(0, entry.page.number, entry.page.number, entry.gist) for entry in list(memory.entries)]
    total, done, usage = summaries_in(len(nodes)), 0, NO_USAGE
    level = 1
    while len(nodes) > MOST_CHILDREN:
        groups = _groups(nodes)
        parents: dict[int, Node] = {}
        places = asyncio.Semaphore(max(1, engine.info.parallel))

        async def parent(
            index: int, children: tuple[Node, ...], level: int = level, places: asyncio.Semaphore = places
        ) -> tuple[int, Node, Usage]:
            async with places:
                summary, cost = await _summary(memory, children, engine, priority)
            return index, Node(level, children[0].first, children[-1].last, summary, children), cost

        tasks = [asyncio.create_task(parent(index, children)) for index, children in enumerate(groups)]
        try:
            for ready in asyncio.as_completed(tasks):
                index, node, cost = await ready
                parents[index] = node
                done, usage = done + 1, usage + cost
                yield Grown(done, total, usage)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        nodes = [parents[index] for index in range(len(groups))]
        level += 1
    yield Node(level, nodes[0].first, nodes[-1].last, Gist("", 0, GistSource.VERBATIM), tuple(nodes))


def _groups(nodes: Sequence[Node]) -> list[tuple[Node, ...]]:
    groups: list[tuple[Node, ...]] = []
    at = 0
    for size in spread(len(nodes)):
        groups.append(tuple(nodes[at : at + size]))
        at += size
    return groups


async def _summary(
    memory: GistMemory, children: Sequence[Node], engine: Engine, priority: Priority
) -> tuple[Gist, Usage]:
    """The summary of these neighbours: one that was made of the same words, or a new one."""
    text = "\n\n".join(child.summary.text for child in children)
    key = key_of(engine.info.fingerprint, prompts.version(*gisting.PROMPTS), text)
    match memory.derived.get(_KIND, key):
        case {"text": str(known), "source": str(source)} if known and source in set(GistSource):
            return Gist(known, count_words(known), GistSource(source)), NO_USAGE
    made = await gist_page(text, engine, await careful_attempts(text, engine), priority, guarded=memory.guarded)
    memory.derived.put(_KIND, key, {"text": made.gist.text, "source": made.gist.source.value})
    return made.gist, made.usage
