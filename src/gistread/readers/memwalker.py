"""MemWalker: walks down a tree of summaries to the pages with the answer (section 3.2).

The tree is made by `memory/tree.py`. At a node the model picks the most promising child (triage),
or answers if the summaries tell enough. At a page it says whether the page completes the answer,
tells a part of it, which is noted, or does not help. Every prompt includes the working memory: the
notes, and as many summaries of the path as fit. Rejected nodes are not offered again, so a walk
always ends; then the answer comes from the summaries at the top and the notes.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from gistread.engine.protocol import Priority, Prompt
from gistread.errors import PromptTooLongError
from gistread.memory import tree
from gistread.memory.model import Page
from gistread.memory.passages import Span
from gistread.memory.tree import Node
from gistread.readers import events
from gistread.readers.answering import SAID_TOKENS, Asking, adds_nothing, user_prompt
from gistread.readers.book_text import fit_beginning, opening_event, setting_of
from gistread.readers.reasons import Reasons
from gistread.words import count_words

NAME = "memwalker"

CALLS = 40  # Most decisions of one walk
NOT_FOUND = "The book does not say."
_LABEL_TOKENS = 8  # Longest choice among children
_NONE, _ANSWER = "none", "ANSWER"
_HELPS = ("yes", "part", "no")  # Whether a page tells the answer, or a part of it
_NOTHING_KNOWN = "nothing yet"

_Task = Callable[..., Prompt]  # A prompt that takes the working memory as `memory`


@dataclass(slots=True)
class _Walk(Asking):
    """A question with the walk so far and what it told."""

    path: list[Node] = field(default_factory=list)  # From the top to the current node
    # Level and first page of rejected nodes
    rejected: set[tuple[int, int]] = field(default_factory=set)
    notes: dict[int, str] = field(default_factory=dict)  # What pages told, by number
    lookups: list[int] = field(default_factory=list)
    calls: int = 0
    answer_view: "_View | None" = None  # The page that completes the answer
    ended: events.StopReason = events.StopReason.ENOUGH

    def open_children(self) -> list[Node]:
        """The children of the current node that may be walked to."""
        children: list[Node] = []
        for child in self.path[-1].children:
            is_rejected = (child.level, child.first) in self.rejected
            is_refused = self.steering.refused.issuperset(pages_of(child))
            if not is_rejected and not is_refused:
                children.append(child)
        return children

    @property
    def is_at_top(self) -> bool:
        return len(self.path) == 1

    def turn_back(self) -> events.TurnedBack:
        """Leave the current node, which is not offered again."""
        node = self.path.pop()
        self.rejected.add((node.level, node.first))
        is_told = not self.notes.keys().isdisjoint(pages_of(node))
        return events.TurnedBack(node.level, node.first, node.last, is_told)

    def noted(self) -> dict[int, Span]:
        """The pages that notes were taken on, by number."""
        pages = (self.memory.entry(number).page for number in sorted(self.notes))
        return {page.number: (page.start, page.end) for page in pages}

    async def working_memory(self, *tasks: _Task, answer_tokens: int) -> str:
        """As much as fits these prompts; the summaries farthest up are dropped first.

        Raises PromptTooLongError.
        """
        window = self.engine.info.context_tokens
        # The top is the whole book, and a page (level 0) is shown in full.
        lines = [f"- {node.summary.text}" for node in self.path[1:] if node.level]
        for number, note in sorted(self.notes.items()):
            lines.append(f"- Page {number}: {note}")
        while True:
            memory = "\n".join(lines)
            needed = 0
            for task in tasks:
                prompt = task(memory=memory or _NOTHING_KNOWN)
                needed = max(needed, await self.engine.measure(prompt))
            if needed + answer_tokens <= window:
                return memory
            if not lines:
                raise PromptTooLongError(needed, answer_tokens, window)
            del lines[0]

    @property
    def reasons(self) -> Reasons:
        return Reasons.over(self.question, self.memory)

    def proposal_of(self, node: Node) -> events.Proposed:
        """The proposal to walk to a page, or to a part of the book by its summary."""
        pages = pages_of(node)
        start = self.memory.entry(node.first).page.start
        end = self.memory.entry(node.last).page.end
        if node.level:
            reason = self.reasons.in_words(node.summary.text)
        else:
            reason = self.reasons.of([(start, end)])
        section = events.WantedSection(pages, start, end, reason)
        last = len(self.memory.entries)
        return events.Proposed(pages, len(self.path), last, reason, sections=(section,))

    def text(self, place: Span) -> str:
        start, end = place
        return self.memory.book.text[start:end].strip()

    async def at_page(self, page: Page) -> "_View":
        """As much of this page as fits, with the working memory. Raises as `working_memory`."""
        where = await asyncio.to_thread(setting_of, self.memory, (page.start, page.end))

        async def view(place: Span) -> _View:
            tasks = self._tasks_at(page, place, where)
            answer_tokens = max(self.answer_tokens, SAID_TOKENS)
            known = await self.working_memory(
                tasks.helps, tasks.answer, answer_tokens=answer_tokens
            )
            return _View(page, place, known, tasks)

        async def fits(place: Span) -> bool:
            with suppress(PromptTooLongError):
                await view(place)
                return True
            return False

        whole = page.start, page.end
        with suppress(PromptTooLongError):
            return await view(whole)
        beginning = await fit_beginning(whole, self.memory.book, fits)
        return await view(beginning or whole)

    def _tasks_at(self, page: Page, place: Span, where: str) -> "_PageTasks":
        """The prompts over this part of a page. `where`: its setting."""
        shown: dict[str, Any] = {
            "text": self.text(place),
            "page": page.number,
            "where": where,
        }
        helps = partial(
            user_prompt, "leaf", self.options.wording, question=self.question, **shown
        )
        answer = partial(self.answer_prompt, "leaf_answer", **shown)
        return _PageTasks(helps, answer)


@dataclass(frozen=True, slots=True)
class _PageTasks:
    """The prompts over a page, or over as much of it as fits."""

    helps: _Task  # Asks whether the page helps, and what it tells
    answer: _Task


@dataclass(frozen=True, slots=True)
class _View:
    """A page as it is shown to the model."""

    page: Page
    place: Span  # The part of it that fits
    known: str  # The working memory
    tasks: _PageTasks

    @property
    def is_whole(self) -> bool:
        return self.place == (self.page.start, self.page.end)


async def memwalker(asking: Asking) -> events.ReaderEvents:
    """Answer by walking the tree of summaries."""
    walk = _Walk.of(asking)
    memory = asking.memory
    # If not even the shortest page fits, raise before a tree is built.
    shortest = min(memory.entries, key=lambda entry: entry.page.words)
    await walk.at_page(shortest.page)
    yield events.Started(
        NAME, len(memory.read_entries), memory.estimated_pages, memory.complete
    )
    for phase in (_prepare_tree, _walk_down):
        async with aclosing(phase(walk)) as stream:
            async for event in stream:
                yield event
    yield events.Stopped(walk.ended)
    if walk.answer_view is not None:
        answered = _answer_from_page(walk, walk.answer_view)
    else:
        is_enough = walk.ended is events.StopReason.ENOUGH
        answered = _answer_from_summaries(walk, is_enough=is_enough)
    async for event in answered:
        yield event


async def _walk_down(walk: _Walk) -> events.ReaderEvents:
    """Walk from node to node until the walk ends, with `answer_view` if a page has the answer."""
    chosen_page: int | None = None  # A page that the user chose to walk to
    while walk.answer_view is None:
        step = await _step(walk, chosen_page)
        if isinstance(step, events.StopReason):
            walk.ended = step
            return
        if isinstance(step, events.TurnedBack):
            yield step
            continue
        if chosen_page not in pages_of(step):
            async for reviewed in _review(walk, step):
                yield reviewed
            decision = walk.steering.decision
            chosen_page = next(iter(decision.pages), None)
            is_refused = bool(decision.refused_of(pages_of(step)))
            if walk.steering.stop or decision.pages or is_refused:
                continue
        yield events.Walked(step.level, step.first, step.last)
        walk.path.append(step)
        if step.level:
            continue
        async for event in _read_page(walk, walk.memory.entry(step.first).page):
            yield event
        if walk.answer_view is None:
            yield walk.turn_back()


async def _prepare_tree(walk: _Walk) -> events.ReaderEvents:
    """Build missing summaries, and go to the top of the tree unless stopped."""
    memory = walk.memory
    # The first summary may take a minute, so progress is reported before it.
    remaining = await asyncio.to_thread(tree.remaining, memory)
    if not remaining.complete:
        yield events.Prepared("summaries", remaining.done, remaining.total)
    building = tree.build(memory, walk.engine, Priority.INTERACTIVE)
    async with aclosing(building) as builder:
        async for progress in builder:
            # `build` counts from the first summary, also those that were made before.
            done = max(remaining.done, progress.done)
            yield events.Prepared("summaries", done, progress.total)
            walk.usage = progress.usage
            if walk.steering.stop:
                break
    if not walk.steering.stop:
        walk.path.append(await asyncio.to_thread(tree.current_tree, memory))


async def _review(walk: _Walk, node: Node) -> events.ReaderEvents:
    """Let the user decide about walking to a node, or choose a page elsewhere."""
    steering = walk.steering
    pages = set(pages_of(node))
    refused_before = set(steering.refused)
    async for event in steering.review(walk.proposal_of(node)):
        # Choosing a page of this node is no refusal of its other pages.
        chooses_page_within = not pages.isdisjoint(steering.decision.pages)
        if isinstance(event, events.Refused) and chooses_page_within:
            continue
        yield event
    chosen = next(iter(steering.decision.pages), None)
    if chosen and chosen not in pages_of(walk.path[-1]):
        # The page is in another part of the book.
        del walk.path[1:]
    if chosen in pages:
        steering.refused.intersection_update(refused_before)


async def _read_page(walk: _Walk, page: Page) -> events.ReaderEvents:
    """Show a page to the model: it completes the answer (`answer_view`), or tells a part of it."""
    walk.lookups.append(page.number)
    reason = walk.reasons.of([(page.start, page.end)])
    yield events.LookedUp(page.number, len(walk.lookups), reason)
    try:
        view = await walk.at_page(page)
    except PromptTooLongError:
        yield events.Unfit(page.number)
        return
    by = events.OpenedBy.AGENT
    yield opening_event(page.number, (page.start, page.end), [view.place], by)
    prompt = view.tasks.helps(memory=view.known or _NOTHING_KNOWN)
    index, note = await walk.choose_and_say(prompt, _HELPS, prompt, "told")
    helps = _HELPS[index]
    walk.calls += 1
    if helps == "yes":
        walk.answer_view = view
    elif helps == "part" and note and not adds_nothing(note):
        walk.notes[page.number] = note
        yield events.Noted(note, page.start, page.end)


def pages_of(node: Node) -> tuple[int, ...]:
    return tuple(range(node.first, node.last + 1))


async def _step(
    walk: _Walk, page: int | None
) -> Node | events.TurnedBack | events.StopReason:
    """The next step: to a child of the current node, back from the node, or the end of the walk.

    `page`: the page that the user chose to walk to, if any.
    """
    if walk.steering.stop:
        return events.StopReason.PERSON
    if walk.calls >= CALLS:
        return events.StopReason.LIMIT
    children = walk.open_children()
    if not children:
        if walk.is_at_top:
            return events.StopReason.NOTHING_LEFT
        return walk.turn_back()
    for child in children:
        if page in pages_of(child):
            return child
    labels = {str(number): child for number, child in enumerate(children, start=1)}
    task = _triage_task(walk, children)
    known = await walk.working_memory(task, answer_tokens=_LABEL_TOKENS)
    options = [*labels, _ANSWER]
    if not walk.is_at_top:
        options = [*labels, _NONE, _ANSWER]
    prompt = task(memory=known or _NOTHING_KNOWN)
    option = options[await walk.choose(prompt, options, len(options) - 1)]
    walk.calls += 1
    if option == _ANSWER:
        return events.StopReason.ENOUGH
    return labels.get(option) or walk.turn_back()


def _triage_task(walk: _Walk, children: Sequence[Node]) -> _Task:
    """The prompt to choose a child. At the top there is no way back, so "none" means to stop."""
    none = ""
    stop = ""
    if not walk.is_at_top:
        none = f', "{_NONE}" if none of them would help'
    elif not walk.options.wording:
        stop = ", or if none of them would help"
    return partial(
        user_prompt,
        "triage",
        summaries=_numbered(children),
        question=walk.question,
        none=none,
        stop=stop,
    )


def _numbered(children: Sequence[Node]) -> str:
    """The summaries with their numbers at this level, and the pages that they are about."""
    return "\n\n".join(
        f"{number}. ({_pages_label(child)}) {child.summary.text}"
        for number, child in enumerate(children, start=1)
    )


def _pages_label(node: Node) -> str:
    is_page = node.first == node.last
    if is_page:
        return f"page {node.first}"
    return f"pages {node.first} to {node.last}"


def _answer_from_page(walk: _Walk, view: _View) -> events.ReaderEvents:
    """The answer from the page that completes it, and the working memory."""
    known = view.known
    text = walk.text(view.place)
    words_shown = count_words(text) + count_words(known)
    draft = events.Answered(
        compression_rate=walk.compression_rate(words_shown),
        seen=(view.place,),
        noted=tuple(walk.noted().values()),
        lookups=tuple(walk.lookups),
        expanded=(view.page.number,) if view.is_whole else (),
    )
    places = walk.noted() | {view.page.number: view.place}
    numbered = walk.to_cite(sorted(places.items()))
    prompt = view.tasks.answer(memory=known or _NOTHING_KNOWN)
    return walk.answer_from(draft, _text_of_answer(text, known), prompt, numbered)


def _text_of_answer(text: str, known: str) -> str:
    """All in the prompt of the answer that is from the book."""
    return "\n\n".join(filter(None, (text, known)))


async def _answer_from_summaries(
    walk: _Walk, *, is_enough: bool
) -> events.ReaderEvents:
    """The answer from notes and summaries.

    The summaries are those of the current node if the model found them enough, else those at the
    top.
    """
    lookups = tuple(walk.lookups)
    if not walk.path:  # Stopped before the tree was made
        yield events.Answered(
            NOT_FOUND,
            found=False,
            lookups=lookups,
            compression_rate=walk.compression_rate(words=0),
            usage=walk.usage,
        )
        return
    if not is_enough:
        del walk.path[1:]
    children = list(walk.path[-1].children)
    while True:
        text = _numbered(children)
        task = partial(walk.answer_prompt, "walk_answer", summaries=text)
        try:
            known = await walk.working_memory(task, answer_tokens=walk.answer_tokens)
            break
        except PromptTooLongError:
            if not children:
                raise
            children.pop()  # Without the last summaries, the prompt may fit.
    summarised = {page for child in children for page in pages_of(child)}
    words_shown = count_words(text) + count_words(known)
    draft = events.Answered(
        found=bool(text or known),
        compression_rate=walk.compression_rate(words_shown),
        noted=tuple(walk.noted().values()),
        gists=tuple(sorted(summarised - walk.notes.keys())),
        lookups=lookups,
    )
    prompt = task(memory=known or _NOTHING_KNOWN)
    async for event in walk.answer_from(draft, _text_of_answer(text, known), prompt):
        yield event
