"""GraphReader: a plan, five paths through the graph of key elements, and one answer (section 3).

Missing facts are extracted first (`memory/facts.py`). The model plans and chooses the initial
elements; a path with its own notebook starts at each, all concurrently. The answer is written from
all notebooks, each note once, or from the facts nearest to the question if no path noted anything.

At an element the path reads facts and queues pages. At a page it reads the text, then continues
with the queue or an adjacent page. With an empty queue it moves to a neighbour or ends. Only valid
actions are offered: no page and no element twice. To fit the window, only the facts
nearest to the question and the latest notes are shown.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby

from gistread import prompts
from gistread.engine.protocol import Priority, Prompt, Sampling
from gistread.errors import PromptTooLongError
from gistread.memory import facts
from gistread.memory.facts import Element, Fact, build_graph
from gistread.memory.passages import Span, join
from gistread.readers import events
from gistread.readers.answering import (
    NOTE_TOKENS,
    REPEAT_PENALTY,
    STOP,
    Asking,
    user_prompt,
    words_of,
)
from gistread.readers.book_text import setting_of
from gistread.readers.reasons import Reasons, page_wanted
from gistread.readers.thread import without_options
from gistread.search.ranked import Ranker
from gistread.words import count_words

NAME = "graphreader"

PATHS = 5  # Number of initial nodes (section 4.1)
# Elements offered as initial nodes; a book of 256k tokens has some 15,000
SHORTLIST = 40
STEPS = 10  # Most function calls of one path; three or four are usual (section 5.3)
_PLAN_TOKENS = 96
_PLAN_CHARACTERS = 600
_CHOICE_TOKENS = 48  # Longest reply with one or several choices
_FACTS_SHOWN = 40
_FACTS_RANKED = 12  # Of an element, by which it is compared with the question
_SHARE_TO_FIT = 0.75  # If facts do not fit, this share of them is tried next
# A node may have a hundred; the list must fit a window of 4,000 tokens
_NEIGHBOURS_SHOWN = 30
_PAGES_QUEUED = 3
_NOTES_KEPT = 8
_NOTHING = "(empty)"
_FOUND_NOTHING = "(They found nothing.)"

_MORE = "search more"
_PREVIOUS = "previous page"
_NEXT = "next page"
_END = "enough"
# The prompts that describe the actions
_ACTIONS = {
    _MORE: "action_more",
    _PREVIOUS: "action_previous",
    _NEXT: "action_next",
    _END: "action_enough",
}


@dataclass(frozen=True, slots=True)
class _Note:
    text: str
    place: Span  # The page it was made from, or the first page of its facts
    from_text: bool  # Made from the page's text; False: from facts


@dataclass(slots=True)
class _Search(Asking):
    """A question with the graph of key elements and the plan."""

    graph: Mapping[str, Element] = field(default_factory=dict)
    plan: str = ""

    async def fits(self, prompt: Prompt, answer_tokens: int) -> bool:
        tokens = await self.engine.measure(prompt) + answer_tokens
        return tokens <= self.engine.info.context_tokens

    def prompt(self, name: str, **values: object) -> Prompt:
        """The prompt `name` with question and plan."""
        return user_prompt(
            name,
            self.engine.info.wording,
            question=self.question,
            plan=self.plan,
            **values,
        )

    @property
    def reasons(self) -> Reasons:
        return Reasons.over(self.question, self.memory)

    def place(self, page: int) -> Span:
        """The text of the page with this number."""
        text = self.memory.entry(page).page
        return text.start, text.end


@dataclass(slots=True)
class _Path:
    """A way through the graph, with its own notebook."""

    number: int  # From 1
    element: Element
    notes: list[_Note] = field(default_factory=list)
    queue: deque[int] = field(default_factory=deque)  # Pages to read
    pages_read: list[int] = field(default_factory=list)
    # Those of `pages_read` that did not fit the window
    unfit: set[int] = field(default_factory=set)
    visited: set[str] = field(default_factory=set)  # Keys of elements
    known: set[Fact] = field(default_factory=set)  # Facts that it has been shown
    steps: int = 0
    has_enough: bool = False  # The model ended the path at a page

    def latest_notes(self) -> list[_Note]:
        """The notes that are shown to the model."""
        return self.notes[-_NOTES_KEPT:]

    def notebook(self, leave_out: int = 0) -> str:
        """The latest notes as text; the first of them may be left out to fit a prompt."""
        lines = [f"- {note.text}" for note in self.latest_notes()[leave_out:]]
        return "\n".join(lines) or _NOTHING


async def graphreader(asking: Asking) -> events.ReaderEvents:
    """Answer from the graph of key elements."""
    search = _Search.of(asking)
    memory = asking.memory
    steering = asking.steering
    await _check_window(search)
    yield events.Started(
        NAME, len(memory.read_entries), memory.estimated_pages, memory.complete
    )
    async with aclosing(_prepare_facts(search)) as preparing:
        async for prepared in preparing:
            yield prepared
    paths: list[_Path] = []
    if not steering.stop:
        starts = await _plan(search)
        yield events.Planned(search.plan, tuple(element.name for element in starts))
        for number, element in enumerate(starts, start=1):
            paths.append(_Path(number, element))
        async with aclosing(_follow_all(search, paths)) as following:
            async for event in following:
                yield event
    if not any(path.notes for path in paths):
        paths.append(await asyncio.to_thread(_path_of_facts, search))
    reason = events.StopReason.ENOUGH
    if steering.stop:
        reason = events.StopReason.PERSON
    yield events.Stopped(reason)
    async for event in _answer(search, paths):
        yield event


async def _check_window(search: _Search) -> None:
    """Raise PromptTooLongError if the window has no room for more than the question.

    Facts, pages and the notebook need as much room as question and plan.
    """
    window = search.engine.info.context_tokens
    answer_tokens = search.answer_tokens
    plan = await search.engine.measure(user_prompt("plan", question=search.question))
    needed = 2 * (plan + _PLAN_TOKENS + answer_tokens)
    if needed > window:
        raise PromptTooLongError(needed - answer_tokens, answer_tokens, window)


async def _prepare_facts(search: _Search) -> events.ReaderEvents:
    """Extract missing facts, and build the graph; if stopped, of the facts so far."""
    memory = search.memory
    # The first page may take a minute, so progress is reported before it.
    remaining = await asyncio.to_thread(facts.remaining, memory)
    if not remaining.complete:
        yield events.Prepared("facts", remaining.done, remaining.total)
    building = facts.build(memory, search.engine, Priority.INTERACTIVE)
    async with aclosing(building) as builder:
        async for progress in builder:
            search.usage = progress.usage
            yield events.Prepared("facts", progress.done, progress.total)
            if search.steering.stop:
                break
    known = await asyncio.to_thread(facts.known_facts, memory)
    search.graph = await asyncio.to_thread(build_graph, known, memory.book.language)


def _path_of_facts(search: _Search) -> _Path:
    """A notebook of the known facts nearest to the question, for a search that noted nothing."""
    known = facts.known_facts(search.memory)
    allowed = [fact for fact in known if fact.page not in search.steering.refused]
    nearest = _nearest(search, allowed, _NOTES_KEPT)
    notes = [
        _Note(fact.text, search.place(fact.page), from_text=False) for fact in nearest
    ]
    return _Path(1, Element("", "", tuple(nearest), ()), notes)


async def _plan(search: _Search) -> list[Element]:
    """Make the plan; returns the initial nodes."""
    prompt = user_prompt("plan", question=search.question)
    sampling = Sampling(_PLAN_TOKENS, repeat_penalty=REPEAT_PENALTY)
    reply = await search.complete(prompt, sampling)
    lines = [line.strip() for line in reply.splitlines() if line.strip()]
    # A model that writes nothing has the question for a plan.
    search.plan = "\n".join(lines)[:_PLAN_CHARACTERS] or search.question
    elements = list(search.graph.values())
    # The words of the question count twice.
    query = f"{search.question} {search.question} {search.plan}"
    order = await asyncio.to_thread(
        _rank_elements, elements, query, SHORTLIST, search.memory.book.language
    )
    shortlist = [elements[index] for index in order] or elements[:SHORTLIST]
    offer = await _offer(search, shortlist, partial(search.prompt, "start_nodes"))
    if not offer.elements:
        return []
    chosen = await search.choose_several(offer.prompt, offer.labels, PATHS)
    return [offer.elements[index] for index in chosen]


@dataclass(frozen=True, slots=True)
class _Offer:
    """Elements to choose from, listed by number in a prompt."""

    elements: list[Element]
    prompt: Prompt

    @property
    def labels(self) -> list[str]:
        return [str(number) for number in range(1, len(self.elements) + 1)]


async def _offer(
    search: _Search, elements: list[Element], prompt: Callable[..., Prompt]
) -> _Offer:
    """As many of the elements as fit the prompt, which takes `elements`."""
    while True:
        lines = [
            f"{number}. {element.name}"
            for number, element in enumerate(elements, start=1)
        ]
        offer = _Offer(elements, prompt(elements="\n".join(lines)))
        if not elements or await search.fits(offer.prompt, _CHOICE_TOKENS):
            return offer
        elements = elements[: len(elements) // 2]


async def _follow_all(search: _Search, paths: Sequence[_Path]) -> events.ReaderEvents:
    """Follow all paths concurrently. Raises the error of an engine that failed."""
    # The events of all paths, and None when all have ended
    queue: asyncio.Queue[events.ReaderEvent | None] = asyncio.Queue()
    limit = asyncio.Semaphore(search.engine.info.parallel)

    async def walk_in_turn(path: _Path) -> None:
        async with limit:
            async for event in _walk(search, path):
                queue.put_nowait(event)
            queue.put_nowait(events.PathEnded(path.number))

    tasks = [asyncio.create_task(walk_in_turn(path)) for path in paths]
    all_ended = asyncio.gather(*tasks, return_exceptions=True)
    all_ended.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (event := await queue.get()) is not None:
            yield event
        for task in tasks:
            task.result()  # Raises the error of a path that failed.
    finally:
        # Some still run if the caller wants no more events.
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _walk(search: _Search, path: _Path) -> events.ReaderEvents:
    """Read facts and pages from element to element, until the path ends."""
    while not _is_over(search, path):
        path.visited.add(path.element.key)
        async for event in _read_facts(search, path):
            yield event
        async for event in _read_queue(search, path):
            yield event
        if _is_over(search, path):
            return
        neighbour = await _neighbour(search, path)
        if neighbour is None:
            return
        path.element = neighbour


def _is_over(search: _Search, path: _Path) -> bool:
    return path.has_enough or path.steps >= STEPS or search.steering.stop


async def _read_queue(search: _Search, path: _Path) -> events.ReaderEvents:
    """Read the queued pages that the user agrees to."""
    steering = search.steering
    while path.queue and not _is_over(search, path):
        page = path.queue.popleft()
        if page in steering.refused or page in path.pages_read:
            continue
        step = len(path.pages_read) + 1
        reason = f"path {path.number}, {path.element.name}"
        section = page_wanted(page, search.memory, search.reasons)
        last = len(search.memory.entries)
        proposed = events.Proposed((page,), step, last, reason, path.number, (section,))
        async for reviewed in steering.review(proposed):
            yield reviewed
        path.queue.extendleft(reversed(steering.decision.pages))
        if page in steering.refused or steering.stop:
            continue
        path.pages_read.append(page)
        yield events.LookedUp(page, step, reason, path.number)
        async for event in _read_page(search, path, page):
            yield event


async def _read_facts(search: _Search, path: _Path) -> events.ReaderEvents:
    """Note what the facts of an element tell, and queue pages that these are from."""
    path.steps += 1
    note_task = prompts.load("task_note").text
    shown = await _facts_to_show(search, path, note_task)
    if not shown:
        return
    path.known.update(shown)
    pages = sorted({fact.page for fact in shown})
    yield events.Visited(path.number, path.element.name, len(shown), tuple(pages))
    prompt = _facts_prompt(search, path, shown)
    to_note = prompt(task=note_task, notes=path.notebook())
    note = await _note(search, path, to_note, shown)
    if note:
        yield events.Noted(note.text, *note.place, path.number)
    unread = [page for page in pages if page not in path.pages_read]
    choosing = partial(prompt, task=prompts.load("task_pages").text)
    to_choose = await _fit_prompt(search, path, choosing, _CHOICE_TOKENS)
    if to_choose and unread:
        options = [f"Page {page}" for page in unread]
        chosen = await search.choose_several(to_choose, options, _PAGES_QUEUED)
        path.queue.extend(unread[index] for index in chosen)


async def _facts_to_show(search: _Search, path: _Path, task: str) -> list[Fact]:
    """The new facts of the element that are nearest to the question, as many as fit the prompt."""
    new = [
        fact
        for fact in path.element.facts
        if fact.page not in search.steering.refused and fact not in path.known
    ]
    shown = await asyncio.to_thread(_nearest, search, new, _FACTS_SHOWN)
    while shown:
        prompt = _facts_prompt(search, path, shown)(task=task, notes=path.notebook())
        if await search.fits(prompt, NOTE_TOKENS):
            break
        fewer = int(_SHARE_TO_FIT * len(shown))
        shown = await asyncio.to_thread(_nearest, search, new, fewer)
    return shown


def _facts_prompt(
    search: _Search, path: _Path, shown: list[Fact]
) -> Callable[..., Prompt]:
    """The prompt over these facts, which takes `task` and `notes`."""
    element = path.element.name
    return partial(
        search.prompt, "node_facts", facts=_group_by_page(shown), element=element
    )


async def _read_page(search: _Search, path: _Path, page: int) -> events.ReaderEvents:
    """Note what a page tells, and let the model choose where to read on."""
    path.steps += 1
    memory = search.memory
    place = search.place(page)
    where = await asyncio.to_thread(setting_of, memory, place)
    text = memory.text_of(memory.entry(page).page)
    prompt = partial(search.prompt, "node_page", text=text, page=page, where=where)
    noting = partial(prompt, task=prompts.load("task_note").text)
    to_note = await _fit_prompt(search, path, noting, NOTE_TOKENS)
    if to_note is None:
        path.unfit.add(page)
        yield events.Unfit(page)
        return
    note = await _note(search, path, to_note, page)
    await _choose_action(search, path, page, prompt)
    if note:
        yield events.Noted(note.text, *note.place, path.number)


async def _choose_action(
    search: _Search, path: _Path, page: int, prompt: Callable[..., Prompt]
) -> None:
    """Let the model queue the page before or after this one, or end the path."""
    excluded = {*path.pages_read, *path.queue, *search.steering.refused}
    last = len(search.memory.entries)
    adjacent: dict[str, int] = {}
    if page > 1 and page - 1 not in excluded:
        adjacent[_PREVIOUS] = page - 1
    if page < last and page + 1 not in excluded:
        adjacent[_NEXT] = page + 1
    actions = [_MORE, *adjacent, _END]
    described = "; ".join(prompts.load(_ACTIONS[action]).text for action in actions)
    task = prompts.load("task_action").fill(actions=described)
    choosing = partial(prompt, task=task)
    to_choose = await _fit_prompt(search, path, choosing, _CHOICE_TOKENS)
    if to_choose is None:
        return
    action = actions[await search.choose(to_choose, actions, 0)]
    if action in adjacent:
        path.queue.appendleft(adjacent[action])
    path.has_enough = action == _END


async def _fit_prompt(
    search: _Search, path: _Path, prompt: Callable[..., Prompt], tokens: int
) -> Prompt | None:
    """The prompt, which takes `notes`, with as many notes as leave `tokens` for the reply.

    None if it does not fit without notes either.
    """
    for leave_out in range(len(path.latest_notes()) + 1):
        candidate = prompt(notes=path.notebook(leave_out))
        if await search.fits(candidate, tokens):
            return candidate
    return None


async def _neighbour(search: _Search, path: _Path) -> Element | None:
    """The neighbour that the model chooses to go to; None if it stops or there is none."""
    path.steps += 1
    unvisited = [
        search.graph[key]
        for key in path.element.neighbours
        if key in search.graph and key not in path.visited
    ]
    # One whose facts the path knows already tells nothing more.
    new = [element for element in unvisited if not path.known.issuperset(element.facts)]
    nearest = await asyncio.to_thread(_nearest_elements, search, new)
    prompt = partial(
        search.prompt, "neighbours", notes=path.notebook(), element=path.element.name
    )
    offer = await _offer(search, nearest, prompt)
    if not offer.elements:
        return None
    labels = offer.labels
    index = await search.choose(offer.prompt, [*labels, STOP], len(labels))
    if index >= len(labels):
        return None
    return offer.elements[index]


async def _note(
    search: _Search, path: _Path, prompt: Prompt, source: int | Sequence[Fact]
) -> _Note | None:
    """What the model adds to the notebook; None if that is nothing new.

    `source`: the number of the page, or the facts. A note from facts has the place of the nearest
    fact.
    """
    text = await search.take_note(prompt)
    question = without_options(search.question)
    earlier = [search.plan, question, *(note.text for note in path.notes)]
    if not text or words_of(text) <= words_of(" ".join(earlier)):
        return None
    if isinstance(source, int):
        note = _Note(text, search.place(source), from_text=True)
    else:
        nearest, *_ = _nearest(search, source, 1, text)
        note = _Note(text, search.place(nearest.page), from_text=False)
    path.notes.append(note)
    return note


def _nearest(
    search: _Search, facts: Sequence[Fact], most: int, query: str = ""
) -> list[Fact]:
    """The facts nearest to the query (BM25), by default question and plan, in the book's order."""
    if len(facts) <= most:
        return list(facts)
    ranker = Ranker([fact.text for fact in facts], search.memory.book.language)
    best = ranker.top(query or f"{search.question} {search.plan}", most)
    return [facts[index] for index in sorted(best)] or list(facts[:most])


