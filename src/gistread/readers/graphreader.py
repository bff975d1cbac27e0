"""GraphReader: a rational plan, five paths through the graph of key elements, and one answer (sections 3.3 and 3.4).

Missing facts are extracted first (`memory/facts.py`). The model plans and chooses the initial
elements; a path with its own notebook starts at each (`graph_path.py`), all concurrently. The answer is written from
all notebooks, each note once, or from the facts nearest to the question if no path noted anything.
"""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

from gistread.engine.concurrency import useful_requests
from gistread.engine.protocol import Priority, Prompt, Sampling
from gistread.errors import PromptTooLongError
from gistread.memory import facts
from gistread.memory.facts import Element, build_graph
from gistread.memory.passages import Span, join
from gistread.readers import events
from gistread.readers.answering import Asking, user_prompt, words_of
from gistread.readers.graph_path import CHOICE_TOKENS, NOTES_KEPT, GraphSearch, Note, Path, nearest, rank_elements, walk
from gistread.words import count_words

NAME = "graphreader"

PATHS = 5  # Number of initial nodes (section 4.1)
SHORTLIST = 40  # Elements offered as initial nodes; a book of 256k tokens has some 15,000
_PLAN_TOKENS = 96
_EMPTY = "(They found nothing.)"


async def graphreader(asking: Asking) -> events.ReaderEvents:
    """Answer from the graph of key elements."""
    search, memory, engine, steering = GraphSearch.of(asking), asking.memory, asking.engine, asking.steering
    answer_tokens, window = asking.options.answer_tokens, engine.info.context_tokens
    needed = await engine.measure(user_prompt("plan", question=search.question)) + _PLAN_TOKENS + answer_tokens
    # Facts, pages and the notebook need as much room as question and plan.
    if 2 * needed > window:
        raise PromptTooLongError(2 * needed - answer_tokens, answer_tokens, window)
    yield events.Started(NAME, len(memory.entries), memory.estimated_pages, memory.complete)
    # The first page may take a minute, so progress is reported before it.
    if not (left := await asyncio.to_thread(facts.remaining, memory)).complete:
        yield events.Prepared("facts", left.done, left.total)
    async with aclosing(facts.build(memory, engine, Priority.INTERACTIVE)) as building:
        async for progress in building:
            search.usage = progress.usage
            yield events.Prepared("facts", progress.done, progress.total)
            if steering.stop:
                break  # answers from the facts so far
    known = await asyncio.to_thread(facts.known_facts, memory)
    search.graph = await asyncio.to_thread(build_graph, known, memory.book.language)
    paths: list[Path] = []
    if not steering.stop:
        starts = await _plan(search)
        yield events.Planned(search.plan, tuple(element.name for element in starts))
        paths += [Path(number, element) for number, element in enumerate(starts, start=1)]
        async with aclosing(_follow(search, paths)) as following:
            async for event in following:
                yield event
    if not any(path.notes for path in paths):
        paths.append(await asyncio.to_thread(_path_of_facts, search))
    yield events.Stopped(events.StopReason.PERSON if steering.stop else events.StopReason.ENOUGH)
    async for event in _answer(search, paths):
        yield event


def _path_of_facts(search: GraphSearch) -> Path:
    """A notebook of the known facts nearest to the question, for a search that noted nothing."""
    made = facts.known_facts(search.memory)
    shown = nearest(search, [fact for fact in made if fact.page not in search.steering.refused], NOTES_KEPT)
    notes = [Note(fact.text, search.place(fact.page), from_text=False) for fact in shown]
    return Path(1, Element("", "", tuple(shown), ()), notes)


