"""One question over a gist memory, for readers that look up pages: the open pages, those that fit, and the answer."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

from gistread import prompts
from gistread.engine.protocol import NO_USAGE, Engine, Message, Prompt, Usage
from gistread.errors import BudgetTooSmallError, PromptTooLongError
from gistread.memory.levels import one_line, page_by_page
from gistread.memory.model import GistMemory, Page
from gistread.memory.passages import join
from gistread.memory.tree import current_tree
from gistread.readers import events
from gistread.readers.answering import AnswerContext, answer_from, answer_prompt
from gistread.readers.choosing import SAID_TOKENS
from gistread.readers.protocol import ReaderOptions
from gistread.readers.steering import Steering
from gistread.readers.window import Window, lay_out, render

_PAGE_MARGIN = 1.3  # Factor by which a page's tokens may differ from an estimate by words
# Most pages near the limit that are counted before the model chooses; its choice is measured in any case.
_PAGES_COUNTED = 24


@dataclass(slots=True)
class Search:
    question: str
    window: Window
    engine: Engine
    options: ReaderOptions
    lookups: list[int] = field(default_factory=list)
    unfit: set[int] = field(default_factory=set)  # Pages found not to fit the window
    usage: Usage = NO_USAGE

    def prompt(self, name: str, *, must_answer: bool = False) -> Prompt:
        """The memory as shown now, then the task `name`."""
        window = self.window
        shown = window.text(), window.opened
        return _prompt(
            name, self.question, *shown, self.options, cacheable_prefix=window.whole, must_answer=must_answer
        )

    async def fits(self, *pages: int) -> bool:
        opened = {*self.window.opened, *pages}
        needed = await _measure_needed(self.question, self.window.text(opened), opened, self.engine, self.options)
        return needed <= self.engine.info.context_tokens


async def start_search(
    question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions, max_pages: int
) -> Search:
    """Lay out the memory with room for `max_pages`. Raises PromptTooLongError, BudgetTooSmallError."""

    async def measure(text: str) -> int:
        return await _measure_needed(question, text, set(), engine, options)

    pinned = {page for page in steering.pinned - steering.refused if 1 <= page <= len(memory.entries)}
    here, answer_tokens = _page_of(steering.here, memory), options.answer_tokens
    window = await lay_out(question, memory, pinned, measure, engine, max_pages, here, answer_tokens=answer_tokens)
    if not window.segments and not window.opened:
        text = render(memory, [one_line(current_tree(memory))])
        needed, context_tokens = await engine.count(text), engine.info.context_tokens
        if 0 < options.budget_tokens < needed:
            raise BudgetTooSmallError(needed, options.budget_tokens)
        raise PromptTooLongError(await measure(text) - options.answer_tokens, options.answer_tokens, context_tokens)
    return Search(question, window, engine, options)


async def begin(
    name: str, search: Search, steering: Steering
) -> AsyncGenerator[events.Started | events.Refused | events.Expanded | events.Unfit, None]:
    """Report the layout of the memory, then apply steering."""
    window, memory = search.window, search.window.memory
    told = (
        ()
        if window.whole
        else tuple(events.SegmentLevel(p.first, p.last, p.level, p.made, p.line) for p in window.segments)
    )
    yield events.Started(name, len(memory.entries), memory.estimated_pages, memory.complete, told)
    for page in sorted(window.opened):
        yield events.Expanded(page, events.OpenedBy.PERSON)
    async for steered in apply_steering(search, steering):
        yield steered


async def prepare(memory: GistMemory, engine: Engine) -> Usage:
    """Evaluate the common beginning of all questions in advance, if the memory fits the window."""
    text = render(memory, page_by_page(memory))
    needed = await _measure_needed("", text, set(), engine, ReaderOptions())
    if not memory.entries or needed > engine.info.context_tokens:
        return NO_USAGE
    return await engine.prepare(_prompt("lookup", "", text, set(), ReaderOptions(), cacheable_prefix=True))


async def apply_steering(
    search: Search, steering: Steering
) -> AsyncGenerator[events.Refused | events.Expanded | events.Unfit, None]:
    """Close pages that were refused since the last call, and open pinned pages that fit."""
    window = search.window
    if closed := window.opened & steering.refused:
        window.opened -= closed
        search.unfit.clear()  # there is room again
        yield events.Refused(tuple(sorted(closed)))
    for page in sorted(steering.pinned - steering.refused - window.opened - search.unfit):
        if not 1 <= page <= len(window.memory.entries):
            continue
        if await search.fits(page):
            window.opened.add(page)
            yield events.Expanded(page, events.OpenedBy.PERSON)
        else:
            search.unfit.add(page)
            yield events.Unfit(page)


async def openable_pages(search: Search, steering: Steering) -> list[int]:
    """The pages that probably still fit the window."""
    window = search.window
    memory = window.memory
    unread = sorted(window.shown - window.opened - steering.refused - search.unfit)
    used = await _measure_needed(search.question, window.text(), window.opened, search.engine, search.options)
    free = search.engine.info.context_tokens - used
    tokens_per_word = await search.engine.count(window.text()) / max(1, window.words)
    fitting: list[int] = []
    counted = 0
    for page in unread:
        expected = memory.entry(page).page.words * tokens_per_word
        # Counting every page of a long memory is slow, so only doubtful ones are counted.
        if expected * _PAGE_MARGIN <= free:
            fitting.append(page)
        elif expected > free * _PAGE_MARGIN:
            continue  # not marked as unfit: closing a page may make room
        elif counted < _PAGES_COUNTED:
            counted += 1
            if await search.fits(page):
                fitting.append(page)
            else:
                search.unfit.add(page)
        elif expected <= free:
            fitting.append(page)
    return fitting


async def answer(search: Search, *, must_answer: bool = False) -> AsyncGenerator[events.ReaderEvent, None]:
    """The answer over the memory as shown now; the last event is `Answered`. `must_answer`: see `answer_prompt`."""
    window, memory = search.window, search.window.memory

    def page_of(number: int) -> Page:
        return memory.entry(number).page

    pages = list(map(page_of, window.opened))
    context = AnswerContext(
        window.text(),
        window.compression_rate,
        seen=tuple(join(((page.start, page.end) for page in pages), memory.book)),
        gists=tuple(sorted(window.shown - window.opened)),
        lookups=tuple(search.lookups),
        expanded=tuple(sorted(window.opened)),
        usage=search.usage,
        numbered=tuple((page.number, (page.start, page.end)) for page in map(page_of, sorted(window.shown))),
    )
    prompt = search.prompt("answer", must_answer=must_answer)
    async for event in answer_from(context, prompt, search.question, search.engine, search.options):
        yield event


def _prompt(
    name: str,
    question: str,
    memory_text: str,
    opened: set[int],
    options: ReaderOptions,
    *,
    cacheable_prefix: bool = False,
    must_answer: bool = False,
) -> Prompt:
    """`cacheable_prefix`: whether other questions share the memory text, which is so while no page is open."""
    values = {"memory": memory_text, "opened": ", ".join(map(str, sorted(opened))) or "none", "question": question}
    again = len(memory_text) if cacheable_prefix and not opened else 0
    if name == "answer":
        return answer_prompt(name, options, cacheable_prefix=again, must_answer=must_answer, **values)
    return (Message("user", prompts.load(name, options.wording).fill(**values), again),)


async def _measure_needed(
    question: str, memory_text: str, opened: set[int], engine: Engine, options: ReaderOptions
) -> int:
    """Tokens of the longest prompt and its answer; with a budget, shifted so that exceeding it exceeds the window."""
    lookup = await engine.measure(_prompt("lookup_reason", question, memory_text, opened, options))
    answer = await engine.measure(_prompt("answer", question, memory_text, opened, options))
    needed = max(lookup + SAID_TOKENS, answer + options.answer_tokens)
    if not options.budget_tokens:
        return needed
    kept_free = engine.info.context_tokens - options.budget_tokens
    return max(needed, await engine.count(memory_text) + kept_free)


def _page_of(offset: int | None, memory: GistMemory) -> int | None:
    if offset is None:
        return None
    page = memory.page_at(offset)
    return page.number if page else len(memory.entries)
