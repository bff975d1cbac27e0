"""MemWalker: walks down a tree of summaries to the pages with the answer (section 3.2;
`memory/tree.py`).

At a node the model picks the most promising child (triage), or answers if the summaries tell
enough. At a page it says whether the page completes the answer, tells a part of it, which is noted,
or does not help. Every prompt includes the working memory: the notes, and as many summaries of the
path as fit. Rejected nodes are not offered again, so a walk always ends; then the answer comes from
the summaries at the top and the notes.
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
_NOTHING_KNOWN = "nothing yet"

_Task = Callable[..., Prompt]  # A prompt that takes the working memory as `memory`


@dataclass(slots=True)
class _Walk(Asking):
    path: list[Node] = field(default_factory=list)  # From the top to the current node
    rejected: set[tuple[int, int]] = field(
        default_factory=set
    )  # Level and first page of rejected nodes
    notes: dict[int, str] = field(default_factory=dict)  # What pages told, by number
    lookups: list[int] = field(default_factory=list)
    calls: int = 0

    def open_children(self) -> list[Node]:
        new = (
            child
            for child in self.path[-1].children
            if (child.level, child.first) not in self.rejected
        )
        return [child for child in new if not self.steering.refused.issuperset(pages_of(child))]

    def turn_back(self) -> events.TurnedBack:
        node = self.path.pop()
        self.rejected.add((node.level, node.first))
        told = not self.notes.keys().isdisjoint(pages_of(node))
        return events.TurnedBack(node.level, node.first, node.last, told)

    def noted(self) -> dict[int, Span]:
        """The pages that notes were taken on, by number."""
        pages = (self.memory.entry(number).page for number in sorted(self.notes))
        return {page.number: (page.start, page.end) for page in pages}

    async def working_memory(self, *tasks: _Task, answer_tokens: int) -> str:
        """As much as fits these prompts; the summaries farthest up are dropped first.

        Raises PromptTooLongError.
        """
        window = self.engine.info.context_tokens
        known = [f"- {node.summary.text}" for node in self.path[1:] if node.level]
        known += [f"- Page {number}: {note}" for number, note in sorted(self.notes.items())]
        while True:
            memory = "\n".join(known)
            needed = max(
                [await self.engine.measure(task(memory=memory or _NOTHING_KNOWN)) for task in tasks]
            )
            if needed + answer_tokens <= window:
                return memory
            if not known:
                raise PromptTooLongError(needed, answer_tokens, window)
            del known[0]

    @property
    def reasons(self) -> Reasons:
        return Reasons.over(self.question, self.memory)

    def proposal_of(self, node: Node) -> events.Proposed:
        """To walk to a page, or to a part of the book by its summary."""
        part = pages_of(node)
        start = self.memory.entry(node.first).page.start
        end = self.memory.entry(node.last).page.end
        if node.level:
            reason = self.reasons.in_words(node.summary.text)
        else:
            reason = self.reasons.of([(start, end)])
        part_wanted = events.WantedSection(part, start, end, reason)
        last = len(self.memory.entries)
        return events.Proposed(part, len(self.path), last, reason, sections=(part_wanted,))

    def text(self, place: Span) -> str:
        return self.memory.book.text[slice(*place)].strip()

    async def at_page(self, page: Page) -> tuple[Span, str]:
        """The beginning of this page that fits, and the working memory shown with it.

        Raises as `working_memory`.
        """
        place = page.start, page.end
        answer_tokens = max(self.answer_tokens, SAID_TOKENS)

        async def known_at(place: Span) -> str:
            tasks = await self.leaf_tasks(page, place)
            return await self.working_memory(*tasks, answer_tokens=answer_tokens)

        async def fits(place: Span) -> bool:
            with suppress(PromptTooLongError):
                await known_at(place)
                return True
            return False

        with suppress(PromptTooLongError):
            return place, await known_at(place)
        place = await fit_beginning(place, self.memory.book, fits) or place
        return place, await known_at(place)

    async def leaf_tasks(self, page: Page, place: Span) -> tuple[_Task, _Task]:
        """To say whether a part of a page helps, and to answer from it."""
        where = await asyncio.to_thread(setting_of, self.memory, (page.start, page.end))
        shown: dict[str, Any] = {"text": self.text(place), "page": page.number, "where": where}
        helps = partial(user_prompt, "leaf", self.options.wording, question=self.question, **shown)
        return helps, partial(self.answer_prompt, "leaf_answer", **shown)


async def memwalker(asking: Asking) -> events.ReaderEvents:
    """Answer by walking the tree of summaries."""
    walk = _Walk.of(asking)
    memory = asking.memory
    steering = asking.steering
    least = min(memory.entries, key=lambda entry: entry.page.words)
    await walk.at_page(least.page)  # raises before a tree is built if no page fits
    yield events.Started(NAME, len(memory.read_entries), memory.estimated_pages, memory.complete)
    # The first summary may take a minute, so progress is reported before it.
    if not (left := await asyncio.to_thread(tree.remaining, memory)).complete:
        yield events.Prepared("summaries", left.done, left.total)
    async with aclosing(tree.build(memory, walk.engine, Priority.INTERACTIVE)) as building:
        async for progress in building:
            yield events.Prepared("summaries", max(left.done, progress.done), progress.total)
            walk.usage = progress.usage
            if steering.stop:
                break
    if not steering.stop:
        walk.path.append(await asyncio.to_thread(tree.current_tree, memory))
    wanted: int | None = None  # A page that the user chose to walk to
    while not isinstance(step := await _step(walk, wanted), events.StopReason):
        if isinstance(step, events.TurnedBack):
            yield step
            continue
        if wanted not in pages_of(step):
            part, refused = pages_of(step), set(steering.refused)
            proposed = walk.proposal_of(step)
            async for said in steering.review(proposed):
                if not (
                    isinstance(said, events.Refused)
                    and set(part).intersection(steering.decision.pages)
                ):
                    yield said
            decision = steering.decision
            wanted = next(iter(decision.pages), None)
            if wanted and wanted not in pages_of(walk.path[-1]):
                del walk.path[1:]  # It lies in another part of the book.
            if wanted in part:  # Walking to a page of this node refuses none of its other pages.
                steering.refused.intersection_update(refused)
            if steering.stop or decision.refused_of(part) or decision.pages:
                continue
        yield events.Walked(step.level, step.first, step.last)
        walk.path.append(step)
        if step.level:
            continue
        walk.lookups.append(step.first)
        page = memory.entry(step.first).page
        reason = walk.reasons.of([(page.start, page.end)])
        yield events.LookedUp(step.first, len(walk.lookups), reason)
        try:
            place, known = await walk.at_page(page)
        except PromptTooLongError:
            yield events.Unfit(page.number)
            yield walk.turn_back()
            continue
        yield opening_event(page.number, (page.start, page.end), [place], events.OpenedBy.AGENT)
        task, answer_task = await walk.leaf_tasks(page, place)
        helps, prompt = ["yes", "part", "no"], task(memory=known or _NOTHING_KNOWN)
        index, note = await walk.choose_and_say(prompt, helps, prompt, "told")
        walk.calls += 1
        if helps[index] == "yes":
            yield events.Stopped(events.StopReason.ENOUGH)
            async for event in _answer_from_page(walk, page, place, known, answer_task):
                yield event
            return
        if helps[index] == "part" and note and not adds_nothing(note):
            walk.notes[page.number] = note
            yield events.Noted(note, page.start, page.end)
        yield walk.turn_back()
    yield events.Stopped(step)
    async for event in _answer_from_summaries(walk, enough=step is events.StopReason.ENOUGH):
        yield event


def pages_of(node: Node) -> tuple[int, ...]:
    return tuple(range(node.first, node.last + 1))


async def _step(walk: _Walk, wanted: int | None) -> Node | events.TurnedBack | events.StopReason:
    if walk.steering.stop:
        return events.StopReason.PERSON
    if walk.calls >= CALLS:
        return events.StopReason.LIMIT
    children = walk.open_children()
    at_top = len(walk.path) == 1
    if not children:
        return events.StopReason.NOTHING_LEFT if at_top else walk.turn_back()
    if chosen := next((child for child in children if wanted in pages_of(child)), None):
        return chosen
    labels = {str(number): child for number, child in enumerate(children, start=1)}
    none = "" if at_top else f', "{_NONE}" if none of them would help'
    stop = ", or if none of them would help" if at_top and not walk.options.wording else ""
    summaries = _numbered(children)
    task = partial(
        user_prompt, "triage", summaries=summaries, question=walk.question, none=none, stop=stop
    )
    known = await walk.working_memory(task, answer_tokens=_LABEL_TOKENS)
    prompt = task(memory=known or _NOTHING_KNOWN)
    options = [*labels, *([] if at_top else [_NONE]), _ANSWER]
    option = options[await walk.choose(prompt, options, len(options) - 1)]
    walk.calls += 1
    if option == _ANSWER:
        return events.StopReason.ENOUGH
    return labels.get(option) or walk.turn_back()


def _numbered(children: Sequence[Node]) -> str:
    """The summaries with their numbers at this level, and the pages that they are about."""
    return "\n\n".join(
        f"{number}. ({_pages_label(child)}) {child.summary.text}"
        for number, child in enumerate(children, start=1)
    )


def _pages_label(node: Node) -> str:
    is_page = node.first == node.last
    return f"page {node.first}" if is_page else f"pages {node.first} to {node.last}"


def _answer_from_page(
    walk: _Walk, page: Page, place: Span, known: str, task: _Task
) -> events.ReaderEvents:
    text = walk.text(place)
    draft = events.Answered(
        compression_rate=walk.compression_rate(count_words(text) + count_words(known)),
        seen=(place,),
        noted=tuple(walk.noted().values()),
        lookups=tuple(walk.lookups),
        expanded=(page.number,) if place == (page.start, page.end) else (),
    )
    text = f"{text}\n\n{known}" if known else text
    places = walk.noted() | {page.number: place}
    numbered = tuple(sorted(places.items())) if walk.is_asked_to_cite else ()
    return walk.answer_from(draft, text, task(memory=known or _NOTHING_KNOWN), numbered)


async def _answer_from_summaries(walk: _Walk, *, enough: bool) -> events.ReaderEvents:
    """The answer from notes and summaries.

    Those in front of the model if they tell `enough`, else those at the top.
    """
    lookups = tuple(walk.lookups)
    if not walk.path:
        yield events.Answered(
            NOT_FOUND, False, lookups=lookups, compression_rate=100.0, usage=walk.usage
        )
        return
    walk.path = walk.path if enough else walk.path[:1]
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
            children.pop()
    pages = {page for child in children for page in pages_of(child)}
    draft = events.Answered(
        found=bool(text or known),
        compression_rate=walk.compression_rate(count_words(text) + count_words(known)),
        noted=tuple(walk.noted().values()),
        gists=tuple(sorted(pages - set(walk.notes))),
        lookups=lookups,
    )
    text = f"{text}\n\n{known}" if known else text
    async for event in walk.answer_from(draft, text, task(memory=known or _NOTHING_KNOWN)):
        yield event
