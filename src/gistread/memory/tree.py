"""The memory tree (MemWalker, section 3.1): gists of pages, and summaries of chapters and parts.

MemWalker walks down the tree. A memory that outgrows the window is shown by its upper levels
(ReadAgent, Appendices F.3 and I), from one line for the whole book to the gists of the pages that
matter most. More than eight neighbours are grouped evenly. Summaries are guarded like gists and
stored under a hash of their texts (`derived.py`). Extracted sentences replace missing summaries.
"""

import asyncio
import math
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import heappop, heappush
from itertools import groupby, pairwise
from typing import NamedTuple, Self, TypeVar

from gistread.book.model import Book
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
_OUTPUT_CHILDREN = 3  # The output has as much room as so many children
_TASK_WORDS = 40  # Words of the prompt without the text to shorten

_LINE_WORDS = 14
# Weight of the page where the user reads; the page most relevant to the question has 1
_POSITION_WEIGHT = 0.5
# So many pages away, this weight is halved
_HALF_WEIGHT_PAGES = 6.0


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
    made: bool = True  # False if sentences of its children replace its summary
    # Whether its summary is one line of the summary of its only child
    line: bool = False


_AnyRange = TypeVar("_AnyRange", bound=PageRange)


def current_tree(memory: GistMemory) -> Node:
    """The tree so far, with sentences in place of missing summaries.

    May take a second: run it in a thread.
    """
    return _node(memory, outline(memory), _extracted)


def remaining(memory: GistMemory, *, whole: bool = False) -> RemainingWork:
    """Estimate the summaries left, unread pages included.

    `whole`: also that of the book. Run it in a thread.
    """
    nodes: list[Node] = []
    if memory.entries:
        nodes = _with_children(current_tree(memory), whole=whole)
    missing = [node for node in nodes if not node.made]
    done = len(nodes) - len(missing)
    # The words that each missing summary shortens, then those of unread pages
    texts = [sum(child.summary.words for child in node.children) for node in missing]
    gists = [wanted_words(words) for words in unread_page_words(memory)]
    starts = range(0, len(gists), _USUAL_CHILDREN)
    texts += [sum(gists[start : start + _USUAL_CHILDREN]) for start in starts]
    prompt_words = sum(words + _TASK_WORDS for words in texts)
    summary_words = sum(map(merged_words, texts))
    return RemainingWork(
        done,
        total=done + len(texts),
        prefilled=round(prompt_words * TOKENS_PER_WORD),
        generated=round(summary_words * TOKENS_PER_WORD),
    )


def _with_children(top: _AnyRange, *, whole: bool) -> list[_AnyRange]:
    """The ranges that have summaries, in post-order; `whole`: with the top."""
    return [
        pages for pages in top.nodes() if pages.children and (whole or pages is not top)
    ]


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
    to_summarise = _with_children(outline(memory), whole=whole)
    tasks: dict[PageRange, asyncio.Task[tuple[Gist, Usage]]] = {}
    limit = asyncio.Semaphore(engine.info.parallel)

    async def summarise(pages: PageRange) -> tuple[Gist, Usage]:
        # Outside the limit, or parts that wait for their chapters would take all of it.
        gists = [await gist_of(child) for child in pages.children]
        async with limit:
            return await _summary(memory, pages, _text(gists), engine, priority)

    async def gist_of(pages: PageRange) -> Gist:
        if not pages.children:
            return memory.entry(pages.first).gist
        summary, _usage = await tasks[pages]
        return summary

    done = 0
    usage = NO_USAGE
    for pages in to_summarise:
        tasks[pages] = asyncio.create_task(summarise(pages))
    async with aclosing(as_finished(tasks.values())) as summaries:
        async for _, cost in summaries:
            done += 1
            usage += cost
            yield ArtifactProgress(done, len(to_summarise), usage)


def _node(
    memory: GistMemory, pages: PageRange, replacement: Callable[[str, str], Gist]
) -> Node:
    """The node of a range. `replacement` makes a missing summary from the text and the task."""
    if not pages.children:
        return _page(memory, pages.first)
    children = tuple(_node(memory, child, replacement) for child in pages.children)
    text = _text([child.summary for child in children])
    known = _known(memory, text)
    summary = known or replacement(text, memory.focus.task)
    return Node(
        pages.level,
        pages.first,
        pages.last,
        children,
        summary=summary,
        made=known is not None,
    )


