"""ReadAgent's readers over the gist memory (sections 3.2 and 4): sequential and parallel look-up,
and gists alone.

The model can only choose an unopened page of those shown, or stop. Sequential look-up
(ReadAgent-S, Figure 5) opens each page before the next choice; parallel look-up (ReadAgent-P,
Figure 4, Appendix I) names all pages in one answer. The user may pin and refuse pages, or end the
search, at any time.
"""

from collections.abc import Sequence

from gistread.readers.answering import STOP, Asking
from gistread.readers.events import (
    Expanded,
    LookedUp,
    OpenedBy,
    Proposed,
    ReaderEvents,
    Stopped,
    StopReason,
)
from gistread.readers.lookups import (
    Search,
    answer,
    apply_steering,
    begin,
    openable_pages,
    start_search,
)
from gistread.readers.reasons import Reasons, page_wanted


async def readagent_s(asking: Asking) -> ReaderEvents:
    """Open one page after another, then answer."""
    search, steering = await start_search(asking, asking.options.max_pages), asking.steering
    async for event in begin("readagent-s", search):
        yield event
    may_stop = True
    while True:
        proposal = await _propose(search, may_stop=may_stop)
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
            if page not in steering.refused and page not in search.opened:
                search.opened.add(page)
                yield Expanded(page, OpenedBy.AGENT)
        async for opened in apply_steering(search):
            yield opened
    async for opened in apply_steering(search):
        yield opened
    async for answered in answer(search):
        yield answered


async def readagent_p(asking: Asking) -> ReaderEvents:
    """Name all pages in one step, the most important first, then answer."""
    search, steering = await start_search(asking, asking.options.max_pages), asking.steering
    async for event in begin("readagent-p", search):
        yield event
    while True:
        named, ended = await _choose_pages(search)
        reasons = Reasons.over(search.question, search.memory)
        sections = tuple(page_wanted(page, search.memory, reasons) for page in named)
        last = len(search.memory.entries)
        proposal = Proposed(tuple(named), 1, last, sections=sections)
        async for event in steering.review(proposal):
            yield event
        decision = steering.decision
        accepted = [page for page in named if page not in steering.refused]
        for page, section in zip(named, sections, strict=True):
            if page in accepted:
                search.lookups.append(page)
                yield LookedUp(page, len(search.lookups), section.reason)
        is_last = steering.stop or bool(decision.pages)
        if is_last or not (decision.refuses or decision.refused_of(named)):
            break
        async for event in _open_pages(search, accepted):
            yield event
    yield Stopped(StopReason.PERSON if steering.stop else ended)
    async for event in _open_pages(search, accepted):
        yield event
    async for opened in apply_steering(search):
        yield opened
    async for answered in answer(search):
        yield answered


async def _open_pages(search: Search, pages: Sequence[int]) -> ReaderEvents:
    for page in pages:
        if page not in search.opened:
            search.opened.add(page)
            yield Expanded(page, OpenedBy.AGENT)


async def _choose_pages(search: Search) -> tuple[list[int], StopReason]:
    """The pages to open, the most important first, and why there are no more."""
    named: list[int] = []
    steering = search.steering
    offered = await openable_pages(search)
    if ended := _must_end(search, offered):
        return named, ended
    options = [f"Page {page}" for page in offered]
    most = search.options.max_pages - len(search.lookups)
    for index in await search.choose_several(search.prompt("lookup_parallel"), options, most):
        page = offered[index]
        if page in steering.refused or page in search.opened:
            continue  # the user opened or refused it during the choice
        if not await search.fits(*named, page):
            return named, StopReason.WINDOW
        named.append(page)
    return named, StopReason.LIMIT if len(named) == most else StopReason.ENOUGH


async def _propose(search: Search, *, may_stop: bool) -> Proposed | StopReason:
    """Propose the next page, or the answer if the model has enough.

    Or the reason why the search must end.
    """
    steering = search.steering
    step = len(search.lookups) + 1
    last = len(search.memory.entries)
    while True:
        offered = await openable_pages(search)
        if ended := _must_end(search, offered):
            return ended
        options, reason = [*(f"Page {page}" for page in offered), *[STOP] * may_stop], ""
        if search.options.model.chooses:
            prompts = search.prompt("lookup_reason"), search.prompt("lookup")
            index, reason = await search.choose_and_say(prompts[0], options, prompts[1])
        else:
            index = await search.choose(search.prompt("lookup"), options, len(options) - 1)
        if steering.stop:
            return StopReason.PERSON
        if index == len(offered):
            return Proposed((), step, last)
        page = offered[index]
        if page in steering.refused or page in search.opened:
            continue  # the user opened or refused it during the choice
        if await search.fits(page):
            reasons = Reasons.over(search.question, search.memory)
            section = page_wanted(page, search.memory, reasons, reason)
            return Proposed((page,), step, last, section.reason, sections=(section,))
        search.unfit.add(page)


def _must_end(search: Search, offered: Sequence[int]) -> StopReason | None:
    steering = search.steering
    if steering.stop:
        return StopReason.PERSON
    if len(search.lookups) >= search.options.max_pages:
        return StopReason.LIMIT
    if not search.shown - search.opened - steering.refused:
        return StopReason.NOTHING_LEFT
    return None if offered else StopReason.WINDOW
