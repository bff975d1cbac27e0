"""One question over a gist memory: which pages stand open, which still fit, what the person says, and the answer.

What the readers that look pages up share. Every prompt begins with the memory and ends with the task, so what
follows on the same memory costs little more than its own words. How pages are chosen, this does not know.
"""

from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass, field, replace

from gistread import prompts
from gistread.engine.protocol import NO_USAGE, Engine, Message, Prompt, Usage
from gistread.errors import BudgetTooSmallError, PromptTooLongError
from gistread.memory.levels import coarsest, page_by_page
from gistread.memory.model import GistMemory
from gistread.memory.passages import join
from gistread.memory.tree import current_tree
from gistread.readers.answering import AnswerContext, answer_from, answer_prompt
from gistread.readers.citations import cite, without_false_references
from gistread.readers.events import (
    Answered,
    Expanded,
    OpenedBy,
    ReaderEvent,
    SegmentLevel,
    Started,
    Steering,
    Unfit,
)
from gistread.readers.options import ReaderOptions
from gistread.readers.window import Window, lay_out, render

STOP = "STOP"
"""What a model says in place of a page when it wants no more."""

REASON_TOKENS = 24
_PAGE_MARGIN = 1.3
"""A page is taken to have at most this many times the tokens that its words would have on average."""
_PAGES_COUNTED = 24
"""Of the pages that fit perhaps, so many are counted before the model chooses. What it chooses is measured."""


@dataclass(slots=True)
class Search:
    """One question being worked on."""

    question: str
    window: Window
    engine: Engine
    options: ReaderOptions
    lookups: list[int] = field(default_factory=list)
    unfit: set[int] = field(default_factory=set)
    """Pages that were found not to fit the window."""
    usage: Usage = NO_USAGE

    def prompt(self, name: str, *, insisting: bool = False) -> Prompt:
        """The memory as it stands, then the task kept under this name."""
        window = self.window
        return _prompt(
            name,
            self.question,
            window.text(),
            window.opened,
            self.options,
            stable=window.whole,
            insisting=insisting,
        )

    async def fits(self, *pages: int) -> bool:
        """Whether these pages too can stand open, and the answer be given."""
        opened = {*self.window.opened, *pages}
        needed = await _measured(self.question, self.window.text(opened), opened, self.engine, self.options)
        return needed <= self.engine.info.context_tokens


async def start_search(
    question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions, max_pages: int
) -> Search:
    """Lay the memory out for a question, with room for `max_pages`. It has a page, and none is added later.

    Raises PromptTooLongError when the question alone fills the window, or no gist fits beside it, and
    BudgetTooSmallError when no gist fits the budget.
    """

    async def measure(text: str) -> int:
        return await _measured(question, text, set(), engine, options)

    pinned = {page for page in steering.pinned - steering.refused if 1 <= page <= len(memory.entries)}
    here, answer_tokens = _page_of(steering.here, memory), options.answer_tokens
    window = await lay_out(question, memory, pinned, measure, engine, max_pages, here, answer_tokens=answer_tokens)
    if not window.pieces and not window.opened:
        text = render(memory, [coarsest(current_tree(memory))])
        needed, context_tokens = await engine.count(text), engine.info.context_tokens
        if 0 < options.budget_tokens < needed:
            raise BudgetTooSmallError(needed, options.budget_tokens)
        raise PromptTooLongError(await measure(text) - options.answer_tokens, options.answer_tokens, context_tokens)
    return Search(question, window, engine, options)


def opening_events(name: str, search: Search) -> list[Started | Expanded]:
    """What a reader says first."""
    window, memory = search.window, search.window.memory
    told = () if window.whole else tuple(SegmentLevel(p.first, p.last, p.level, p.made, p.line) for p in window.pieces)
    first = Started(name, len(memory.entries), memory.estimated_pages, memory.complete, told)
    return [first, *(Expanded(page, OpenedBy.PERSON) for page in sorted(window.opened))]


async def prepare(memory: GistMemory, engine: Engine) -> Usage:
    """Let the engine evaluate what every question about this memory begins with, while nobody waits.

    Does nothing where the memory does not fit the window: then how it is told depends on the question.
    """
    text = render(memory, page_by_page(memory))
    needed = await _measured("", text, set(), engine, ReaderOptions())
    if not memory.entries or needed > engine.info.context_tokens:
        return NO_USAGE
    return await engine.prepare(_prompt("lookup", "", text, set(), ReaderOptions(), stable=True))