def existing_summaries(memory: GistMemory, last: int) -> list[Node]:
    """Pages 1 to `last` in as few nodes as possible: existing summaries, else pages."""
    if not memory.entries:
        return []

    def existing(node: Node) -> list[Node]:
        if node.last <= last and all(inner.made for inner in node.nodes()):
            return [node]
        return [inner for child in node.children for inner in existing(child)]

    # Ranges without a summary are left out below: nothing need be extracted for them.
    nothing = Gist("", 0, GistSource.EXTRACTIVE)
    top = _node(memory, outline(memory), lambda _text, _task: nothing)
    return existing(top)


def _page(memory: GistMemory, number: int) -> Node:
    return Node(0, number, number, summary=memory.entry(number).gist)


def _text(gists: list[Gist]) -> str:
    return "\n\n".join(gist.text for gist in gists)


def _key(memory: GistMemory, text: str) -> str:
    return key_of(memory.focus.version(*gisting.PROMPTS), text)


def _known(memory: GistMemory, text: str) -> Gist | None:
    """The stored summary of a text, or a short text itself; None if it is missing."""
    if is_short(text):
        return Gist(text, count_words(text), GistSource.VERBATIM)
    sources = set(GistSource)
    match memory.derived.get(_KIND, _key(memory, text)):
        case {"text": str(known), "source": str(source)} if known and source in sources:
            return Gist(known, count_words(known), GistSource(source))
    return None


@lru_cache(maxsize=4096)
def _extracted(text: str, task: str) -> Gist:
    """Sentences of a text in place of its summary."""
    extract_of_text = extract(text, merged_words(count_words(text)), task)
    words = count_words(extract_of_text)
    return Gist(extract_of_text, words, GistSource.EXTRACTIVE)


async def _summary(
    memory: GistMemory, pages: PageRange, text: str, engine: Engine, priority: Priority
) -> tuple[Gist, Usage]:
    """The summary of a text, which is stored, and its cost."""
    known = _known(memory, text)
    if known is not None:
        return known, NO_USAGE
    room_words = engine.info.context_tokens / TOKENS_PER_WORD - _TASK_WORDS
    # So that the summaries of all children of the next range fit its prompt
    most_words = int(room_words / (MAX_CHILDREN + _OUTPUT_CHILDREN))
    words = min(merged_words(count_words(text)), max(1, most_words))
    attempts = await careful_attempts(text, engine, memory.focus, words)
    task = memory.focus.task
    end = memory.entry(pages.last).page.end
    before = told_before(memory.book.text, end, engine.info.wording)
    try:
        result = await gist_page(
            text, engine, attempts, priority, task=task, words=words, told_before=before
        )
        gist, usage = result.gist, result.usage
    except PromptTooLongError:
        # A model with a larger window made the gists.
        gist, usage = _extracted(text, task), NO_USAGE
    record = {"text": gist.text, "source": gist.source.value}
    memory.derived.put(_KIND, _key(memory, text), record)
    return gist, usage


def outline(memory: GistMemory) -> PageRange:
    """The tree of all pages read so far, at least one; its top has children."""
    book = memory.book
    paths = _chapter_paths(book)
    pages: list[_PlacedPage] = []
    for entry in memory.entries:
        # A page belongs to the chapter at its end, since it may begin with the titles of parts.
        chapter = book.chapter_index(entry.page.end - 1)
        pages.append(_PlacedPage(entry.page.number, paths[chapter]))
    top = _section(pages, 0)
    if top.children:
        return top
    return PageRange(1, top.first, top.last, (top,))


def _chapter_paths(book: Book) -> list[tuple[int, ...]]:
    """For each chapter, the indices of the parts around it and its own, the outermost first."""
    paths: list[tuple[int, ...]] = []
    ancestors: list[tuple[int, int]] = []  # Level and index
    for index, chapter in enumerate(book.chapters):
        while ancestors and ancestors[-1][0] >= chapter.level:
            ancestors.pop()
        ancestors.append((chapter.level, index))
        paths.append(tuple(ancestor for _, ancestor in ancestors))
    return paths


