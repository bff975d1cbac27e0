"""MemWalker: down a tree of summaries to the page that tells (section 3.2; its tree is `memory/tree.py`).

At a node the model sees the summaries of its children and picks the one most likely to tell (triage), or, below the
top, none of them. At a page it reads the page itself and says whether it tells the answer; if it does, it answers. What
was turned down is not offered again, so a walk always ends: with an answer, at the top with nothing left, or at the
limit of calls. Working memory, the summaries passed on the way down, stands beside page and children, the nearest
first as far as it fits.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace

from gistread import prompts
from gistread.engine.protocol import NO_USAGE, Engine, Message, Priority, Prompt, Usage
from gistread.errors import PromptTooLongError
from gistread.memory.model import GistMemory
from gistread.memory.tree import Node, grow
from gistread.readers.answering import Written, stream_answer
from gistread.readers.citations import cite_passages
from gistread.readers.events import (
    AnswerDelta,
    Answered,
    Branched,
    Expanded,
    LookedUp,
    Part,
    Prepared,
    ReaderEvent,
    Restarted,
    Started,
    Steering,
    Stopped,
    StopReason,
    TurnedBack,
    Walked,
    Who,
)
from gistread.readers.lookups import nothing_read
from gistread.readers.options import ReaderOptions

NAME = "memwalker"

CALLS = 40
"""Choices of one walk at most."""
NOT_FOUND = "The book does not say."
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

    async def fitted(self, task: str, answer_tokens: int, **values: object) -> Prompt:
        """The prompt with as much of the working memory as the window takes.

        Raises PromptTooLongError when it does not fit with none.
        """
        window = self.engine.info.context_tokens
        passed = [node.summary.text for node in self.path[1:] if node.level]
        while True:
            memory = "\n\n".join(passed) or _NOTHING_PASSED
            text = prompts.load(task).fill(memory=memory, question=self.question, **values)
            prompt = (Message("user", text),)
            needed = await self.engine.measure(prompt)
            if needed + answer_tokens <= window:
                return prompt
            if not passed:
                raise PromptTooLongError(needed, answer_tokens, window)
            del passed[0]  # the farthest from here


async def memwalker(
    question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    """Answer `question` by walking the tree over what has been read so far. See `registry.Reader`."""
    if not memory.entries:
        for said in nothing_read(NAME, memory):
            yield said
        return
    memory = replace(memory, entries=list(memory.entries))
    walk = _Walk(" ".join(question.split()), memory, engine, options, [])
    await walk.fitted("triage", options.answer_tokens, summaries="", none="")
    yield Started(NAME, len(memory.entries), memory.estimated_pages, memory.complete)
    async for growth in grow(memory, engine, Priority.PERSON):
        if isinstance(growth, Node):
            walk.path.append(growth)
        else:
            yield Prepared("summaries", growth.done, growth.total)
            walk.usage = growth.usage

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
        yield Expanded(step.first, Who.AGENT)
        if await _tells(walk, step):
            yield Stopped(StopReason.ENOUGH)
            async for event in _answer(walk, step):
                yield event
            return
        yield walk.turn_back()
    yield Stopped(step)
    yield _answered(walk, NOT_FOUND, found=False)


def _branched(node: Node) -> Branched:
    parts = (Part(child.first, child.last, child.summary.text) for child in node.children)
    return Branched(node.level - 1, tuple(parts))


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
    prompt = await walk.fitted("triage", 8, summaries=summaries, none=none)
    labels = [str(number) for number in range(1, len(children) + 1)] + [_NONE] * may_turn_back
    choice = await walk.engine.choose(prompt, labels)
    walk.calls += 1
    walk.usage += choice.usage
    return children[choice.index] if choice.index < len(children) else None


async def _tells(walk: _Walk, leaf: Node) -> bool:
    text = walk.memory.text_of(walk.memory.entry(leaf.first).page)
    prompt = await walk.fitted("leaf", walk.options.answer_tokens, text=text)
    choice = await walk.engine.choose(prompt, ["yes", "no"])
    walk.calls += 1
    walk.usage += choice.usage
    return choice.index == 0


async def _answer(walk: _Walk, leaf: Node) -> AsyncGenerator[AnswerDelta | Restarted | Answered, None]:
    text = walk.memory.text_of(walk.memory.entry(leaf.first).page)
    prompt = await walk.fitted("leaf_answer", walk.options.answer_tokens, text=text)
    async for event in stream_answer(prompt, walk.engine, walk.options.answer_tokens):
        if isinstance(event, Written):
            walk.usage += event.usage
            yield _answered(walk, event.text, found=event.found, leaf=leaf)
        else:
            yield event


def _answered(walk: _Walk, answer: str, *, found: bool, leaf: Node | None = None) -> Answered:
    page = walk.memory.entry(leaf.first).page if leaf else None
    shown = sum(node.summary.words for node in walk.path[1:] if node.level) + (page.words if page else 0)
    places = [(page.start, page.end)] if page and found else []
    return Answered(
        answer=answer,
        found=found,
        citations=cite_passages(answer, walk.question, walk.memory, places),
        lookups=tuple(walk.lookups),
        expanded=(page.number,) if page else (),
        compression_rate=100.0 * (1.0 - shown / max(1, walk.memory.book.words)),
        usage=walk.usage,
    )
