"""ReadAgent's readers over the gist memory (sections 3.2 and 4): sequential and parallel look-up, and gists alone.

The model can only choose an unopened page of those shown, or stop (D3). Sequential look-up
(ReadAgent-S, Figure 5) opens each page before the next choice; parallel look-up (ReadAgent-P, Figure 4, Appendix I)
names all pages in one answer. The person may pin and refuse pages, or end the search, at any time.
"""

from collections.abc import AsyncGenerator, Sequence

from gistread import prompts
from gistread.engine.protocol import Engine, Message, Sampling
from gistread.memory.model import GistMemory
from gistread.readers.events import (
    Expanded,
    LookedUp,
    OpenedBy,
    Proposed,
    ReaderEvent,
    Stopped,
    StopReason,
)
from gistread.readers.lookups import (
    REASON_TOKENS,
    STOP,
    Search,
    answer,
    apply_steering,
    begin,
    openable_pages,
    start_search,
)
from gistread.readers.protocol import ReaderOptions
from gistread.readers.steering import Steering


async def readagent_s(
    question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    """Open one page after another, then answer. See `registry.Reader`."""
    search = await start_search(question, memory, engine, steering, options, options.max_pages)
    async for event in begin("readagent-s", search, steering):
        yield event
    may_stop = True
    while True:
        proposal = await _propose(search, steering, may_stop=may_stop)
        if isinstance(proposal, StopReason):
            yield Stopped(proposal)
            break
        async for said in steering.review(proposal):
            yield said
        decision = steering.decision
        if steering.stop or not (proposal.pages or decision.refuses or decision.pages):
            yield Stopped(StopReason.PERSON if steering.stop else StopReason.ENOUGH)
            break
        may_stop = bool(proposal.pages or decision.pages)
        for page in proposal.pages:
            if page in steering.refused:
                continue
            search.lookups.append(page)
            yield LookedUp(page, len(search.lookups), proposal.reason)
            if page not in steering.refused and page not in search.window.opened:
                search.window.opened.add(page)
                yield Expanded(page, OpenedBy.AGENT)
        async for opened in apply_steering(search, steering):
            yield opened
    async for opened in apply_steering(search, steering):
        yield opened
    async for answered in answer(search):
        yield answered


async def readagent_p(
    question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    """Name all pages in one step, the most important first, then answer. See `registry.Reader`."""
    search = await start_search(question, memory, engine, steering, options, options.max_pages)
    async for event in begin("readagent-p", search, steering):
        yield event
    while True:
        named: list[int] = []
        while isinstance(step := await _choose_page(search, steering, "lookup_parallel", named, named), int):
            named.append(step)
            yield LookedUp(step, len(named), "")
        async for said in steering.review(Proposed(tuple(named), 1, len(memory.entries))):
            yield said
        decision = steering.decision
        if steering.stop or not decision.refuses or decision.pages:
            break
    yield Stopped(StopReason.PERSON if steering.stop else step)
    search.lookups.extend(named)
    for page in named:
        if page not in steering.refused and page not in search.window.opened:
            search.window.opened.add(page)
            yield Expanded(page, OpenedBy.AGENT)
    async for opened in apply_steering(search, steering):
        yield opened
    async for answered in answer(search):
        yield answered


async def gists(
    question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    """Answer from the gists, with the person's pinned pages in full ("gist memory only"). See `registry.Reader`."""
    search = await start_search(question, memory, engine, steering, options, max_pages=0)
    async for event in begin("gists", search, steering):
        yield event
    yield Stopped(StopReason.NOTHING_LEFT)
    async for answered in answer(search):
        yield answered


async def _propose(search: Search, steering: Steering, *, may_stop: bool) -> Proposed | StopReason:
    """Propose the next page, or the answer if the model has enough; or the reason why the search must end."""
    page = await _choose_page(search, steering, "lookup", search.lookups, may_stop=may_stop)
    step, last = len(search.lookups) + 1, len(search.window.memory.entries)
    if isinstance(page, StopReason):
        return Proposed((), step, last) if page is StopReason.ENOUGH else page
    return Proposed((page,), step, last, await _reason(search, page) if search.options.is_reliable else "")


async def _choose_page(
    search: Search,
    steering: Steering,
    task: str,
    lookups: Sequence[int],
    named: Sequence[int] = (),
    *,
    may_stop: bool = True,
) -> int | StopReason:
    window = search.window
    while True:
        if steering.stop:
            return StopReason.PERSON
        if len(lookups) >= search.options.max_pages:
            return StopReason.LIMIT
        if not window.shown - window.opened - steering.refused - set(named):
            return StopReason.NOTHING_LEFT
        offered = await openable_pages(search, steering, named)
        if not offered:
            return StopReason.WINDOW
        prompt = search.prompt(task)
        if named:
            prompt = (*prompt, Message("assistant", "".join(f"Page {page}, " for page in named)))
        choice = await search.engine.choose(prompt, [*(f"Page {page}" for page in offered), *[STOP] * may_stop])
        search.usage += choice.usage
        if steering.stop:
            return StopReason.PERSON
        if choice.index == len(offered):
            return StopReason.ENOUGH
        page = offered[choice.index]
        if page in steering.refused or page in window.opened:
            continue  # the person opened or refused it during the choice
        if await search.fits(*named, page):
            return page
        search.unfit.add(page)


async def _reason(search: Search, page: int) -> str:
    begun = prompts.load("lookup_reason").fill(page=page)
    prompt = (*search.prompt("lookup"), Message("assistant", begun))
    max_tokens = min(REASON_TOKENS, search.options.answer_tokens)
    said = await search.engine.complete(prompt, Sampling(max_tokens, repeat_penalty=1.1, stop=("\n",)))
    search.usage += said.usage
    words = " ".join(said.text.split())
    sentence, stop, _ = words.partition(". ")
    if stop or said.finish == "end":
        return sentence.strip(" .")
    return f"{sentence.strip(' .,;')}…" if sentence else ""
