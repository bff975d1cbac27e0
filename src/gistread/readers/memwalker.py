"""MemWalker: walks down a tree of summaries to the page with the answer (section 3.2; `memory/tree.py`).

At a node the model picks the most promising child (triage) or, below the top, none. At a page it says whether the page
has the answer. Rejected nodes are not offered again, so a walk always ends. Every prompt includes the working memory:
as many summaries of the path as fit, the nearest first.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial

from gistread.book.normalise import count_words
from gistread.engine.protocol import NO_USAGE, Engine, Priority, Prompt, Usage
from gistread.errors import BudgetTooSmallError, PromptTooLongError
from gistread.memory import tree
from gistread.memory.model import GistMemory, Page
from gistread.memory.passages import Passage
from gistread.memory.tree import Node
from gistread.readers import events
from gistread.readers.answering import AnswerContext, answer_from, answer_prompt, compression_rate, user_prompt
from gistread.readers.book_text import fit_beginning, opening_event
from gistread.readers.citations import cite_passages
from gistread.readers.protocol import ReaderOptions
from gistread.readers.steering import Steering

NAME = "memwalker"

CALLS = 40  # Most choices of one walk
NOT_FOUND = "The book does not say."
_LABEL_TOKENS = 8  # Longest choice among children
_NONE = "none"
_NOTHING_PASSED = "nothing yet"


@dataclass(slots=True)
class _Walk:
    question: str
    memory: GistMemory
    engine: Engine
    options: ReaderOptions
    path: list[Node]  # From the top to the current node
    rejected: set[tuple[int, int]] = field(default_factory=set)  # Level and first page of rejected nodes
    lookups: list[int] = field(default_factory=list)
    calls: int = 0
    usage: Usage = NO_USAGE

    def open_children(self, steering: Steering) -> list[Node]:
        return [
            child
            for child in self.path[-1].children
            if (child.level, child.first) not in self.rejected and not steering.refused.issuperset(pages_of(child))
        ]

    def turn_back(self) -> events.TurnedBack:
        node = self.path.pop()
        self.rejected.add((node.level, node.first))
        return events.TurnedBack(node.level, node.first, node.last)

    def text(self, place: Passage) -> str:
        return self.memory.book.text[place[0] : place[1]].strip()

    async def working_memory(self, *tasks: Callable[[str], Prompt], answer_tokens: int, text: str = "") -> str:
        """As much working memory as fits these prompts. Raises PromptTooLongError, BudgetTooSmallError."""
        window, budget = self.engine.info.context_tokens, self.options.budget_tokens
        passed = [node.summary.text for node in self.path[1:] if node.level]
        while True:
            memory = "\n\n".join(passed)
            needed = max([await self.engine.measure(task(memory)) for task in tasks])
            shown = await self.engine.count(_join_texts(text, memory)) if text and budget else 0
            if needed + answer_tokens <= window and shown <= budget:
                return memory
            if not passed:
                if shown > budget:
                    raise BudgetTooSmallError(shown, budget)
                raise PromptTooLongError(needed, answer_tokens, window)
            del passed[0]  # the farthest

    async def at_page(self, page: Page) -> tuple[Passage, str]:
        """The beginning of this page that fits, and the working memory shown with it. Raises as `working_memory`."""
        place = page.start, page.end
        try:
            return place, await self._fit_memory(self.text(place))
        except (PromptTooLongError, BudgetTooSmallError):
            start = await fit_beginning(place, self.memory.book, self._fits)
            if start is None:
                raise
            return start, await self._fit_memory(self.text(start))

    async def _fits(self, text: str) -> bool:
        try:
            await self._fit_memory(text)
        except (PromptTooLongError, BudgetTooSmallError):
            return False
        return True

    async def _fit_memory(self, text: str) -> str:
        """The working memory for the tasks at a page with this text. Raises as `working_memory`."""
        return await self.working_memory(
            partial(_leaf_prompt, self, text),
            partial(_leaf_answer_prompt, self, text),
            answer_tokens=self.options.answer_tokens,
            text=text,
        )


async def memwalker(
    question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[events.ReaderEvent, None]:
    """Answer by walking the tree of summaries. See `registry.Reader`."""
    walk = _Walk(question, memory, engine, options, [])
    least = min(memory.entries, key=lambda entry: entry.page.words)
    await walk.at_page(least.page)  # raises before a tree is built if no page fits
    yield events.Started(NAME, len(memory.entries), memory.estimated_pages, memory.complete)
    # The first summary may take a minute, so progress is reported before it.
    if not (left := await asyncio.to_thread(tree.remaining, memory)).complete:
        yield events.Prepared("summaries", left.done, left.total)
    async with aclosing(tree.build(memory, engine, Priority.INTERACTIVE)) as building:
        async for progress in building:
            yield events.Prepared("summaries", max(left.done, progress.done), progress.total)
            walk.usage = progress.usage
            if steering.stop:
                break
    if not steering.stop:
        walk.path.append(await asyncio.to_thread(tree.current_tree, memory))
    if walk.path:
        yield _branched(walk.path[-1])
    wanted: int | None = None  # A page that the person chose to walk to
    while not isinstance(step := await _step(walk, steering, wanted), events.StopReason):
        if isinstance(step, events.TurnedBack):
            yield step
            continue
        if wanted not in pages_of(step):
            part, refused = pages_of(step), set(steering.refused)
            async for said in steering.review(events.Proposed(part, len(walk.path), len(memory.entries))):
                if not (isinstance(said, events.Refused) and set(part).intersection(steering.decision.pages)):
                    yield said
            decision = steering.decision
            wanted = next(iter(decision.pages), None)
            if wanted in part:  # Walking to a page of this node refuses none of its other pages.
                steering.refused.intersection_update(refused)
            if steering.stop or decision.refuses or decision.pages:
                continue
        yield events.Walked(step.level, step.first, step.last)
        walk.path.append(step)
        if step.level:
            yield _branched(step)
            continue
        walk.lookups.append(step.first)
        yield events.LookedUp(step.first, len(walk.lookups), "")
        page = memory.entry(step.first).page
        try:
            place, passed = await walk.at_page(page)
        except (PromptTooLongError, BudgetTooSmallError):
            yield events.Unfit(page.number)
            yield walk.turn_back()
            continue
        yield opening_event(page.number, (page.start, page.end), [place], events.OpenedBy.AGENT)
        if await _has_answer(walk, place, passed):
            yield events.Stopped(events.StopReason.ENOUGH)
            async for event in _answer(walk, page, place, passed):
                yield event
            return
        yield walk.turn_back()
    yield events.Stopped(step)
    async for event in _not_found(walk):
        yield event


def pages_of(node: Node) -> tuple[int, ...]:
    return tuple(range(node.first, node.last + 1))


def _branched(node: Node) -> events.Branched:
    parts = (events.TreeBranch(child.level, child.first, child.last, child.summary.text) for child in node.children)
    return events.Branched(tuple(parts))


async def _step(walk: _Walk, steering: Steering, wanted: int | None) -> Node | events.TurnedBack | events.StopReason:
    if steering.stop:
        return events.StopReason.PERSON
    if walk.calls >= CALLS:
        return events.StopReason.LIMIT
    children = walk.open_children(steering)
    at_top = len(walk.path) == 1
    if not children:
        return events.StopReason.NOTHING_LEFT if at_top else walk.turn_back()
    if chosen := next((child for child in children if wanted in pages_of(child)), None):
        return chosen
    return await _triage(walk, children, may_turn_back=not at_top) or walk.turn_back()


async def _triage(walk: _Walk, children: list[Node], *, may_turn_back: bool) -> Node | None:
    summaries = "\n\n".join(f"{number}. {child.summary.text}" for number, child in enumerate(children, start=1))
    none = f', or with "{_NONE}" when no part seems to tell it' if may_turn_back else ""

    def task(memory: str) -> Prompt:
        return user_prompt(
            "triage", summaries=summaries, memory=memory or _NOTHING_PASSED, question=walk.question, none=none
        )

    prompt = task(await walk.working_memory(task, answer_tokens=_LABEL_TOKENS))
    labels = [str(number) for number in range(1, len(children) + 1)] + [_NONE] * may_turn_back
    choice = await walk.engine.choose(prompt, labels)
    walk.calls += 1
    walk.usage += choice.usage
    return children[choice.index] if choice.index < len(children) else None


async def _has_answer(walk: _Walk, place: Passage, memory: str) -> bool:
    choice = await walk.engine.choose(_leaf_prompt(walk, walk.text(place), memory), ["yes", "no"])
    walk.calls += 1
    walk.usage += choice.usage
    return choice.index == 0


async def _answer(
    walk: _Walk, page: Page, place: Passage, memory: str
) -> AsyncGenerator[events.AnswerDelta | events.Restarted | events.Answered, None]:
    text = walk.text(place)
    context = AnswerContext(
        _join_texts(text, memory),
        compression_rate(count_words(text) + count_words(memory), walk.memory.book),
        cite=lambda said, question: cite_passages(said, question, walk.memory, [place]),
        seen=(place,),
        lookups=tuple(walk.lookups),
        expanded=(page.number,) if place == (page.start, page.end) else (),
        usage=walk.usage,
    )
    prompt = _leaf_answer_prompt(walk, text, memory)
    async for event in answer_from(context, prompt, walk.question, walk.engine, walk.options):
        yield event


async def _not_found(walk: _Walk) -> AsyncGenerator[events.AnswerDelta | events.Restarted | events.Answered, None]:
    """Report that no page has the answer. An option is chosen from the summaries at the top."""
    lookups = tuple(walk.lookups)
    if not walk.options.choices:
        yield events.Answered(NOT_FOUND, False, (), lookups, (), 100.0, walk.usage)
        return
    engine, options = walk.engine, walk.options
    summaries = [child.summary.text for child in walk.path[0].children]

    def task(text: str) -> Prompt:
        return answer_prompt("answer_passages", options, text=text or _NOTHING_PASSED, question=walk.question)

    while summaries and (
        await engine.measure(task("\n\n".join(summaries))) + options.answer_tokens > engine.info.context_tokens
        or 0 < options.budget_tokens < await engine.count("\n\n".join(summaries))
    ):
        summaries.pop()
    text = "\n\n".join(summaries)
    rate = compression_rate(count_words(text), walk.memory.book)
    context = AnswerContext(text, rate, lookups=lookups, usage=walk.usage, has_evidence=False)
    async for event in answer_from(context, task(text), walk.question, engine, options):
        yield event


def _leaf_prompt(walk: _Walk, text: str, memory: str) -> Prompt:
    return user_prompt("leaf", text=text, memory=memory or _NOTHING_PASSED, question=walk.question)


def _leaf_answer_prompt(walk: _Walk, text: str, memory: str) -> Prompt:
    passed = memory or _NOTHING_PASSED
    return answer_prompt("leaf_answer", walk.options, text=text, memory=passed, question=walk.question)


def _join_texts(text: str, memory: str) -> str:
    return f"{text}\n\n{memory}" if memory else text
