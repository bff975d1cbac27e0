"""ReadAgent with sequential look-up (ReadAgent-S; section 3.2, Figure 5).

The model sees the gists, with the pages expanded so far in place, and chooses one more page or to stop, until
it stops, has had its number of pages, or no further page fits its window. Then it answers. It can choose
nothing but a page that it was shown and has not opened (design D3). The person beside it may pin pages, refuse
pages and end the search between any two events.

Every prompt begins with the memory and ends with the task, so what follows on the same memory (the reason, the
answer) costs little more than its own words.
"""

from collections.abc import AsyncGenerator

from gistread import prompts
from gistread.engine.protocol import Engine, Message, Sampling
from gistread.memory.model import GistMemory
from gistread.readers.events import Expanded, LookedUp, OpenedBy, ReaderEvent, Steering, Stopped, StopReason
from gistread.readers.lookups import (
    REASON_TOKENS,
    STOP,
    Search,
    answer,
    apply_steering,
    opening_events,
    pages_that_fit,
    start_search,
)
from gistread.readers.options import ReaderOptions
from gistread.readers.over_memory import over_memory

NAME = "readagent-s"


@over_memory(NAME)
async def readagent_s(
    question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    """Answer `question` from what has been read so far. See `registry.Reader`."""
    search = await start_search(question, memory, engine, steering, options, options.max_pages)
    for said in opening_events(NAME, search):
        yield said

    while True:
        async for opened in apply_steering(search, steering):
            yield opened
        step = await _next_step(search, steering)
        if isinstance(step, StopReason):
            yield Stopped(step)
            break
        reason = await _reason(search, step)
        search.lookups.append(step)
        yield LookedUp(step, len(search.lookups), reason)
        if step not in steering.refused and step not in search.window.opened:
            search.window.opened.add(step)
            yield Expanded(step, OpenedBy.AGENT)

    async for opened in apply_steering(search, steering):
        yield opened
    async for event in answer(search):
        yield event


async def _next_step(search: Search, steering: Steering) -> int | StopReason:
    """The page that the model asks for, or why there is none."""
    window, engine = search.window, search.engine
    while True:
        if steering.stop:
            return StopReason.PERSON
        if len(search.lookups) >= search.options.max_pages:
            return StopReason.LIMIT
        if not window.shown - window.opened - steering.refused:
            return StopReason.NOTHING_LEFT
        offered = await pages_that_fit(search, steering)
        if not offered:
            return StopReason.WINDOW
        labels = [*(f"Page {page}" for page in offered), STOP]
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


async def _reason(search: Search, page: int) -> str:
    """Why this page, in one line: the model goes on with its own choice."""
    begun = prompts.load("lookup_reason").fill(page=page)
    prompt = (*search.prompt("lookup"), Message("assistant", begun))
    room = min(REASON_TOKENS, search.options.answer_tokens)
    said = await search.engine.complete(prompt, Sampling(room, repeat_penalty=1.1, stop=("\n",)))
    search.usage += said.usage
    words = " ".join(said.text.split())
    sentence, stop, _ = words.partition(". ")
    if stop or said.finish == "end":
        return sentence.strip(" .")
    return f"{sentence.strip(' .,;')}…" if sentence else ""
