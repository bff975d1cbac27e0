"""The memory tree (MemWalker, section 3.1): gists of pages, and summaries of chapters, parts and the whole book.

MemWalker walks down it, a memory that outgrows the window is shown by its upper levels (iterative gisting: ReadAgent,
Appendix F.3), and the person zooms through it. `outline.py` gives its shape. A summary is made of those below it as a
gist is made of a page, guard included, and stored by the text it was made of (`derived.py`). So an interrupted build
resumes, and new pages cost only new summaries. Until a summary is made, sentences of those below stand in for it.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
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
from gistread.memory.outline import MAX_CHILDREN, PageRange, chapter_of, inner_ranges, outline
from gistread.memory.sizes import TOKENS_PER_WORD

_KIND = "summary"
_USUAL_CHILDREN = 6
_OUTPUT_CHILDREN = 3
"""The output takes the room of this many children."""
_TASK_WORDS = 40
"""Words of the prompt beside the text to shorten."""


@dataclass(frozen=True, slots=True)
class Node:
    """A page, or neighbouring nodes that belong together."""

    level: int
    """0: a page."""
    first: int
    """Number of its first page."""
    last: int
    summary: Gist
    """For a page, its gist."""
    children: tuple["Node", ...] = ()
    made: bool = True
    """False while sentences of its children stand in for its summary."""

    @property
    def pages(self) -> int:
        """Number of pages."""
        return self.last - self.first + 1


def nodes(top: Node) -> Iterator[Node]:
    """Every node, each after those below it."""
    for child in top.children:
        yield from nodes(child)
    yield top


def chapters(memory: GistMemory, top: Node) -> list[Node]:
    """The chapters in order: the largest nodes within one chapter. Without chapters, the children of the top."""
    found = _largest_within(memory, top, chapter_of)
    return found if len(found) > 1 else list(top.children)


def volumes(memory: GistMemory, top: Node) -> list[Node]:
    """The volumes of a series, in order."""
    return _largest_within(memory, top, lambda book, page: book.volume_index(page.start))


def _largest_within(memory: GistMemory, node: Node, section_of: Callable[[Book, Page], int]) -> list[Node]:
    """The largest nodes whose pages all lie in one section."""
    first, last = (section_of(memory.book, memory.entry(number).page) for number in (node.first, node.last))
    if first == last or not node.children:
        return [node]
    return [one for child in node.children for one in _largest_within(memory, child, section_of)]


def current_tree(memory: GistMemory) -> Node:
    """The tree with the summaries made so far, and sentences in place of the others. There must be a page.

    Uses no model. Takes up to a second for War and Peace: run it in a thread.
    """
    return _node(memory, outline(memory))


def remaining(memory: GistMemory, *, whole: bool = False) -> RemainingWork:
    """What is left to summarise, unread pages and on request the `whole` book included. Run it in a thread."""
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
) -> AsyncGenerator[ArtifactProgress, None]:
    """Summarise the pages read so far, and on request the `whole` book. There must be a page. Raises EngineError."""
    memory = replace(memory, entries=list(memory.entries))
    top = outline(memory)
    wanted = [pages for pages in inner_ranges(top) if whole or pages is not top]
    tasks: dict[PageRange, asyncio.Task[tuple[Gist, Usage]]] = {}
    limit = ConcurrencyLimit(engine)

    async def summarise(pages: PageRange) -> tuple[Gist, Usage]:
        below = [(await tasks[child])[0] if child.children else _gist(memory, child) for child in pages.children]
        async with limit:
            return await _summary(memory, pages, _text(below), engine, priority)

    usage = NO_USAGE
    for pages in wanted:
        tasks[pages] = asyncio.create_task(summarise(pages))
    try:
        for done, ready in enumerate(asyncio.as_completed(tasks.values()), start=1):
            usage += (await ready)[1]
            yield ArtifactProgress(done, len(wanted), usage)
    finally:
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)


def _node(memory: GistMemory, pages: PageRange) -> Node:
    if not pages.children:
        return Node(0, pages.first, pages.last, _gist(memory, pages))
    children = tuple(_node(memory, child) for child in pages.children)
    text = _text([child.summary for child in children])
    known = _known(memory, pages, text)
    summary = known or _stand_in(text, memory.focus.task)
    return Node(pages.level, pages.first, pages.last, summary, children, known is not None)


def _gist(memory: GistMemory, page: PageRange) -> Gist:
    return memory.entry(page.first).gist


def _text(gists: list[Gist]) -> str:
    return "\n\n".join(gist.text for gist in gists)


def _key(memory: GistMemory, text: str) -> str:
    return key_of(memory.focus.version(*gisting.PROMPTS), text)


def _derived(memory: GistMemory, pages: PageRange) -> DerivedRecords:
    return memory.derived.at(memory.entry(pages.first).page.start)


def _known(memory: GistMemory, pages: PageRange, text: str) -> Gist | None:
    """The stored summary of this text; a text too short to be shortened is its own."""
    if is_short(text):
        return Gist(text, count_words(text), GistSource.VERBATIM)
    match _derived(memory, pages).get(_KIND, _key(memory, text)):
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
    if (known := _known(memory, pages, text)) is not None:
        return known, NO_USAGE
    wanted = min(merged_words(count_words(text)), _most_words(engine.info.context_tokens))
    attempts = await careful_attempts(text, engine, memory.focus, wanted)
    task = memory.focus.task
    try:
        guarded = memory.method.guarded
        result = await gist_page(text, engine, attempts, priority, task=task, guarded=guarded, wanted=wanted)
        gist, usage = result.gist, result.usage
    except PromptTooLongError:  # a model with a larger window made the gists
        gist, usage = _stand_in(text, task), NO_USAGE
    _derived(memory, pages).put(_KIND, _key(memory, text), {"text": gist.text, "source": gist.source.value})
    return gist, usage


def _most_words(context_tokens: int) -> int:
    """Length of a summary so that the window holds a node's children and the summary made of them."""
    return max(1, int((context_tokens / TOKENS_PER_WORD - _TASK_WORDS) / (MAX_CHILDREN + _OUTPUT_CHILDREN)))