def _rank_elements(
    elements: Sequence[Element], query: str, most: int, language: str
) -> list[int]:
    """Indices of the elements nearest to a query (BM25), nearest first."""
    texts: list[str] = []
    for element in elements:
        facts_ranked = [fact.text for fact in element.facts[:_FACTS_RANKED]]
        texts.append(" ".join([element.name, *facts_ranked]))
    return Ranker(texts, language).top(query, most)


def _nearest_elements(search: _Search, elements: Sequence[Element]) -> list[Element]:
    """The elements nearest to question and plan, then others, as many as are shown."""
    if len(elements) <= _NEIGHBOURS_SHOWN:
        return list(elements)
    query = f"{search.question} {search.plan}"
    language = search.memory.book.language
    best = _rank_elements(elements, query, _NEIGHBOURS_SHOWN, language)
    # All indices, those of `best` first
    order = list(dict.fromkeys([*best, *range(len(elements))]))
    return [elements[index] for index in order[:_NEIGHBOURS_SHOWN]]


def _group_by_page(facts: list[Fact]) -> str:
    """The facts as a list under the number of each page."""
    lines: list[str] = []
    for page, of_page in groupby(facts, key=lambda fact: fact.page):
        lines += [f"Page {page}:", *(f"- {fact.text}" for fact in of_page)]
    return "\n".join(lines)


