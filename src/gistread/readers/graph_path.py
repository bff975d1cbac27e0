"""One path through the graph of key elements, with its own notebook (GraphReader, section 3.3.2).

At an element the path reads facts and queues pages. At a page it reads the text, then continues with the queue or an
adjacent page. With an empty queue it moves to a neighbour or ends. Only valid actions are offered (design D3): no page
and no element twice. To fit the window, only the facts nearest to the question and the latest notes are shown.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby

from gistread import prompts
from gistread.engine.protocol import Prompt
from gistread.memory.facts import Element, Fact
from gistread.memory.passages import Span
from gistread.readers.answering import NOTE_TOKENS, STOP, Asking, user_prompt, words_of
from gistread.readers.book_text import setting
from gistread.readers.events import LookedUp, Noted, Proposed, ReaderEvents, Unfit, Visited
from gistread.readers.thread import without_options
from gistread.search.ranked import Ranker

STEPS = 10  # Most function calls of one path; three or four are usual (section 5.3)
_FACTS_SHOWN = 40
_NEIGHBOURS_SHOWN = 30  # A node may have a hundred; the list must fit a window of 4,000 tokens
_PAGES_QUEUED = 3
NOTES_KEPT = 8
CHOICE_TOKENS = 48  # Longest reply with one or several choices
_NOTHING = "(empty)"

_MORE, _PREVIOUS, _NEXT, _END = "search more", "previous page", "next page", "enough"


@dataclass(frozen=True, slots=True)
class Note:
    text: str
    place: Span  # The page it was made from, or the first page of its facts
    from_text: bool  # Made from the page's text; False: from facts


@dataclass(slots=True)
class GraphSearch(Asking):
    graph: Mapping[str, Element] = field(default_factory=dict)
    plan: str = ""

    async def fits(self, prompt: Prompt, answer_tokens: int) -> bool:
        return await self.engine.measure(prompt) + answer_tokens <= self.engine.info.context_tokens

    def prompt(self, name: str, **values: object) -> Prompt:
        return user_prompt(name, self.engine.info.wording, question=self.question, plan=self.plan, **values)

    def place(self, page: int) -> Span:
        found = self.memory.entry(page).page
        return found.start, found.end


@dataclass(slots=True)
class Path:
    number: int  # From 1
    element: Element
    notes: list[Note] = field(default_factory=list)
    queue: deque[int] = field(default_factory=deque)  # Pages to read
    pages_read: list[int] = field(default_factory=list)
    visited: set[str] = field(default_factory=set)  # Keys of elements
    known: set[Fact] = field(default_factory=set)  # Facts that it has been shown
    steps: int = 0
    has_enough: bool = False  # The model ended the path at a page

    def shown(self) -> list[Note]:
        return self.notes[-NOTES_KEPT:]

    def notebook(self, without: int = 0) -> str:
        return "\n".join(f"- {note.text}" for note in self.shown()[without:]) or _NOTHING


async def walk(search: GraphSearch, path: Path) -> ReaderEvents:
    steering = search.steering
    while path.steps < STEPS and not steering.stop:
        path.visited.add(path.element.key)
        async for event in _read_facts(search, path):
            yield event
        while path.queue and path.steps < STEPS and not steering.stop:
            page = path.queue.popleft()
            if page in steering.refused or page in path.pages_read:
                continue
            reason, last = f"path {path.number}, {path.element.name}", len(search.memory.entries)
            async for said in steering.review(Proposed((page,), len(path.pages_read) + 1, last, reason, path.number)):
                yield said
            path.queue.extendleft(reversed(steering.decision.pages))
            if page in steering.refused or steering.stop:
                continue
            path.pages_read.append(page)
            yield LookedUp(page, len(path.pages_read), reason, path.number)
            async for event in _read_page(search, path, page):
                yield event
            if path.has_enough:
                return
        if path.steps >= STEPS or steering.stop:
            return
        neighbour = await _neighbour(search, path)
        if neighbour is None:
            return
        path.element = neighbour


async def _read_facts(search: GraphSearch, path: Path) -> ReaderEvents:
    path.steps += 1
    refused, known = search.steering.refused, path.known
    all_facts = [fact for fact in path.element.facts if fact.page not in refused and fact not in known]
    facts = await asyncio.to_thread(nearest, search, all_facts, _FACTS_SHOWN)

    def prompt(asked: str) -> Callable[..., Prompt]:
        listed = _group_by_page(facts)
        return partial(search.prompt, "node_facts", task=asked, facts=listed, element=path.element.name)

    pages_task, note_task = prompts.load("task_pages").text, prompts.load("task_note").text
    while facts and not await search.fits(prompt(note_task)(notes=path.notebook()), NOTE_TOKENS):
        facts = await asyncio.to_thread(nearest, search, all_facts, len(facts) * 3 // 4)
    if not facts:
        return
    path.known.update(facts)
    yield Visited(path.number, path.element.name, len(facts), tuple(sorted({fact.page for fact in facts})))
    if note := await _note(search, path, prompt(note_task)(notes=path.notebook()), facts):
        yield Noted(note.text, *note.place, path.number)
    unread = [page for page in sorted({fact.page for fact in facts}) if page not in path.pages_read]
    asked = await _fit_prompt(search, path, prompt(pages_task), CHOICE_TOKENS)
    path.queue = deque()
    if asked and unread:
        options = [f"Page {page}" for page in unread]
        chosen = await search.choose_several(asked, options, _PAGES_QUEUED)
        path.queue.extend(unread[index] for index in chosen)


async def _read_page(search: GraphSearch, path: Path, page: int) -> ReaderEvents:
    path.steps += 1
    memory = search.memory
    shown = memory.entry(page).page
    where = setting(memory, shown.start)
    prompt = partial(search.prompt, "node_page", text=memory.text_of(shown), page=page, where=where)
    to_note = await _fit_prompt(search, path, partial(prompt, task=prompts.load("task_note").text), NOTE_TOKENS)
    if to_note is None:
        yield Unfit(page)
        return
    note = await _note(search, path, to_note, page)
    possible = {
        action: number
        for action, number in ((_PREVIOUS, page - 1), (_NEXT, page + 1))
        if 1 <= number <= len(memory.entries)
        and number not in {*path.pages_read, *path.queue, *search.steering.refused}
    }
    actions = [_MORE, *possible, _END]
    asked = prompts.load("task_action").fill(actions=", ".join(f'"{action}"' for action in actions))
    to_choose = await _fit_prompt(search, path, partial(prompt, task=asked), CHOICE_TOKENS)
    if to_choose is not None:
        action = actions[await search.choose(to_choose, actions, 0)]
        if action in possible:
            path.queue.appendleft(possible[action])
        path.has_enough = action == _END
    if note:
        yield Noted(note.text, *note.place, path.number)


async def _fit_prompt(search: GraphSearch, path: Path, prompt: Callable[..., Prompt], tokens: int) -> Prompt | None:
    for without in range(len(path.shown()) + 1):
        fitting = prompt(notes=path.notebook(without))
        if await search.fits(fitting, tokens):
            return fitting
    return None


async def _neighbour(search: GraphSearch, path: Path) -> Element | None:
    path.steps += 1
    unseen = [search.graph[key] for key in path.element.neighbours if key in search.graph and key not in path.visited]
    unseen = [element for element in unseen if not path.known.issuperset(element.facts)]
    shown = await asyncio.to_thread(_nearest_elements, search, unseen)
    while shown:
        listed = "\n".join(f"{number}. {element.name}" for number, element in enumerate(shown, start=1))
        prompt = search.prompt("neighbours", notes=path.notebook(), elements=listed, element=path.element.name)
        if not await search.fits(prompt, CHOICE_TOKENS):
            shown = shown[: len(shown) // 2]
            continue
        labels = [str(number) for number in range(1, len(shown) + 1)]
        index = await search.choose(prompt, [*labels, STOP], len(labels))
        return shown[index] if index < len(shown) else None
    return None


async def _note(search: GraphSearch, path: Path, prompt: Prompt, source: int | Sequence[Fact]) -> Note | None:
    """What the model adds to the notebook from a page, or from facts: its place then is that of the nearest fact."""
    text = await search.take_note(prompt)
    known = words_of(" ".join([search.plan, without_options(search.question), *(one.text for one in path.notes)]))
    if not text or words_of(text) <= known:  # repeats the plan or the notebook
        return None
    page = source if isinstance(source, int) else nearest(search, source, 1, text)[0].page
    path.notes.append(Note(text, search.place(page), from_text=isinstance(source, int)))
    return path.notes[-1]


def nearest(search: GraphSearch, facts: Sequence[Fact], most: int, query: str = "") -> list[Fact]:
    """The facts nearest to the query, by default the question and the plan (BM25), in the order of the book."""
    if len(facts) <= most:
        return list(facts)
    ranker = Ranker([fact.text for fact in facts], search.memory.book.language)
    best = ranker.top(query or f"{search.question} {search.plan}", most)
    return [facts[index] for index in sorted(best)] or list(facts[:most])


def rank_elements(elements: Sequence[Element], query: str, most: int, language: str) -> list[int]:
    """Indices of the elements nearest to a query (BM25), nearest first."""
    texts = [f"{element.name} {' '.join(fact.text for fact in element.facts[:12])}" for element in elements]
    return Ranker(texts, language).top(query, most)


def _nearest_elements(search: GraphSearch, elements: Sequence[Element]) -> list[Element]:
    if len(elements) <= _NEIGHBOURS_SHOWN:
        return list(elements)
    best = rank_elements(elements, f"{search.question} {search.plan}", _NEIGHBOURS_SHOWN, search.memory.book.language)
    order = dict.fromkeys([*best, *range(len(elements))])
    return [elements[index] for index in list(order)[:_NEIGHBOURS_SHOWN]]


def _group_by_page(facts: list[Fact]) -> str:
    lines: list[str] = []
    for page, of_page in groupby(facts, key=lambda fact: fact.page):
        lines += [f"Page {page}:", *(f"- {fact.text}" for fact in of_page)]
    return "\n".join(lines)