async def _plan(search: GraphSearch) -> list[Element]:
    """Make the plan; returns the initial nodes."""
    prompt = user_prompt("plan", question=search.question)
    planned = await search.complete(prompt, Sampling(_PLAN_TOKENS, repeat_penalty=1.1))
    search.plan = "\n".join(line.strip() for line in planned.splitlines() if line.strip())[:600]
    search.plan = search.plan or search.question
    elements = list(search.graph.values())
    query = f"{search.question} {search.question} {search.plan}"
    order = await asyncio.to_thread(rank_elements, elements, query, SHORTLIST, search.memory.book.language)
    shown = [elements[index] for index in order] or elements[:SHORTLIST]
    while len(shown) > 1 and not await search.fits(_choice_of(search, shown), CHOICE_TOKENS):
        shown = shown[: len(shown) // 2]
    if not shown:
        return []
    numbers = [str(number) for number in range(1, len(shown) + 1)]
    return [shown[index] for index in await search.choose_several(_choice_of(search, shown), numbers, PATHS)]


def _choice_of(search: GraphSearch, shown: Sequence[Element]) -> Prompt:
    listed = "\n".join(f"{number}. {element.name}" for number, element in enumerate(shown, start=1))
    return user_prompt("start_nodes", elements=listed, question=search.question, plan=search.plan)


async def _follow(search: GraphSearch, paths: Sequence[Path]) -> events.ReaderEvents:
    queue: asyncio.Queue[events.ReaderEvent | None] = asyncio.Queue()
    limit = asyncio.Semaphore(useful_requests(search.engine))

    async def follow(path: Path) -> None:
        async with limit:
            async for event in walk(search, path):
                queue.put_nowait(event)
            queue.put_nowait(events.PathEnded(path.number))

    tasks = [asyncio.create_task(follow(path)) for path in paths]
    ended = asyncio.gather(*tasks, return_exceptions=True)
    ended.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (event := await queue.get()) is not None:
            yield event
        for done in tasks:
            done.result()  # raises the error of a failed engine
    finally:
        for running in tasks:
            running.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _answer(search: GraphSearch, paths: Sequence[Path]) -> events.ReaderEvents:
    filled = [path for path in paths if path.notes]
    while filled and not await search.fits(
        _answer_prompt(search, _notebooks(search, filled)[0]), search.options.answer_tokens
    ):
        fullest = max(filled, key=lambda path: len(path.notes))
        del fullest.notes[0]
        filled = [path for path in filled if path.notes]
    text, numbered = _notebooks(search, filled)
    notes = [note for path in filled for note in path.shown()]
    places = sorted({note.place for note in notes})
    draft = events.Answered(
        found=bool(filled),
        compression_rate=search.compression_rate(count_words(text)),
        seen=tuple(join({note.place for note in notes if note.from_text}, search.memory.book)),
        noted=tuple(places),
        lookups=tuple(dict.fromkeys(page for path in paths for page in path.pages_read)),
        expanded=tuple(sorted({page for path in paths for page in path.pages_read})),
    )
    prompt = _answer_prompt(search, text)
    async for event in search.answer_from(draft, text, prompt, numbered):
        yield event


def _notebooks(search: GraphSearch, paths: Sequence[Path]) -> tuple[str, tuple[tuple[int, Span], ...]]:
    """The notes by path, and the place of each number if the model is asked to cite them.

    A note whose words are all in an earlier one is left out.
    """
    told: list[frozenset[str]] = []
    notebooks: list[str] = []
    places: list[Span] = []
    for path in paths:
        lines = [f"Searcher {path.number}:"]
        for note in path.shown():
            words = words_of(note.text)
            if not any(words <= other for other in told):
                told.append(words)
                places.append(note.place)
                lines.append(f"[{len(places)}] {note.text}" if search.is_asked_to_cite else f"- {note.text}")
        if lines[1:]:
            notebooks.append("\n".join(lines))
    return "\n\n".join(notebooks), tuple(enumerate(places, start=1)) if search.is_asked_to_cite else ()


def _answer_prompt(search: GraphSearch, text: str) -> Prompt:
    return search.answer_prompt("notebooks_answer", notes=text or _EMPTY)
