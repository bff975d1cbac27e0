"""GraphReader: a rational plan, five paths through the graph of key elements, and a vote (sections 3.3 and 3.4).

Missing facts are extracted first (`memory/facts.py`, `memory/graph.py`). The model plans and chooses the initial
elements; a path with its own notebook starts at each (`graph_path.py`), all concurrently. Finally every notebook gives
a short answer, answers that agree are counted, and the answer is written from notebooks and votes.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing

from gistread.book.normalise import count_words
from gistread.engine.concurrency_limit import ConcurrencyLimit
from gistread.engine.protocol import Engine, Message, Priority, Prompt, Sampling
from gistread.errors import PromptTooLongError
from gistread.memory import facts
from gistread.memory.graph import Element, build_graph
from gistread.memory.model import GistMemory
from gistread.memory.passages import join
from gistread.readers.agreement import group_answers
from gistread.readers.answering import (
    AnswerContext,
    answer_from,
    answer_prompt,
    compression_rate,
    short_answer,
    user_prompt,
)
from gistread.readers.citations import cite_passages
from gistread.readers.events import Agreed, Planned, Prepared, ReaderEvent, Started, Stopped, StopReason
from gistread.readers.graph_path import NOTES_KEPT, Note, Path, Search, nearest, rank_elements, walk
from gistread.readers.lookups import STOP
from gistread.readers.protocol import ReaderOptions
from gistread.readers.steering import Steering

NAME = "graphreader"

PATHS = 5  # Number of initial nodes (section 4.1)
SHORTLIST = 40  # Elements offered as initial nodes; a book of 256k tokens has some 15,000
_PLAN_TOKENS = 96
_EMPTY = "The notebooks are empty."


async def graphreader(
    question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    """Answer from the graph of key elements. See `registry.Reader`."""
    needed = await engine.measure(user_prompt("plan", question=question)) + _PLAN_TOKENS + options.answer_tokens
    # Facts, pages and the notebook need as much room as question and plan.
    if 2 * needed > engine.info.context_tokens:
        raise PromptTooLongError(2 * needed - options.answer_tokens, options.answer_tokens, engine.info.context_tokens)
    yield Started(NAME, len(memory.entries), memory.estimated_pages, memory.complete)
    graph: Mapping[str, Element] = {}
    search = Search(question, memory, engine, graph)
    # The first page may take a minute, so progress is reported before it.
    if not (left := await asyncio.to_thread(facts.remaining, memory)).complete:
        yield Prepared("facts", left.done, left.total)
    async with aclosing(facts.build(memory, engine, Priority.INTERACTIVE)) as building:
        async for progress in building:
            search.usage = progress.usage
            yield Prepared("facts", progress.done, progress.total)
            if steering.stop:
                break  # answers from the facts so far
    known = await asyncio.to_thread(facts.known_facts, memory)
    search.graph = await asyncio.to_thread(build_graph, known, memory.book.language)
    paths: list[Path] = []
    if not steering.stop:
        async with aclosing(_follow(search, paths, steering)) as following:
            async for event in following:
                yield event
    if steering.stop and not any(path.notes for path in paths):
        paths = [await asyncio.to_thread(_path_of_facts, search, steering)]
    yield Stopped(StopReason.PERSON if steering.stop else StopReason.ENOUGH)
    async for event in _answer(search, paths, options):
        yield event


def _path_of_facts(search: Search, steering: Steering) -> Path:
    """A notebook of the known facts nearest to the question, for a search stopped before its first note."""
    memory = search.memory
    made = facts.known_facts(memory)
    shown = nearest(search, [fact for fact in made if fact.page not in steering.refused], NOTES_KEPT)
    notes = [Note(fact.text, search.place(fact.page), from_text=False) for fact in shown]
    return Path(1, Element("", "", tuple(shown), ()), notes)


async def _follow(search: Search, paths: list[Path], steering: Steering) -> AsyncGenerator[ReaderEvent, None]:
    engine = search.engine
    prompt = user_prompt("plan", question=search.question)
    planned = await engine.complete(prompt, Sampling(_PLAN_TOKENS, repeat_penalty=1.1))
    search.usage += planned.usage
    search.plan = "\n".join(line.strip() for line in planned.text.splitlines() if line.strip())[:600]
    search.plan = search.plan or search.question
    starts = await _initial_nodes(search)
    yield Planned(search.plan, tuple(element.name for element in starts))
    paths += [Path(number, element) for number, element in enumerate(starts, start=1)]
    async with aclosing(_follow_all(search, paths, steering)) as walks:
        async for event in walks:
            yield event


async def _initial_nodes(search: Search) -> list[Element]:
    elements = list(search.graph.values())
    query = f"{search.question} {search.question} {search.plan}"
    order = await asyncio.to_thread(rank_elements, elements, query, SHORTLIST, search.memory.book.language)
    shown = [elements[index] for index in order] or elements[:SHORTLIST]
    while len(shown) > 1 and not await search.fits(_choice_of(search, shown, []), 16):
        shown = shown[: len(shown) // 2]
    chosen: list[int] = []
    while len(chosen) < min(PATHS, len(shown)):
        left = [number for number in range(1, len(shown) + 1) if number not in chosen]
        labels = [str(number) for number in left] + ([STOP] if chosen else [])
        choice = await search.engine.choose(_choice_of(search, shown, chosen), labels)
        search.usage += choice.usage
        if choice.index == len(left):
            break
        chosen.append(left[choice.index])
    return [shown[number - 1] for number in chosen]


def _choice_of(search: Search, shown: Sequence[Element], chosen: Sequence[int]) -> tuple[Message, ...]:
    listed = "\n".join(f"{number}. {element.name}" for number, element in enumerate(shown, start=1))
    prompt = user_prompt("start_nodes", elements=listed, question=search.question, plan=search.plan)
    return (*prompt, Message("assistant", "".join(f"{number}, " for number in chosen))) if chosen else prompt


async def _follow_all(search: Search, paths: Sequence[Path], steering: Steering) -> AsyncGenerator[ReaderEvent, None]:
    events: asyncio.Queue[ReaderEvent | None] = asyncio.Queue()
    limit = ConcurrencyLimit(search.engine)

    async def follow(path: Path) -> None:
        async with limit:
            async for event in walk(search, path, steering):
                events.put_nowait(event)

    tasks = [asyncio.create_task(follow(path)) for path in paths]
    ended = asyncio.gather(*tasks, return_exceptions=True)
    ended.add_done_callback(lambda _: events.put_nowait(None))
    try:
        while (event := await events.get()) is not None:
            yield event
        for done in tasks:
            done.result()  # raises the error of a failed engine
    finally:
        for running in tasks:
            running.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _answer(search: Search, paths: Sequence[Path], options: ReaderOptions) -> AsyncGenerator[ReaderEvent, None]:
    memory = search.memory
    filled = [path for path in paths if path.notes]
    answers = await asyncio.gather(*(_short_answer(search, path) for path in filled))
    given = {path.number: answer for path, answer in zip(filled, answers, strict=True) if answer}
    for vote in _votes(given):
        yield vote
    text = _notebooks(filled, given)
    while filled and not await _fits(search, text, options):
        fullest = max(filled, key=lambda path: len(path.notes))
        del fullest.notes[0]
        filled = [path for path in filled if path.notes]
        text = _notebooks(filled, given)
    notes = [note for path in filled for note in path.shown()]
    places = sorted({note.place for note in notes})
    context = AnswerContext(
        text,
        compression_rate(count_words(text), memory.book),
        cite=lambda said, question: cite_passages(said, question, memory, places),
        seen=tuple(join({note.place for note in notes if note.from_text}, memory.book)),
        noted=tuple(places),
        lookups=tuple(dict.fromkeys(page for path in paths for page in path.pages_read)),
        expanded=tuple(sorted({page for path in paths for page in path.pages_read})),
        usage=search.usage,
        has_evidence=bool(filled),
    )
    prompt = _answer_prompt(search, text, options)
    async for event in answer_from(context, prompt, search.question, search.engine, options):
        yield event


def _notebooks(paths: Sequence[Path], given: Mapping[int, str]) -> str:
    notebooks = [f"Notebook {path.number}:\n{path.notebook()}" for path in paths]
    votes = _votes({path.number: given[path.number] for path in paths if path.number in given})
    counted = "\n".join(f"{len(vote.by)} would answer: {vote.answer}" for vote in votes)
    return "\n\n".join(part for part in (*notebooks, counted) if part)


def _answer_prompt(search: Search, text: str, options: ReaderOptions) -> Prompt:
    return answer_prompt("notebooks_answer", options, notes=text or _EMPTY, question=search.question)


async def _fits(search: Search, text: str, options: ReaderOptions) -> bool:
    if 0 < options.budget_tokens < await search.engine.count(text):
        return False
    return await search.fits(_answer_prompt(search, text, options), options.answer_tokens)


async def _short_answer(search: Search, path: Path) -> str:
    prompt = user_prompt("notebooks_short", notes=path.notebook(), question=search.question)
    answer, usage = await short_answer(prompt, search.engine)
    search.usage += usage
    return answer


def _votes(answers: Mapping[int, str]) -> list[Agreed]:
    numbers, said = list(answers), list(answers.values())
    return [Agreed(said[group[0]], tuple(numbers[index] for index in group)) for group in group_answers(said)]
