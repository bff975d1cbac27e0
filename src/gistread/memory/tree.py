"""The memory tree (MemWalker, section 3.1): gists of pages, gists of gists for chapters, parts and the whole book.

One tree for all who look at a memory from further away: MemWalker walks down it, a memory that outgrows the window is
shown by its upper levels where that will do (iterative gisting: ReadAgent, Appendix F.3), and the person zooms through
them. Its shape is `outline.py`'s; a summary is made of those below it as a gist is made of a page, guard included, and
kept by the text it was made of (`derived.py`), whoever made it. So a build that was stopped goes on, and one after more
pages were read makes only what is new. Until a summary has been made, sentences of those below stand in for it.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from gistread.book.model import Book
from gistread.book.normalise import count_words
from gistread.engine.concurrency_limit import ConcurrencyLimit
from gistread.engine.protocol import NO_USAGE, Engine, Priority, Usage
from gistread.errors import PromptTooLongError
from gistread.memory import gisting
from gistread.memory.derived import ArtifactProgress, DerivedRecords, key_of
from gistread.memory.estimate import RemainingWork, unread
from gistread.memory.extractive import extract
from gistread.memory.gisting import careful_attempts, gist_page, is_short, merged_words, wanted_words
from gistread.memory.model import Gist, GistMemory, GistSource, Page
from gistread.memory.outline import MOST_CHILDREN, PageRange, chapter_of, inner_ranges, outline
from gistread.memory.sizes import TOKENS_PER_WORD

_KIND = "summary"
_USUAL_CHILDREN = 6
_ROOM_CHILDREN = 3
"""A summary that is being made takes as much room as so many of those it is made of."""
_TASK_WORDS = 40
"""Of a prompt for a summary, beside what is to be shortened."""


@dataclass(frozen=True, slots=True)
class Node:
    """A stretch of the book: a page, or neighbours that belong together."""

    level: int
    """0: a page."""
    first: int
    """Number of its first page."""
    last: int
    summary: Gist
    """Of a page: its gist."""
    children: tuple["Node", ...] = ()
    made: bool = True
    """False: sentences of its children stand in for a summary that has not been made."""

    @property
    def pages(self) -> int:
        """How many there are."""
        return self.last - self.first + 1


def nodes(top: Node) -> Iterator[Node]:
    """Every node, each after those below it."""
    for child in top.children:
        yield from nodes(child)
    yield top


def chapters(memory: GistMemory, top: Node) -> list[Node]:
    """The chapters of the book, in its order: the largest nodes that lie in one chapter; what is below the top of a
    book that has none. A chapter of one page is that page."""
    found = _in_one(memory, top, chapter_of)
    return found if len(found) > 1 else list(top.children)


def volumes(memory: GistMemory, top: Node) -> list[Node]:
    """The volumes of a series, in its order."""
    return _in_one(memory, top, lambda book, page: book.volume_index(page.start))


def _in_one(memory: GistMemory, node: Node, place_of: Callable[[Book, Page], int]) -> list[Node]:
    """The largest nodes whose pages all have one place."""
    first, last = (place_of(memory.book, memory.entry(number).page) for number in (node.first, node.last))
    if first == last or not node.children:
        return [node]
    return [one for child in node.children for one in _in_one(memory, child, place_of)]


def current_tree(memory: GistMemory) -> Node:
    """The tree as it stands: the summaries that were made, and sentences of those below in place of the others.

    No model is asked. There must be a page. War and Peace, with none made: under a second, for a thread.
    """
    return _stand(memory, outline(memory))


def remaining(memory: GistMemory, *, whole: bool = False) -> RemainingWork:
    """What is left to make of the summaries below the top (and of the `whole`), those of unread pages too.

    For a thread, as `standing`.
    """
    top = current_tree(memory) if memory.entries else None
    inside = [node for node in nodes(top) if node.children and (whole or node is not top)] if top else []
    wanted = [sum(child.summary.words for child in node.children) for node in inside if not node.made]
    done = len(inside) - len(wanted)
    gists = [wanted_words(words) for words in unread(memory)]
    wanted += [sum(gists[start:][:_USUAL_CHILDREN]) for start in range(0, len(gists), _USUAL_CHILDREN)]
    return RemainingWork(
        done,
        done + len(wanted),
        round(sum(words + _TASK_WORDS for words in wanted) * TOKENS_PER_WORD),
        round(sum(merged_words(words) for words in wanted) * TOKENS_PER_WORD),
    )


async def build(
    memory: GistMemory, engine: Engine, priority: Priority = Priority.BACKGROUND, *, whole: bool = False
) -> AsyncGenerator[ArtifactProgress | Node, None]:
    """Make the summaries of all pages that have been read; the tree is the last thing yielded.

    There must be a page. The summary of the whole book is made only if it is wanted: nobody walks into it. Raises
    EngineError when the engine fails.
    """
    memory = replace(memory, entries=list(memory.entries))
    top = outline(memory)
    wanted = [stretch for stretch in inner_ranges(top) if whole or stretch is not top]
    made: dict[PageRange, asyncio.Task[tuple[Gist, Usage]]] = {}
    places = ConcurrencyLimit(engine)

    async def summary(stretch: PageRange) -> tuple[Gist, Usage]:
        below = [(await made[child])[0] if child.children else _gist(memory, child) for child in stretch.children]
        async with places:
            return await _summary(memory, stretch, _text(below), engine, priority)

    usage = NO_USAGE
    for stretch in wanted:
        made[stretch] = asyncio.create_task(summary(stretch))
    try:
        for done, ready in enumerate(asyncio.as_completed(made.values()), start=1):
            usage += (await ready)[1]
            yield ArtifactProgress(done, len(wanted), usage)
    finally:
        for task in made.values():
            task.cancel()
        await asyncio.gather(*made.values(), return_exceptions=True)
    yield _grown(memory, top, {stretch: task.result()[0] for stretch, task in made.items()})


def _grown(memory: GistMemory, stretch: PageRange, summaries: Mapping[PageRange, Gist]) -> Node:
    if not stretch.children:
        return Node(0, stretch.first, stretch.last, _gist(memory, stretch))
    children = tuple(_grown(memory, child, summaries) for child in stretch.children)
    if (summary := summaries.get(stretch)) is not None:
        return Node(stretch.level, stretch.first, stretch.last, summary, children)
    return _node(memory, stretch, children)


def _stand(memory: GistMemory, stretch: PageRange) -> Node:
    if not stretch.children:
        return Node(0, stretch.first, stretch.last, _gist(memory, stretch))
    return _node(memory, stretch, tuple(_stand(memory, child) for child in stretch.children))


def _node(memory: GistMemory, stretch: PageRange, children: tuple[Node, ...]) -> Node:
    """With the summary that is known, or with what stands in for it."""
    text = _text([child.summary for child in children])
    known = _known(memory, stretch, text)
    return Node(
        stretch.level,
        stretch.first,
        stretch.last,
        known or _stand_in(text, memory.focus.task),
        children,
        known is not None,
    )


def _gist(memory: GistMemory, page: PageRange) -> Gist:
    return memory.entry(page.first).gist


def _text(gists: list[Gist]) -> str:
    return "\n\n".join(gist.text for gist in gists)


def _key(memory: GistMemory, text: str) -> str:
    return key_of(memory.focus.version(*gisting.PROMPTS), text)


def _derived(memory: GistMemory, stretch: PageRange) -> DerivedRecords:
    return memory.derived.at(memory.entry(stretch.first).page.start)


def _known(memory: GistMemory, stretch: PageRange, text: str) -> Gist | None:
    """The summary that was made of these words; what is too short to be shortened is its own."""
    if is_short(text):
        return Gist(text, count_words(text), GistSource.VERBATIM)
    match _derived(memory, stretch).get(_KIND, _key(memory, text)):
        case {"text": str(known), "source": str(source)} if known and source in set(GistSource):
            return Gist(known, count_words(known), GistSource(source))
    return None


@lru_cache(maxsize=4096)
def _stand_in(text: str, task: str) -> Gist:
    """Sentences of those below, as many as a summary would have."""
    own = extract(text, merged_words(count_words(text)), task)
    return Gist(own, count_words(own), GistSource.EXTRACTIVE)


async def _summary(
    memory: GistMemory, stretch: PageRange, text: str, engine: Engine, priority: Priority
) -> tuple[Gist, Usage]:
    """The summary of these words: one that is known, or a new one."""
    if (known := _known(memory, stretch, text)) is not None:
        return known, NO_USAGE
    wanted = min(merged_words(count_words(text)), _most_words(engine.info.context_tokens))
    attempts = await careful_attempts(text, engine, memory.focus, wanted)
    task = memory.focus.task
    try:
        made = await gist_page(text, engine, attempts, priority, task=task, guarded=memory.guarded, wanted=wanted)
        gist, usage = made.gist, made.usage
    except PromptTooLongError:  # the gists were made by a model with a larger window
        gist, usage = _stand_in(text, task), NO_USAGE
    _derived(memory, stretch).put(_KIND, _key(memory, text), {"text": gist.text, "source": gist.source.value})
    return gist, usage


def _most_words(context_tokens: int) -> int:
    """Of a summary, so that a window holds as many as a node has children, and the one that is made of them."""
    return max(1, int((context_tokens / TOKENS_PER_WORD - _TASK_WORDS) / (MOST_CHILDREN + _ROOM_CHILDREN)))
