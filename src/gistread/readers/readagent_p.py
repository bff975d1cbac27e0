"""ReadAgent with parallel look-up (ReadAgent-P; section 3.2, Figure 4, Appendix I).

The model sees the gists and names the pages that it wants to read, all in one step, the most important first. Each
name is a choice among the pages not named yet and STOP (design D3), continuing one and the same answer: no page
opens in between, so the step costs one prompt and a few tokens a page. As many pages are taken as fit the window.
"""

from collections.abc import AsyncGenerator

from gistread.engine.protocol import Engine, Message
from gistread.memory.model import GistMemory
from gistread.readers.events import Expanded, LookedUp, OpenedBy, ReaderEvent, Steering, Stopped, StopReason
from gistread.readers.lookups import STOP, Search, answer, apply_steering, opening_events, pages_that_fit, start_search
from gistread.readers.options import ReaderOptions
from gistread.readers.over_memory import over_memory

NAME = "readagent-p"


@over_memory(NAME)
async def readagent_p(
    question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    """Answer `question` from what has been read so far. See `registry.Reader`."""
    search = await start_search(question, memory, engine, steering, options, options.max_pages)
    for said in opening_events(NAME, search):
        yield said
    async for opened in apply_steering(search, steering):
        yield opened

    named: list[int] = []
    while isinstance(step := await _next_name(search, steering, named), int):
        named.append(step)
        yield LookedUp(step, len(named), "")
    yield Stopped(step)

    search.lookups.extend(named)
    for page in named:
        if page not in steering.refused and page not in search.window.opened:
            search.window.opened.add(page)
            yield Expanded(page, OpenedBy.AGENT)
    async for opened in apply_steering(search, steering):
        yield opened
    async for event in answer(search):
        yield event


async def _next_name(search: Search, steering: Steering, named: list[int]) -> int | StopReason:
    """The next page that the model names, or why there is none."""
    window = search.window
    while True:
        if steering.stop:
            return StopReason.PERSON
        if len(named) >= search.options.max_pages:
            return StopReason.LIMIT
        if not window.shown - window.opened - steering.refused - set(named):
            return StopReason.NOTHING_LEFT
        offered = await pages_that_fit(search, steering, named)
        if not offered:
            return StopReason.WINDOW
        prompt = search.prompt("lookup_parallel")
        if named:
            prompt = (*prompt, Message("assistant", "".join(f"Page {page}, " for page in named)))
        choice = await search.engine.choose(prompt, [*(f"Page {page}" for page in offered), STOP])
        search.usage += choice.usage
        if steering.stop:
            return StopReason.PERSON
        if choice.index == len(offered):
            return StopReason.ENOUGH
        page = offered[choice.index]
        if page in steering.refused:
            continue  # The person was quicker.
        if await search.fits(*named, page):
            return page
        search.unfit.add(page)
