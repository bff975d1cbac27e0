"""The memory tree (MemWalker, section 3.1): gists of pages, and summaries of chapters, parts and the whole book.

MemWalker walks down the tree. A memory that outgrows the window is shown by its upper levels
(ReadAgent, Appendices F.3 and I), from one line for the whole book to the gists of pages where that matters most.
More than eight neighbours are grouped evenly. Summaries are guarded like gists and stored by their text
(`derived.py`); sentences stand in for missing summaries.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import heappop, heappush
from itertools import groupby, pairwise
from typing import TypeVar

from gistread.book.model import Book
from gistread.engine.concurrency import useful_requests
from gistread.engine.protocol import NO_USAGE, Engine, Priority, Usage
from gistread.errors import PromptTooLongError
from gistread.memory import gisting
from gistread.memory.derived import ArtifactProgress, as_finished, key_of
from gistread.memory.extractive import extract
from gistread.memory.gisting import careful_attempts, gist_page, is_short, merged_words, wanted_words
from gistread.memory.guard import told_before
from gistread.memory.model import Gist, GistMemory, GistSource, Page
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
    children: tuple["PageRange", ...] = ()


@dataclass(frozen=True, slots=True)
class Node:
    """A page, or neighbouring nodes that belong together."""

    level: int  # 0: a page
    first: int  # Number of its first page
    last: int
    summary: Gist  # For a page, its gist
    children: tuple["Node", ...] = ()
    made: bool = True  # False while sentences of its children replace its summary

    @property
    def pages(self) -> int:
        return self.last - self.first + 1


T = TypeVar("T", Node, PageRange)


def nodes(top: T) -> Iterator[T]:
    """The nodes of a tree in post-order."""
    for child in top.children:
        yield from nodes(child)
    yield top


def current_tree(memory: GistMemory) -> Node:
    """The tree so far, with sentences for missing summaries. May take a second: run it in a thread."""
    return _node(memory, outline(memory))


def remaining(memory: GistMemory, *, whole: bool = False) -> RemainingWork:
    """Estimate the summaries left, unread pages included. `whole`: also that of the book. Run it in a thread."""
    top = current_tree(memory) if memory.entries else None
    inside = [node for node in nodes(top) if node.children and (whole or node is not top)] if top else []
    wanted = [sum(child.summary.words for child in node.children) for node in inside if not node.made]
    done = len(inside) - len(wanted)
    gists = [wanted_words(words) for words in unread_page_words(memory)]
    wanted += [sum(gists[start:][:_USUAL_CHILDREN]) for start in range(0, len(gists), _USUAL_CHILDREN)]
    return RemainingWork(
        done,
        done + len(wanted),
        round(sum(words + _TASK_WORDS for words in wanted) * TOKENS_PER_WORD),
        round(sum(merged_words(words) for words in wanted) * TOKENS_PER_WORD),
    )


async def build(
    memory: GistMemory, engine: Engine, priority: Priority = Priority.BACKGROUND, *, whole: bool = False
) -> AsyncGenerator[ArtifactProgress, None]:
    """Summarise the pages read so far, at least one. `whole`: also the whole book. Raises EngineError."""
    memory = replace(memory, entries=list(memory.entries))
    top = outline(memory)
    wanted = [pages for pages in nodes(top) if pages.children and (whole or pages is not top)]
    tasks: dict[PageRange, asyncio.Task[tuple[Gist, Usage]]] = {}
    limit = asyncio.Semaphore(useful_requests(engine))

    async def summarise(pages: PageRange) -> tuple[Gist, Usage]:
        below = [(await tasks[child])[0] if child.children else _gist(memory, child) for child in pages.children]
        async with limit:
            return await _summary(memory, pages, _text(below), engine, priority)

    done, usage = 0, NO_USAGE
    for pages in wanted:
        tasks[pages] = asyncio.create_task(summarise(pages))
    async with aclosing(as_finished(tasks.values())) as summaries:
        async for _, cost in summaries:
            done, usage = done + 1, usage + cost
            yield ArtifactProgress(done, len(wanted), usage)


def _node(memory: GistMemory, pages: PageRange) -> Node:
    if not pages.children:
        return Node(0, pages.first, pages.last, _gist(memory, pages))
    children = tuple(_node(memory, child) for child in pages.children)
    text = _text([child.summary for child in children])
    known = _known(memory, text)
    summary = known or _stand_in(text, memory.focus.task)
    return Node(pages.level, pages.first, pages.last, summary, children, known is not None)


def existing_summaries(memory: GistMemory, last: int) -> list[Node]:
    """Pages 1 to `last` as few nodes: existing summaries, else pages. Builds no stand-ins."""
    return _existing_summaries(memory, outline(memory), last) if memory.entries else []


def _existing_summaries(memory: GistMemory, pages: PageRange, last: int) -> list[Node]:
    if not pages.children:
        return [Node(0, pages.first, pages.last, _gist(memory, pages))] if pages.last <= last else []
    children = [_existing_summaries(memory, child, last) for child in pages.children]
    if pages.last <= last and all(len(nodes) == 1 for nodes in children):
        whole = tuple(nodes[0] for nodes in children)
        if (known := _known(memory, _text([node.summary for node in whole]))) is not None:
            return [Node(pages.level, pages.first, pages.last, known, whole)]
    return [node for nodes in children for node in nodes]


def _gist(memory: GistMemory, page: PageRange) -> Gist:
    return memory.entry(page.first).gist


def _text(gists: list[Gist]) -> str:
    return "\n\n".join(gist.text for gist in gists)


def _key(memory: GistMemory, text: str) -> str:
    return key_of(memory.focus.version(*gisting.PROMPTS), text)


def _known(memory: GistMemory, text: str) -> Gist | None:
    if is_short(text):
        return Gist(text, count_words(text), GistSource.VERBATIM)
    match memory.derived.get(_KIND, _key(memory, text)):
        case {"text": str(known), "source": str(source)} if known and source in set(GistSource):
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
    most = int((engine.info.context_tokens / TOKENS_PER_WORD - _TASK_WORDS) / (MAX_CHILDREN + _OUTPUT_CHILDREN))
    wanted = min(merged_words(count_words(text)), max(1, most))
    attempts = await careful_attempts(text, engine, memory.focus, wanted)
    task, told = (
        memory.focus.task,
        told_before(memory.book.text, memory.entry(pages.last).page.end, engine.info.wording),
    )
    try:
        result = await gist_page(text, engine, attempts, priority, task=task, wanted=wanted, told_before=told)
        gist, usage = result.gist, result.usage
    except PromptTooLongError:  # a model with a larger window made the gists
        gist, usage = _stand_in(text, task), NO_USAGE
    memory.derived.put(_KIND, _key(memory, text), {"text": gist.text, "source": gist.source.value})
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
    pages = [(entry.page.number, paths[chapter_of(memory.book, entry.page)]) for entry in memory.entries]
    top = _section(pages, 0)
    return top if top.children else PageRange(1, top.first, top.last, (top,))


def chapter_of(book: Book, page: Page) -> int:
    """Index of a page's chapter: that at its end, since it may begin with the titles of parts."""
    return book.chapter_index(max(page.start, page.end - 1))


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
            children.append(_group([PageRange(0, number, number) for number, _ in inside]))
    return _group(children)


def _group(neighbours: list[PageRange]) -> PageRange:
    while (count := len(neighbours)) > MAX_CHILDREN:
        parents = -(-count // MAX_CHILDREN)  # The fewest, of even size
        starts = [index * (count // parents) + min(index, count % parents) for index in range(parents + 1)]
        neighbours = [_parent(neighbours[start:end]) for start, end in pairwise(starts)]
    return _parent(neighbours)


def _parent(children: list[PageRange]) -> PageRange:
    if len(children) == 1:
        return children[0]
    level = 1 + max(child.level for child in children)
    return PageRange(level, children[0].first, children[-1].last, tuple(children))


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
