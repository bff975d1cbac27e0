"""MemWalker: down a tree of summaries to the page that tells (section 3.2; its tree is `memory/tree.py`).

At a node the model sees the summaries of its children and picks the one most likely to tell (triage), or, below the
top, none of them. At a page it reads the page itself and says whether it tells the answer; if it does, it answers. What
was turned down is not offered again, so a walk always ends: with an answer, at the top with nothing left, or at the
limit of calls. Working memory, the summaries passed on the way down, stands beside page and children, the nearest
first as far as it fits. Of a page that does not fit its beginning is read.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial

from gistread import prompts
from gistread.book.normalise import count_words
from gistread.engine.protocol import NO_USAGE, Engine, Message, Priority, Prompt, Usage
from gistread.errors import BudgetTooSmallError, PromptTooLongError
from gistread.memory import tree
from gistread.memory.model import GistMemory, Page
from gistread.memory.passages import Passage
from gistread.memory.tree import Node
from gistread.readers import passages
from gistread.readers.answering import AnswerContext, answer_from, answer_prompt
from gistread.readers.citations import cite_passages
from gistread.readers.events import (
    AnswerDelta,
    Answered,
    Branched,
    LookedUp,
    OpenedBy,
    Prepared,
    ReaderEvent,
    Restarted,
    Started,
    Steering,
    Stopped,
    StopReason,
    TreeBranch,
    TurnedBack,
    Unfit,
    Walked,
)
from gistread.readers.options import ReaderOptions
from gistread.readers.over_memory import over_memory
from gistread.readers.text_readers import opened_or_not

NAME = "memwalker"

CALLS = 40
"""Choices of one walk at most."""
NOT_FOUND = "The book does not say."
_LABEL_TOKENS = 8
"""Of a choice among children, at most."""
_NONE = "none"
_NOTHING_PASSED = "nothing yet"


@dataclass(slots=True)
class _Walk:
    question: str
    memory: GistMemory
    engine: Engine
    options: ReaderOptions
    path: list[Node]
    """From the top to where the walk is."""
    rejected: set[tuple[int, int]] = field(default_factory=set)
    """Level and first page of nodes that were turned down."""
    lookups: list[int] = field(default_factory=list)
    calls: int = 0
    usage: Usage = NO_USAGE

    def open_children(self, steering: Steering) -> list[Node]:
        """What can still be walked into from here."""
        return [
            child
            for child in self.path[-1].children
            if (child.level, child.first) not in self.rejected
            and not (child.level == 0 and child.first in steering.refused)
        ]

    def turn_back(self) -> TurnedBack:
        """Turn the node down and go up again."""
        node = self.path.pop()
        self.rejected.add((node.level, node.first))
        return TurnedBack(node.level, node.first, node.last)

    def text(self, place: Passage) -> str:
        return self.memory.book.text[place[0] : place[1]].strip()

    async def working_memory(self, *tasks: Callable[[str], Prompt], answer_tokens: int, text: str = "") -> str:
        """As much of the summaries passed as fits each of these prompts; with the `text` of a page, the budget too.

        Raises PromptTooLongError and BudgetTooSmallError when it does not fit with none.
        """
        window, budget = self.engine.info.context_tokens, self.options.budget_tokens
        passed = [node.summary.text for node in self.path[1:] if node.level]
        while True:
            memory = "\n\n".join(passed)
            needed = max([await self.engine.measure(task(memory)) for task in tasks])
            shown = await self.engine.count(_together(text, memory)) if text and budget else 0
            if needed + answer_tokens <= window and shown <= budget:
                return memory
            if not passed:
                if shown > budget:
                    raise BudgetTooSmallError(shown, budget)
                raise PromptTooLongError(needed, answer_tokens, window)
            del passed[0]  # the farthest from here

    async def at_page(self, page: Page) -> tuple[Passage, str]:
        """What is read of this page, all of it or as much of its beginning as fits, and the working memory beside it,
        the same for both tasks there. Raises as `working_memory` where not a word fits."""
        place = page.start, page.end
        try:
            return place, await self._beside(self.text(place))
        except (PromptTooLongError, BudgetTooSmallError):
            beginning = await passages.beginning(place, self.memory.book, self._fits)
            if beginning is None:
                raise
            return beginning, await self._beside(self.text(beginning))

    async def _fits(self, text: str) -> bool:
        try:
            await self._beside(text)
        except (PromptTooLongError, BudgetTooSmallError):
            return False
        return True

    async def _beside(self, text: str) -> str:
        """The working memory beside a text at which the walk stands. Raises as `working_memory`."""
        return await self.working_memory(
            partial(_leaf_prompt, self, text),
            partial(_leaf_answer_prompt, self, text),
            answer_tokens=self.options.answer_tokens,
            text=text,
        )


@over_memory(NAME)
async def memwalker(
    question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    """Answer `question` by walking the tree over what has been read so far. See `registry.Reader`."""
    walk = _Walk(question, memory, engine, options, [])
    least = min(memory.entries, key=lambda entry: entry.page.words)
    await walk.at_page(least.page)  # where no page could be read, that is known before a tree is made
    yield Started(NAME, len(memory.entries), memory.estimated_pages, memory.complete)
    # The first summary may take a minute: what is being waited for is said before.
    if not (left := await asyncio.to_thread(tree.remaining, memory)).complete:
        yield Prepared("summaries", left.done, left.total)
    async with aclosing(tree.build(memory, engine, Priority.INTERACTIVE)) as building:
        async for progress in building:
            yield Prepared("summaries", max(left.done, progress.done), progress.total)
            walk.usage = progress.usage
            if steering.stop:
                break
    if not steering.stop:
        walk.path.append(await asyncio.to_thread(tree.current_tree, memory))
    if walk.path:  # else the person has stopped it, and the walk is over before its first step
        yield _branched(walk.path[-1])
    while not isinstance(step := await _step(walk, steering), StopReason):
        if isinstance(step, TurnedBack):
            yield step
            continue
        yield Walked(step.level, step.first, step.last)
        walk.path.append(step)
        if step.level:
            yield _branched(step)
            continue
        walk.lookups.append(step.first)
        yield LookedUp(step.first, len(walk.lookups), "")
        page = memory.entry(step.first).page
        try:
            place, passed = await walk.at_page(page)
        except (PromptTooLongError, BudgetTooSmallError):
            yield Unfit(page.number)
            yield walk.turn_back()
            continue
        yield opened_or_not(page.number, (page.start, page.end), [place], OpenedBy.AGENT)
        if await _tells(walk, place, passed):
            yield Stopped(StopReason.ENOUGH)
            async for event in _answer(walk, page, place, passed):
                yield event
            return
        yield walk.turn_back()
    yield Stopped(step)
    async for event in _not_found(walk):
        yield event


def _branched(node: Node) -> Branched:
    parts = (TreeBranch(child.level, child.first, child.last, child.summary.text) for child in node.children)
    return Branched(tuple(parts))


async def _step(walk: _Walk, steering: Steering) -> Node | TurnedBack | StopReason:
    """The child to go down to; that the walk has gone up again; or why it is over."""
    if steering.stop:
        return StopReason.PERSON
    if walk.calls >= CALLS:
        return StopReason.LIMIT
    children = walk.open_children(steering)
    at_top = len(walk.path) == 1
    if not children:
        return StopReason.NOTHING_LEFT if at_top else walk.turn_back()
    return await _triage(walk, children, may_turn_back=not at_top) or walk.turn_back()


async def _triage(walk: _Walk, children: list[Node], *, may_turn_back: bool) -> Node | None:
    """Which child the model walks into; None: into none of them."""
    summaries = "\n\n".join(f"{number}. {child.summary.text}" for number, child in enumerate(children, start=1))
    none = f', or with "{_NONE}" when no part seems to tell it' if may_turn_back else ""

    def task(memory: str) -> Prompt:
        return _prompt(
            "triage", summaries=summaries, memory=memory or _NOTHING_PASSED, question=walk.question, none=none
        )

    prompt = task(await walk.working_memory(task, answer_tokens=_LABEL_TOKENS))
    labels = [str(number) for number in range(1, len(children) + 1)] + [_NONE] * may_turn_back
    choice = await walk.engine.choose(prompt, labels)
    walk.calls += 1
    walk.usage += choice.usage
    return children[choice.index] if choice.index < len(children) else None


async def _tells(walk: _Walk, place: Passage, memory: str) -> bool:
    choice = await walk.engine.choose(_leaf_prompt(walk, walk.text(place), memory), ["yes", "no"])
    walk.calls += 1
    walk.usage += choice.usage
    return choice.index == 0


async def _answer(
    walk: _Walk, page: Page, place: Passage, memory: str
) -> AsyncGenerator[AnswerDelta | Restarted | Answered, None]:
    text = walk.text(place)
    basis = AnswerContext(
        _together(text, memory),
        _compression_rate(walk, count_words(text) + count_words(memory)),
        cite=lambda said, question: cite_passages(said, question, walk.memory, [place]),
        seen=(place,),
        lookups=tuple(walk.lookups),
        expanded=(page.number,) if place == (page.start, page.end) else (),
        usage=walk.usage,
    )
    prompt = _leaf_answer_prompt(walk, text, memory)
    async for event in answer_from(basis, prompt, walk.question, walk.engine, walk.options):
        yield event


async def _not_found(walk: _Walk) -> AsyncGenerator[AnswerDelta | Restarted | Answered, None]:
    """No page told it. Where one of the options must be chosen, it is chosen from the summaries at the top."""
    lookups = tuple(walk.lookups)
    if not walk.options.choices:
        yield Answered(NOT_FOUND, False, (), lookups, (), _compression_rate(walk, 0), walk.usage)
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
    rate = _compression_rate(walk, count_words(text))
    basis = AnswerContext(text, rate, lookups=lookups, usage=walk.usage, tells=False)
    async for event in answer_from(basis, task(text), walk.question, engine, options):
        yield event


def _leaf_prompt(walk: _Walk, text: str, memory: str) -> Prompt:
    return _prompt("leaf", text=text, memory=memory or _NOTHING_PASSED, question=walk.question)


def _leaf_answer_prompt(walk: _Walk, text: str, memory: str) -> Prompt:
    passed = memory or _NOTHING_PASSED
    return answer_prompt("leaf_answer", walk.options, text=text, memory=passed, question=walk.question)


def _prompt(task: str, **values: object) -> Prompt:
    return (Message("user", prompts.load(task).fill(**values)),)


def _together(text: str, memory: str) -> str:
    return f"{text}\n\n{memory}" if memory else text


def _compression_rate(walk: _Walk, words: int) -> float:
    return 100.0 * (1.0 - words / max(1, walk.memory.book.words))