async def apply_steering(search: Search, steering: Steering) -> AsyncGenerator[Expanded | Unfit, None]:
    """Do what the person has asked for since: close what is refused, open what is pinned and fits."""
    window = search.window
    if window.opened & steering.refused:
        window.opened -= steering.refused
        search.unfit.clear()  # There is room again.
    for page in sorted(steering.pinned - steering.refused - window.opened - search.unfit):
        if not 1 <= page <= len(window.memory.entries):
            continue
        if await search.fits(page):
            window.opened.add(page)
            yield Expanded(page, OpenedBy.PERSON)
        else:
            search.unfit.add(page)
            yield Unfit(page)


async def pages_that_fit(search: Search, steering: Steering, named: Iterable[int] = ()) -> list[int]:
    """The pages that can still be opened, these `named` ones aside: those that fit the window beside what is in it,
    as far as can be told without opening them."""
    window = search.window
    memory = window.memory
    unread = sorted(window.shown - window.opened - steering.refused - search.unfit - set(named))
    used = await _measured(search.question, window.text(), window.opened, search.engine, search.options)
    free = search.engine.info.context_tokens - used
    tokens_per_word = await search.engine.count(window.text()) / max(1, window.words)
    fitting: list[int] = []
    counted = 0
    for page in unread:
        expected = memory.entry(page).page.words * tokens_per_word
        # Counting every page of a long memory takes long: only some of those are counted that might not fit.
        if expected * _PAGE_MARGIN <= free:
            fitting.append(page)
        elif expected > free * _PAGE_MARGIN:
            continue  # There may be room for it again, when another page is closed.
        elif counted < _PAGES_COUNTED:
            counted += 1
            if await search.fits(page):
                fitting.append(page)
            else:
                search.unfit.add(page)
        elif expected <= free:
            fitting.append(page)
    return fitting


async def answer(search: Search, *, insisting: bool = False) -> AsyncGenerator[ReaderEvent, None]:
    """The answer over what stands open now, as events; the last is `Answered`. `insisting`: see `answer_prompt`."""
    window, memory = search.window, search.window.memory
    pages = [memory.entry(number).page for number in window.opened]
    basis = AnswerContext(
        window.text(),
        window.compression_rate,
        cite=lambda said, question: cite(said, question, memory, window.opened, window.detailed or window.shown),
        seen=tuple(join(((page.start, page.end) for page in pages), memory.book)),
        lookups=tuple(search.lookups),
        expanded=tuple(sorted(window.opened)),
        usage=search.usage,
    )
    prompt = search.prompt("answer", insisting=insisting)
    async for event in answer_from(basis, prompt, search.question, search.engine, search.options):
        if isinstance(event, Answered):
            yield replace(event, answer=without_false_references(event.answer, window.shown))
        else:
            yield event


def _prompt(
    name: str,
    question: str,
    memory_text: str,
    opened: set[int],
    options: ReaderOptions,
    *,
    stable: bool = False,
    insisting: bool = False,
) -> Prompt:
    """`stable`: other questions will begin with the same memory, as long as no page stands open in it."""
    values = {
        "memory": memory_text,
        "opened": ", ".join(map(str, sorted(opened))) or "none",
        "question": question,
    }
    again = len(memory_text) if stable and not opened else 0
    if name == "answer":
        return answer_prompt(name, options, stable=again, insisting=insisting, **values)
    return (Message("user", prompts.load(name).fill(**values), again),)


async def _measured(question: str, memory_text: str, opened: set[int], engine: Engine, options: ReaderOptions) -> int:
    """Tokens of the longest prompt over this memory, with what may follow it.

    A budget is a window of its own: a memory that leaves so much of it over takes all but so much of the window.
    """
    lookup = await engine.measure(_prompt("lookup", question, memory_text, opened, options))
    answer = await engine.measure(_prompt("answer", question, memory_text, opened, options))
    needed = max(lookup + REASON_TOKENS, answer) + max(options.answer_tokens, REASON_TOKENS)
    if not options.budget_tokens:
        return needed
    kept_free = engine.info.context_tokens - options.budget_tokens
    return max(needed, await engine.count(memory_text) + kept_free)


def _page_of(offset: int | None, memory: GistMemory) -> int | None:
    """Number of the page where a person at `offset` is; the last one where the model has not been there yet."""
    if offset is None:
        return None
    page = memory.page_at(offset)
    return page.number if page else len(memory.entries)
