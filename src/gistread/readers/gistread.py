"""Our own reader: retrieval in the order of the book, with context-aware ranking and a second look.

It begins like DOS RAG (arXiv 2506.03989), the strongest baseline at equal tokens: the best passages
up to a budget, in the order of the book. The differences come from measurements (docs/methods.md,
`tests/benchmarks/recall.py`):

- Ranking counts how close together the words of the question are, words that mean the same, and the
  scores of neighbours (`ranking.py`).
- After "not found", the next passages are read, unless a budget was set.
- A question that shares no word with the book ("Summarise it.") is answered from the gists.
- For "Who is Mr. Bingley?", the passages that introduce the name come first.

It needs no memory, and also searches the unread part of a book.
"""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from gistread.errors import EngineError
from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage, join, overlaps
from gistread.readers import events
from gistread.readers.absence import may_say_not_found, says_not_found
from gistread.readers.answering import Asking
from gistread.readers.book_text import BookText, opening_event, places_of
from gistread.readers.cost import LEAST_TOKENS, readable_tokens, whole_text_tokens
from gistread.readers.events import ReaderEvent, ReaderEvents
from gistread.readers.kinds import asks_for_story, asks_how_all_ends
from gistread.readers.lookups import answer, begin, start_search
from gistread.readers.ranking import Ranked, rank, reusable_passages, spread_over
from gistread.readers.steering import Steering
from gistread.readers.support import check, is_invented
from gistread.readers.thread import without_options

NAME = "gistread"
# Counted one by one, passages may have more tokens than the whole text: a sixth is added.
_SPARE = 6
# Share of the text that gists must tell for an answer from them alone
_LEAST_TOLD = 0.8
_DECISIVE_CHARACTERS = 80  # "Not found" is recognizable within this length
# If an answer says it in other words, it is seldom longer; the model judges it when it ends.
_UNDECIDED_CHARACTERS = 300
_LOOKS = 2  # The first passages, then the next after "not found"


async def gistread(asking: Asking) -> ReaderEvents:
    """Answer from the whole text if it fits, else from the passages nearest to the question."""
    text = BookText.of(asking, NAME)
    memory = asking.memory
    options = asking.options
    question = without_options(text.question)
    ranked = await asyncio.to_thread(
        rank, question, memory, options.choices, options.thread
    )
    budget = await text_budget(text)
    asks_for_all = asks_for_story(question) or asks_how_all_ends(question)
    is_general = asks_for_all or not ranked.has_matches
    if budget.is_whole or options.choices or not is_general:
        answered = _Passages(text, ranked, budget).answer()
    elif is_told_by_gists(memory):
        answered = _from_gists(text)
    elif asks_for_all:
        answered = _from_spread(text, ranked, budget)
    else:
        answered = _Passages(text, ranked, budget).answer()
    async with aclosing(answered) as stream:
        async for event in stream:
            yield event


@dataclass(frozen=True, slots=True)
class TextBudget:
    """How much of the book is shown in one look."""

    tokens: int
    is_whole: bool  # All of the text fits


