"""ReadAgent with sequential look-up (ReadAgent-S; section 3.2, Figure 5).

The model sees the gists, with the pages expanded so far in place, and chooses one more page or to stop, until
it stops, has had its number of pages, or no further page fits its window. Then it answers. It can choose
nothing but a page that it was shown and has not opened (design D3). The person beside it may pin pages, refuse
pages and end the search between any two events.

Every prompt begins with the memory and ends with the task, so what follows on the same memory (the reason, the
answer) costs little more than its own words.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace

from gistread import prompts
from gistread.engine.protocol import NO_USAGE, Engine, Message, Prompt, Sampling, Usage
from gistread.memory.model import GistMemory
from gistread.readers.answering import Written, stream_answer
from gistread.readers.citations import cite, without_false_references
from gistread.readers.events import (
    Answered,
    Expanded,
    LookedUp,
    ReaderEvent,
    Started,
    Steering,
    Stopped,
    StopReason,
    Unfit,
    Who,
)
from gistread.readers.options import ReaderOptions
from gistread.readers.window import Window, lay_out, render

NAME = "readagent-s"

NOTHING_READ = "Nothing of the book has been read yet."
"""The answer to a question over an empty memory."""

_STOP = "STOP"
_REASON_TOKENS = 24
_PAGE_MARGIN = 1.3
"""A page is taken to have at most this many times the tokens that its words would have on average."""


@dataclass(slots=True)
class _Search:
    """One question being worked on."""

    question: str
    window: Window
    engine: Engine
    options: ReaderOptions
    lookups: list[int] = field(default_factory=list)
    unfit: set[int] = field(default_factory=set)
    """Pages that were found not to fit the window."""
    usage: Usage = NO_USAGE

    def prompt(self, name: str) -> Prompt:
        return _prompt(name, self.question, self.window.text(), self.window.opened, stable=self.window.whole)

    async def fits(self, page: int) -> bool:
        """Whether this page too can stand open, and the answer be given."""
        opened = {*self.window.opened, page}
        needed = await _measured(self.question, self.window.text(opened), opened, self.engine, self.options)
        return needed <= self.engine.info.context_tokens


async def readagent_s(
    question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    """Answer `question` from what has been read so far. See `readers.Reader`."""
    # The book may be read on meanwhile: what counts is what was read when the question was asked.
    memory = replace(memory, entries=list(memory.entries))
    pages_read = len(memory.entries)
    if not memory.entries:
        yield Started(NAME, 0, memory.estimated_pages, complete=False)
        yield Stopped(StopReason.NOTHING_LEFT)
        yield Answered(NOTHING_READ, False, (), (), (), 0.0, NO_USAGE)
        return

    async def measure(text: str) -> int:
        return await _measured(question, text, set(), engine, options)

    pinned = {page for page in steering.pinned - steering.refused if 1 <= page <= pages_read}
    window = await lay_out(question, memory, pinned, measure, engine, options.max_pages)
    search = _Search(question, window, engine, options)
    shown = None if window.whole else tuple(sorted(window.shown))
    yield Started(NAME, pages_read, memory.estimated_pages, memory.complete, shown)
    for page in sorted(window.opened):
        yield Expanded(page, Who.PERSON)

    while True:
        async for opened in _heed(search, steering):
            yield opened
        step = await _next_step(search, steering)
        if isinstance(step, StopReason):
            yield Stopped(step)
            break
        reason = await _reason(search, step) if options.reasons else ""
        search.lookups.append(step)
        yield LookedUp(step, len(search.lookups), reason)
        if step not in steering.refused and step not in window.opened:
            window.opened.add(step)
            yield Expanded(step, Who.AGENT)

    async for opened in _heed(search, steering):
        yield opened
    async for event in _answer(search):
        yield event


async def prepare(memory: GistMemory, engine: Engine) -> Usage:
    """Let the engine evaluate what every question about this memory begins with, while nobody waits.

    Does nothing where the memory does not fit the window: then what is shown depends on the question.
    """
    text = render(memory, [entry.page.number for entry in memory.entries])
    needed = await _measured("", text, set(), engine, ReaderOptions())
    if not memory.entries or needed > engine.info.context_tokens:
        return NO_USAGE
    return await engine.prepare(_prompt("lookup", "", text, set(), stable=True))


async def _heed(search: _Search, steering: Steering) -> AsyncGenerator[Expanded | Unfit, None]:
    """Do what the person has asked for since: close what is refused, open what is pinned and fits."""
    window = search.window
    if window.opened & steering.refused:
        window.opened -= steering.refused
        search.unfit.clear()  # There is room again.
    for page in sorted(steering.pinned - steering.refused - window.opened - search.unfit):
        if not 1 <= page <= len(window.memory.entries):
            continue
        was_shown = page in window.shown
        window.shown.add(page)
        if await search.fits(page):
            window.opened.add(page)
            yield Expanded(page, Who.PERSON)
        else:
            search.unfit.add(page)
            if not was_shown:
                window.shown.discard(page)
            yield Unfit(page)


async def _next_step(search: _Search, steering: Steering) -> int | StopReason:
    """The page that the model asks for, or why there is none."""
    window, engine = search.window, search.engine
    while True:
        if steering.stop:
            return StopReason.PERSON
        if len(search.lookups) >= search.options.max_pages:
            return StopReason.LIMIT
        unread = sorted(window.shown - window.opened - steering.refused)
        if not unread:
            return StopReason.NOTHING_LEFT
        offered = await _fitting(search, unread)
        if not offered:
            return StopReason.WINDOW
        labels = [*(f"Page {page}" for page in offered), _STOP]
        choice = await engine.choose(search.prompt("lookup"), labels)
        search.usage += choice.usage
        if steering.stop:
            return StopReason.PERSON
        if choice.index == len(offered):
            return StopReason.ENOUGH
        page = offered[choice.index]
        if page in steering.refused or page in window.opened:
            continue  # The person was quicker.
        if await search.fits(page):
            return page
        search.unfit.add(page)


async def _fitting(search: _Search, unread: list[int]) -> list[int]:
    """Those of these pages that fit the window beside what is in it, as far as can be told without opening them."""
    memory, window = search.window.memory, search.window
    used = await _measured(search.question, window.text(), window.opened, search.engine, search.options)
    free = search.engine.info.context_tokens - used
    candidates = [page for page in unread if page not in search.unfit]
    if not candidates:
        return []
    tokens = await search.engine.count(window.text())
    words = sum(
        memory.entry(page).page.words if page in window.opened else memory.entry(page).gist.words
        for page in window.shown
    )
    tokens_per_word = _PAGE_MARGIN * tokens / max(1, words)
    fitting: list[int] = []
    for page in candidates:
        entry = memory.entry(page)
        # Counting every page of a long memory takes long: only those are counted that might not fit.
        if entry.page.words * tokens_per_word <= free or await search.fits(page):
            fitting.append(page)
        else:
            search.unfit.add(page)
    return fitting


async def _reason(search: _Search, page: int) -> str:
    """Why this page, in one line: the model goes on with its own choice."""
    begun = prompts.load("lookup_reason").fill(page=page)
    prompt = (*search.prompt("lookup"), Message("assistant", begun))
    room = min(_REASON_TOKENS, search.options.answer_tokens)
    said = await search.engine.complete(prompt, Sampling(room, repeat_penalty=1.1, stop=("\n",)))
    search.usage += said.usage
    words = " ".join(said.text.split())
    sentence, stop, _ = words.partition(". ")
    if stop or said.finish == "end":
        return sentence.strip(" .")
    return f"{sentence.strip(' .,;')}…" if sentence else ""


async def _answer(search: _Search) -> AsyncGenerator[ReaderEvent, None]:
    window = search.window
    async for event in stream_answer(search.prompt("answer"), search.engine, search.options.answer_tokens):
        if not isinstance(event, Written):
            yield event
            continue
        search.usage += event.usage
        answer = without_false_references(event.text, window.shown)
        citations = cite(event.text, search.question, window.memory, window.opened, window.shown) if event.found else ()
        yield Answered(
            answer=answer,
            found=event.found,
            citations=citations,
            lookups=tuple(search.lookups),
            expanded=tuple(sorted(window.opened)),
            compression_rate=window.memory.compression_rate(window.opened),
            usage=search.usage,
        )


def _prompt(name: str, question: str, memory_text: str, opened: set[int], *, stable: bool = False) -> Prompt:
    """`stable`: other questions will begin with the same memory, as long as no page stands open in it."""
    numbers = ", ".join(map(str, sorted(opened))) or "none"
    text = prompts.load(name).fill(memory=memory_text, opened=numbers, question=" ".join(question.split()))
    return (Message("user", text, len(memory_text) if stable and not opened else 0),)


async def _measured(question: str, memory_text: str, opened: set[int], engine: Engine, options: ReaderOptions) -> int:
    """Tokens of the longest prompt over this memory, with what may follow it."""
    lookup = await engine.measure(_prompt("lookup", question, memory_text, opened))
    answer = await engine.measure(_prompt("answer", question, memory_text, opened))
    return max(lookup + _REASON_TOKENS, answer) + max(options.answer_tokens, _REASON_TOKENS)
