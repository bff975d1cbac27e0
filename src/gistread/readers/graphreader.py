"""GraphReader: a rational plan, five paths through the graph of key elements, and a vote (sections 3.3 and 3.4).

Facts and elements of all pages are made first, where they are not kept already (`memory/facts.py`, `memory/graph.py`).
The model plans, and chooses the elements at which to begin. From each starts a path with a notebook of its own
(`graph_path.py`), side by side with the others. In the end every notebook gives its short answer, those that agree
are counted, and the answer is written with notebooks and votes in view.
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
from gistread.readers.agreement import clusters
from gistread.readers.answering import AnswerContext, answer_from, answer_prompt, short_answer
from gistread.readers.citations import cite_passages
from gistread.readers.events import (
    Agreed,
    Planned,
    Prepared,
    ReaderEvent,
    Started,
    Steering,
    Stopped,
    StopReason,
)
from gistread.readers.graph_path import NOTES_KEPT, Note, Path, Search, nearest, task, walk
from gistread.readers.lookups import STOP
from gistread.readers.options import ReaderOptions
from gistread.readers.over_memory import over_memory
from gistread.search.ranked import Ranker

NAME = "graphreader"

PATHS = 5
"""Initial nodes, each with a path and a notebook of its own (section 4.1)."""
SHORTLIST = 40
"""Elements shown to choose the initial nodes from; a book of 256k tokens has some 15,000."""
_PLAN_TOKENS = 96
_EMPTY = "The notebooks are empty."


@over_memory(NAME)
async def graphreader(
    question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    """Answer `question` from what has been read so far. See `registry.Reader`."""
    needed = await engine.measure(task("plan", question=question)) + _PLAN_TOKENS + options.answer_tokens
    # Beside question and plan there must be as much room again, for facts, pages and the notebook.
    if 2 * needed > engine.info.context_tokens:
        raise PromptTooLongError(2 * needed - options.answer_tokens, options.answer_tokens, engine.info.context_tokens)
    yield Started(NAME, len(memory.entries), memory.estimated_pages, memory.complete)
    graph: Mapping[str, Element] = {}
    search = Search(question, memory, engine, graph)
    # The first page may take a minute: what is being waited for is said before.
    if not (left := await asyncio.to_thread(facts.remaining, memory)).complete:
        yield Prepared("facts", left.done, left.total)
    async with aclosing(facts.build(memory, engine, Priority.INTERACTIVE)) as building:
        async for progress in building:
            search.usage = progress.usage
            yield Prepared("facts", progress.done, progress.total)
            if steering.stop:
                break  # What was made is kept, and answered from.
    known = await asyncio.to_thread(facts.known_facts, memory)
    search.graph = await asyncio.to_thread(build_graph, known, memory.book.language)
    paths: list[Path] = []
    if not steering.stop:
        async with aclosing(_follow(search, paths, steering)) as following:
            async for event in following:
                yield event
    if steering.stop and not any(path.notes for path in paths):
        paths = [await asyncio.to_thread(_of_facts, search, steering)]
    yield Stopped(StopReason.PERSON if steering.stop else StopReason.ENOUGH)
    async for event in _answer(search, paths, options):
        yield event


def _of_facts(search: Search, steering: Steering) -> Path:
    """A notebook for who will not wait for one: the facts that have been made, the nearest to the question."""
    memory = search.memory
    made = facts.known_facts(memory)
    shown = nearest(search, [fact for fact in made if fact.page not in steering.refused], NOTES_KEPT)
    notes = [Note(fact.text, search.place(fact.page), from_text=False) for fact in shown]
    return Path(1, Element("", "", tuple(shown), ()), notes)


async def _follow(search: Search, paths: list[Path], steering: Steering) -> AsyncGenerator[ReaderEvent, None]:
    """Plan, choose where to begin, and follow a path from each of these; they are put into `paths`."""
    engine = search.engine
    planned = await engine.complete(task("plan", question=search.question), Sampling(_PLAN_TOKENS, repeat_penalty=1.1))
    search.usage += planned.usage
    search.plan = "\n".join(line.strip() for line in planned.text.splitlines() if line.strip())[:600]
    search.plan = search.plan or search.question
    starts = await _initial_nodes(search)
    yield Planned(search.plan, tuple(element.name for element in starts))
    paths += [Path(number, element) for number, element in enumerate(starts, start=1)]
    async with aclosing(_side_by_side(search, paths, steering)) as walks:
        async for event in walks:
            yield event


async def _initial_nodes(search: Search) -> list[Element]:
    """Where the paths begin: chosen by the model among the elements whose facts are nearest to question and plan."""
    elements = list(search.graph.values())
    texts = [f"{element.name} {' '.join(fact.text for fact in element.facts[:12])}" for element in elements]

    def in_order() -> list[int]:
        ranker = Ranker(texts, search.memory.book.language)
        return ranker.top(f"{search.question} {search.question} {search.plan}", SHORTLIST)

    order = await asyncio.to_thread(in_order)
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
    prompt = task("start_nodes", elements=listed, question=search.question, plan=search.plan)
    return (*prompt, Message("assistant", "".join(f"{number}, " for number in chosen))) if chosen else prompt


async def _side_by_side(search: Search, paths: Sequence[Path], steering: Steering) -> AsyncGenerator[ReaderEvent, None]:
    """All paths at once, what they say as it comes."""
    said: asyncio.Queue[ReaderEvent | None] = asyncio.Queue()
    places = ConcurrencyLimit(search.engine)

    async def follow(path: Path) -> None:
        async with places:
            async for event in walk(search, path, steering):
                said.put_nowait(event)

    tasks = [asyncio.create_task(follow(path)) for path in paths]
    ended = asyncio.gather(*tasks, return_exceptions=True)
    ended.add_done_callback(lambda _: said.put_nowait(None))
    try:
        while (event := await said.get()) is not None:
            yield event
        for done in tasks:
            done.result()  # An engine that failed is the error of the question.
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
    basis = AnswerContext(
        text,
        100.0 * (1.0 - count_words(text) / max(1, memory.book.words)),
        cite=lambda said, question: cite_passages(said, question, memory, places),
        seen=tuple(join({note.place for note in notes if note.from_text}, memory.book)),
        lookups=tuple(dict.fromkeys(page for path in paths for page in path.pages_read)),
        expanded=tuple(sorted({page for path in paths for page in path.pages_read})),
        usage=search.usage,
        tells=bool(filled),
    )
    async for event in answer_from(basis, _answer_task(search, text, options), search.question, search.engine, options):
        yield event


def _notebooks(paths: Sequence[Path], given: Mapping[int, str]) -> str:
    """The notebooks of these paths, and the votes for the answers that they gave; empty for no path."""
    notebooks = [f"Notebook {path.number}:\n{path.notebook()}" for path in paths]
    votes = _votes({path.number: given[path.number] for path in paths if path.number in given})
    counted = "\n".join(f"{len(vote.by)} would answer: {vote.answer}" for vote in votes)
    return "\n\n".join(part for part in (*notebooks, counted) if part)


def _answer_task(search: Search, text: str, options: ReaderOptions) -> Prompt:
    return answer_prompt("notebooks_answer", options, notes=text or _EMPTY, question=search.question)


async def _fits(search: Search, text: str, options: ReaderOptions) -> bool:
    """Whether the answer can be given from these notebooks: window and budget take them."""
    if 0 < options.budget_tokens < await search.engine.count(text):
        return False
    return await search.fits(_answer_task(search, text, options), options.answer_tokens)


async def _short_answer(search: Search, path: Path) -> str:
    """What this path would answer; empty when its notebook does not tell."""
    prompt = task("notebooks_short", notes=path.notebook(), question=search.question)
    answer, usage = await short_answer(prompt, search.engine)
    search.usage += usage
    return answer


def _votes(answers: Mapping[int, str]) -> list[Agreed]:
    """Which answers were given, by the numbers of the paths that gave them; those of most paths first."""
    numbers, said = list(answers), list(answers.values())
    return [Agreed(said[group[0]], tuple(numbers[index] for index in group)) for group in clusters(said)]