async def text_budget(asking: Asking) -> TextBudget:
    """The budget by the model's class, pace and window, and the budget that was set."""
    options = asking.options
    engine = asking.engine
    model = asking.options.model
    readable = readable_tokens(engine.info, options.first_word_s)
    limit = options.budget_tokens
    most = min(readable, model.most_tokens, limit or readable)
    whole = await whole_text_tokens(asking.memory, engine, most)
    if whole is not None:
        return TextBudget(max(LEAST_TOKENS, whole + whole // _SPARE), is_whole=True)
    usual = min(model.passage_tokens, max(LEAST_TOKENS, readable))
    return TextBudget(min(limit or usual, model.most_tokens), is_whole=False)


@dataclass(slots=True)
class _Passages:
    """Answers from passages together, in one or two looks."""

    text: BookText
    ranked: Ranked
    budget: TextBudget
    opened: list[int] = field(default_factory=list)  # Pages reported as open
    # The events of a look that are not yielded because it may have found nothing
    withheld: list[ReaderEvent] = field(default_factory=list)

    async def answer(self) -> ReaderEvents:
        """Look at the nearest passages; if these tell nothing, at the next ones."""
        seen: list[Passage] = []
        looks = self._looks()
        for look in range(looks):
            unseen = [
                place for place in self.ranked.passages if not overlaps(seen, place)
            ]
            self.withheld.clear()
            looking = self._look(unseen, seen, may_look_again=look + 1 < looks)
            async with aclosing(looking) as stream:
                async for event in stream:
                    yield event
            if not self.withheld:
                return
            seen = join([*seen, *self.text.shown], self.text.memory.book)
        # Nothing was found in the last look either.
        for event in self.withheld:
            yield event

    def _looks(self) -> int:
        """The most looks for this question."""
        options = self.text.options
        can_find_nothing = options.model.abstains and not options.choices
        if self.budget.is_whole or not can_find_nothing:
            return 1
        # A budget that was set is for all looks.
        limit = options.budget_tokens
        if limit and limit < _LOOKS * self.budget.tokens:
            return 1
        return _LOOKS

    async def _look(
        self,
        candidates: Sequence[Passage],
        seen: Sequence[Passage],
        *,
        may_look_again: bool,
    ) -> ReaderEvents:
        """Show as many of the candidates as fit, and answer from them.

        `may_look_again`: keep the events in `withheld` if nothing is found.
        """
        text, steering = self.text, self.text.steering
        is_first = not seen
        async with aclosing(self._select(candidates, is_first=is_first)) as stream:
            async for proposed in stream:
                yield proposed
        pinned = steering.pinned - steering.refused
        async with aclosing(self._report_shown(pinned, is_first=is_first)) as stream:
            async for event in stream:
                yield event
        shows_all = self._shows_all(candidates)
        reason = events.StopReason.WINDOW
        if shows_all:
            reason = events.StopReason.NOTHING_LEFT
        opened = {*self.opened, *pinned}
        answered = text.answer(text.shown, tuple(self.opened), opened)
        ending = _after_stop(events.Stopped(reason), answered, text, seen)
        if may_look_again and not shows_all:
            ending = _unless_not_found(
                ending,
                steering,
                self.withheld,
                judges_absence=text.options.model.judges_absence,
            )
        async with aclosing(ending) as stream:
            async for event in stream:
                yield event

    async def _report_shown(self, pinned: set[int], *, is_first: bool) -> ReaderEvents:
        """Report the pages of the selected passages as opened. `pinned`: by the user."""
        text = self.text
        if is_first:
            yield text.started(text.shown)
            for number in sorted(pinned):
                for place in places_of(text.memory, {number}):
                    by = events.OpenedBy.PERSON
                    yield opening_event(number, place, text.shown, by)
        new = self._new_pages(pinned)
        reasons = await asyncio.to_thread(text.why_shown, new)
        for number in new:
            self.opened.append(number)
            yield events.LookedUp(number, len(self.opened), reasons[number])
            yield events.Expanded(number, events.OpenedBy.AGENT)

    async def _select(
        self, candidates: Sequence[Passage], *, is_first: bool
    ) -> ReaderEvents:
        """Select what to show, as `BookText.select`."""
        text, options = self.text, self.text.options
        again: list[Passage] = []
        if is_first:  # Only the first look uses the last answer's passages again.
            refused = places_of(text.memory, text.steering.refused)
            again = reusable_passages(self.ranked, options.thread, refused)
        usual = max(self.budget.tokens, options.model.passage_tokens)
        async for proposed in text.select(
            candidates,
            self.budget.tokens,
            first=again,
            named_budget=options.budget_tokens or usual,
        ):
            yield proposed

    def _new_pages(self, pinned: set[int]) -> list[int]:
        """The pages of the shown passages to report as opened, unless the whole text is shown."""
        if self.budget.is_whole:
            return []
        known = {*self.opened, *pinned}
        pages = pages_in(self.text.shown, self.ranked, self.text.memory, known)
        return pages[: self.text.options.max_pages - len(self.opened)]

    def _shows_all(self, candidates: Sequence[Passage]) -> bool:
        """Whether all candidates are shown that may be."""
        steering = self.text.steering
        refused = places_of(self.text.memory, steering.refused)
        visible = [*self.text.shown, *refused]
        return steering.only or all(overlaps(visible, place) for place in candidates)


async def _after_stop(
    stopped: events.Stopped,
    answered: ReaderEvents,
    text: BookText,
    before: Sequence[Passage],
) -> ReaderEvents:
    """`stopped`, then the answer; "not found" includes the passages seen `before`."""
    yield stopped
    async with aclosing(answered) as stream:
        async for event in stream:
            if not isinstance(event, events.Answered):
                yield event
                continue
            checked = await asyncio.to_thread(without_invention, event, text)
            if not checked.found:
                seen = join([*checked.seen, *before], text.memory.book)
                checked = replace(checked, seen=tuple(seen))
            yield checked


async def _unless_not_found(
    answered: ReaderEvents,
    steering: Steering,
    withheld: list[ReaderEvent],
    *,
    judges_absence: bool,
) -> ReaderEvents:
    """Yield the events once the answer is clearly not "not found".

    Until then they are added to `withheld`. If the answer breaks off, its beginning is yielded.
    `judges_absence`: see `ModelClass`.
    """
    draft = ""
    is_answer = False
    try:
        async with aclosing(answered) as stream:
            async for event in stream:
                withheld.append(event)
                match event:
                    case events.AnswerDelta(piece):
                        draft += piece
                        is_answer = is_answer or _is_surely_answer(
                            draft, judges_absence=judges_absence
                        )
                    case events.Restarted():
                        draft = ""
                    case events.Answered(found=found):
                        is_answer = is_answer or found or steering.stop
                if is_answer:  # From now on, each event is yielded at once.
                    for earlier in withheld:
                        yield earlier
                    withheld.clear()
    except EngineError:
        for earlier in withheld:
            yield earlier
        withheld.clear()
        raise


def _is_surely_answer(draft: str, *, judges_absence: bool) -> bool:
    """Whether the beginning of an answer shows that it is not "not found"."""
    if len(draft) < _DECISIVE_CHARACTERS or says_not_found(draft):
        return False
    # A model that judges absence finds it at the end also in words of doubt.
    if not judges_absence or len(draft) >= _UNDECIDED_CHARACTERS:
        return True
    return not may_say_not_found(draft)


def is_told_by_gists(memory: GistMemory) -> bool:
    """Whether the gists tell most of the text up to the bound."""
    length = len(memory.book.text.rstrip())
    pages = [entry.page for entry in memory.read_entries]
    length_of_pages = sum(page.end - page.start for page in pages)
    return length > 0 and length_of_pages >= _LEAST_TOLD * length


def _from_spread(text: BookText, ranked: Ranked, budget: TextBudget) -> ReaderEvents:
    """Answer about all of the book from passages of all its parts, since there are no gists."""
    to_the_end = asks_how_all_ends(text.question)
    passages = spread_over(text.memory, to_the_end=to_the_end)
    text.is_spread = True
    return _Passages(text, replace(ranked, passages=tuple(passages)), budget).answer()


async def _from_gists(text: BookText) -> ReaderEvents:
    """Answer from the gists alone."""
    search = await start_search(text, max_pages=0)
    async for opened in begin(NAME, search):
        yield opened
    yield events.Stopped(events.StopReason.NOTHING_LEFT)
    async with aclosing(answer(search)) as stream:
        async for event in stream:
            yield event


def pages_in(
    shown: Sequence[Passage], ranked: Ranked, memory: GistMemory, known: set[int]
) -> list[int]:
    """The nearest pages that are at least partly shown, except `known` ones."""
    pages: list[int] = []
    for number in ranked.pages:
        if number not in known:
            place, *_ = places_of(memory, {number})
            if overlaps(shown, place):
                pages.append(number)
    return pages


def without_invention(answered: events.Answered, text: BookText) -> events.Answered:
    """The answer; "not found" if the model is not believed and seems to have invented all of it."""
    is_checked = answered.found and answered.choice is None
    if text.options.model.is_believed or not is_checked:
        return answered
    question = without_options(text.question)
    statements = check(answered.answer, question, text.memory, answered.seen)
    if is_invented(statements):
        return replace(answered, found=False, citations=())
    return answered