async def _answer(search: _Search, paths: Sequence[_Path]) -> events.ReaderEvents:
    """Answer from all notebooks; the first notes of the fullest are left out until they fit."""
    filled = [path for path in paths if path.notes]
    while True:
        notebooks = _notebooks(search, filled)
        text = notebooks.text
        prompt = search.answer_prompt("notebooks_answer", notes=text or _FOUND_NOTHING)
        if not filled or await search.fits(prompt, search.answer_tokens):
            break
        fullest = max(filled, key=lambda path: len(path.notes))
        del fullest.notes[0]
        filled = [path for path in filled if path.notes]
    notes = [note for path in filled for note in path.latest_notes()]
    pages_read = _pages_read(paths)
    read_in_full = {note.place for note in notes if note.from_text}
    draft = events.Answered(
        found=bool(filled),
        compression_rate=search.compression_rate(count_words(text)),
        seen=tuple(join(read_in_full, search.memory.book)),
        noted=tuple(sorted({note.place for note in notes})),
        lookups=pages_read,
        expanded=tuple(sorted(pages_read)),
    )
    async for event in search.answer_from(draft, text, prompt, notebooks.numbered):
        yield event


def _pages_read(paths: Sequence[_Path]) -> tuple[int, ...]:
    """The pages that were read and fitted the window, each once."""
    pages: list[int] = []
    for path in paths:
        pages += [page for page in path.pages_read if page not in path.unfit]
    return tuple(dict.fromkeys(pages))


@dataclass(frozen=True, slots=True)
class _Notebooks:
    """The notes of all paths as the prompt shows them."""

    text: str
    # The place of each numbered note, if the model is asked to cite
    numbered: tuple[tuple[int, Span], ...]


def _notebooks(search: _Search, paths: Sequence[_Path]) -> _Notebooks:
    """The notes by path; one whose words are all in an earlier one is left out."""
    written: list[frozenset[str]] = []
    notebooks: list[str] = []
    places: list[Span] = []
    for path in paths:
        lines = [f"Searcher {path.number}:"]
        for note in path.latest_notes():
            words = words_of(note.text)
            if any(words <= earlier for earlier in written):
                continue
            written.append(words)
            places.append(note.place)
            mark = f"[{len(places)}]" if search.is_asked_to_cite else "-"
            lines.append(f"{mark} {note.text}")
        if lines[1:]:
            notebooks.append("\n".join(lines))
    numbered = search.to_cite(enumerate(places, start=1))
    return _Notebooks("\n\n".join(notebooks), numbered)