class _PlacedPage(NamedTuple):
    """A page in the hierarchy of chapters."""

    number: int
    path: tuple[int, ...]  # Of its chapter; see `_chapter_paths`


def _section(pages: Sequence[_PlacedPage], depth: int) -> PageRange:
    """The range of pages whose paths have their first `depth` indices in common."""
    children: list[PageRange] = []
    # The next index of each path, in a tuple; an empty one where the path ends
    for step, group in groupby(pages, key=lambda page: page.path[depth : depth + 1]):
        inside = list(group)
        ranges = [PageRange(0, page.number, page.number) for page in inside]
        if step:
            children.append(_section(inside, depth + 1))
        elif len(inside) == len(pages):
            children = ranges
        else:
            # The text of a part before its first chapter
            children.append(_group(ranges))
    return _group(children)


def _group(neighbours: list[PageRange]) -> PageRange:
    """One range over neighbours, with levels between if there are many."""
    while len(neighbours) > MAX_CHILDREN:
        count = len(neighbours)
        parents = math.ceil(count / MAX_CHILDREN)
        size, larger = divmod(count, parents)
        # The first `larger` parents have one child more.
        starts = [index * size + min(index, larger) for index in range(parents + 1)]
        neighbours = [_parent(neighbours[start:end]) for start, end in pairwise(starts)]
    return _parent(neighbours)


def _parent(children: list[PageRange]) -> PageRange:
    """The range of these children; an only child itself."""
    if len(children) == 1:
        return children[0]
    level = 1 + max(child.level for child in children)
    return PageRange(level, children[0].first, children[-1].last, tuple(children))


def page_by_page(memory: GistMemory) -> list[Node]:
    """A node for each page."""
    return [_page(memory, entry.page.number) for entry in memory.entries]


def page_weights(scores: Sequence[float], here: int | None) -> list[float]:
    """How much each page matters: by its score for the question, and its distance from `here`.

    `here`: the number of a page, or None.
    """
    best = max(scores, default=0.0) or 1.0
    weights = [score / best for score in scores]
    if here is not None:
        for index in range(len(weights)):
            number = index + 1
            distance = abs(number - here)
            weights[index] += _POSITION_WEIGHT / (1 + distance / _HALF_WEIGHT_PAGES)
    return weights


def choose_nodes(
    top: Node, weights: Sequence[float], room: float, cost: Callable[[Node], float]
) -> list[Node]:
    """Nodes over all pages at a total cost of at most `room`; empty if none fit.

    The most important ones are shown in more detail first. `weights`: page 1 first.
    """
    chosen: list[Node] = []
    queue = [_priority(one_line(top), weights)]
    spent = cost(queue[0].node)
    if spent > room:
        return []
    while queue:
        node = heappop(queue).node
        finer = _refined(node)
        spent_with_finer = spent + sum(map(cost, finer)) - cost(node)
        if not finer or spent_with_finer > room:
            chosen.append(node)
            continue
        spent = spent_with_finer
        for child in finer:
            heappush(queue, _priority(child, weights))
    return sorted(chosen, key=lambda node: node.first)


def _refined(node: Node) -> Sequence[Node]:
    """The nodes that show the same pages in more detail: as lines first, if they have children."""
    has_grandchildren = any(child.children for child in node.children)
    if node.line or not has_grandchildren:
        return node.children
    return [one_line(child) for child in node.children]


def one_line(node: Node) -> Node:
    """A node above this one that has one line of its summary; a short node itself."""
    text = extract(node.summary.text, _LINE_WORDS)
    summary = Gist(text, count_words(text), GistSource.EXTRACTIVE)
    if summary.words < node.summary.words:
        return replace(node, summary=summary, children=(node,), line=True)
    return node


class _Priority(NamedTuple):
    """Sorts nodes by their most important page, then by size, then by position.

    Importance, size and level are negative, so that the greatest comes first.
    """

    importance: float
    size: int
    first: int
    level: int
    node: Node


def _priority(node: Node, weights: Sequence[float]) -> _Priority:
    """The less, the sooner: the most important page counts, then the number of pages."""
    importance = max(weights[node.first - 1 : node.last])
    size = node.last - node.first
    return _Priority(-importance, -size, node.first, -node.level, node)
