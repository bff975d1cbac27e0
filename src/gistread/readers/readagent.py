"""ReadAgent's readers over the gist memory (sections 3.2 and 4): sequential and parallel look-up.

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
    WantedSection,
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
from gistread.readers.steering import Steering


async def readagent_s(asking: Asking) -> ReaderEvents:
    """Open one page after another, then answer."""
    search = await start_search(asking, asking.options.max_pages)
    async for event in begin("readagent-s", search):
        yield event
    async for event in _look_up_pages(search):
        yield event
    async for opened in apply_steering(search):
        yield opened
    async for answered in answer(search):
        yield answered


async def _look_up_pages(search: Search) -> ReaderEvents:
    """Open one page after another, as the model proposes and the user agrees."""
    steering = search.steering
    may_stop = True
    while True:
        proposal = await _propose(search, may_stop=may_stop)
        if isinstance(proposal, StopReason):
            yield Stopped(proposal)
            return
        async for reviewed in steering.review(proposal):
            yield reviewed
        decision = steering.decision
        if steering.stop:
            yield Stopped(StopReason.PERSON)
            return
        proposes_answer = not proposal.pages
        is_accepted = not decision.refuses and not decision.pages
        if proposes_answer and is_accepted:
            yield Stopped(StopReason.ENOUGH)
            return
        # After a refused answer, the model must name a page, unless the user named some.
        may_stop = not proposes_answer or bool(decision.pages)
        for page in proposal.pages:
            async for event in _look_up(search, page, proposal.reason):
                yield event
        async for opened in apply_steering(search):
            yield opened


async def _look_up(search: Search, page: int, reason: str) -> ReaderEvents:
    """Open a page, unless the user refuses it before or while it is reported."""
    refused = search.steering.refused
    if page in refused:
        return
    search.lookups.append(page)
    yield LookedUp(page, len(search.lookups), reason)
    if page not in refused and page not in search.opened:
        search.opened.add(page)
        yield Expanded(page, OpenedBy.AGENT)


async def readagent_p(asking: Asking) -> ReaderEvents:
    """Name all pages in one step, the most important first, then answer."""
    search = await start_search(asking, asking.options.max_pages)
    async for event in begin("readagent-p", search):
        yield event
    async for event in _name_pages(search):
        yield event
    async for opened in apply_steering(search):
        yield opened
    async for answered in answer(search):
        yield answered


async def _name_pages(search: Search) -> ReaderEvents:
    """Open the pages that the model names; if the user refuses some, it is asked for others."""
    steering = search.steering
    last = len(search.memory.entries)
    while True:
        named, ended = await _choose_pages(search)
        reasons = Reasons.over(search.question, search.memory)
        sections = tuple(page_wanted(page, search.memory, reasons) for page in named)
        proposed = Proposed(tuple(named), 1, last, sections=sections)
        async for reviewed in steering.review(proposed):
            yield reviewed
        accepted = [
            section
            for section in sections
            if steering.refused.isdisjoint(section.pages)
        ]
        for section in accepted:
            (page,) = section.pages
            search.lookups.append(page)
            yield LookedUp(page, len(search.lookups), section.reason)
        if _is_settled(steering, named):
            break
        async for event in _open_pages(search, accepted):
            yield event
    yield Stopped(StopReason.PERSON if steering.stop else ended)
    async for event in _open_pages(search, accepted):
        yield event


def _is_settled(steering: Steering, named: Sequence[int]) -> bool:
    """Whether the model need not name other pages in place of refused ones."""
    decision = steering.decision
    if steering.stop or decision.pages:
        return True
    return not decision.refuses and not decision.refused_of(named)


async def _open_pages(
    search: Search, sections: Sequence[WantedSection]
) -> ReaderEvents:
    for section in sections:
        (page,) = section.pages
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
    prompt = search.prompt("lookup_parallel")
    for index in await search.choose_several(prompt, options, most):
        page = offered[index]
        # The user may open or refuse a page during the choice.
        if page in steering.refused or page in search.opened:
            continue
        if not await search.fits(*named, page):
            return named, StopReason.WINDOW
        named.append(page)
    if len(named) == most:
        return named, StopReason.LIMIT
    return named, StopReason.ENOUGH


async def _propose(search: Search, *, may_stop: bool) -> Proposed | StopReason:
    """The next page, or the answer if the model has enough; or the reason why the search ends."""
    steering = search.steering
    step = len(search.lookups) + 1
    last = len(search.memory.entries)
    while True:
        offered = await openable_pages(search)
        if ended := _must_end(search, offered):
            return ended
        options = [f"Page {page}" for page in offered]
        if may_stop:
            options.append(STOP)
        index, reason = await _choose_with_reason(search, options)
        if steering.stop:
            return StopReason.PERSON
        if index == len(offered):
            return Proposed((), step, last)
        page = offered[index]
        # The user may open or refuse a page during the choice.
        if page in steering.refused or page in search.opened:
            continue
        if await search.fits(page):
            reasons = Reasons.over(search.question, search.memory)
            section = page_wanted(page, search.memory, reasons, reason)
            return Proposed((page,), step, last, section.reason, sections=(section,))
        search.unfit.add(page)


async def _choose_with_reason(
    search: Search, options: Sequence[str]
) -> tuple[int, str]:
    """The index of the model's choice, and its reason if it can give one."""
    prompt = search.prompt("lookup")
    if search.options.model.chooses:
        with_reason = search.prompt("lookup_reason")
        return await search.choose_and_say(with_reason, options, prompt)
    return await search.choose(prompt, options, len(options) - 1), ""


def _must_end(search: Search, offered: Sequence[int]) -> StopReason | None:
    """Why no further page can be opened; None if one can. `offered`: those that may fit."""
    steering = search.steering
    if steering.stop:
        return StopReason.PERSON
    if len(search.lookups) >= search.options.max_pages:
        return StopReason.LIMIT
    if not search.shown - search.opened - steering.refused:
        return StopReason.NOTHING_LEFT
    if offered:
        return None
    return StopReason.WINDOW
