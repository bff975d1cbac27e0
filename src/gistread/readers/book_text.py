"""Answers one question from the book's own text: selects passages that fit a token budget."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field

from gistread import prompts
from gistread.book.model import Book
from gistread.book.sentences import sentence_spans
from gistread.engine.protocol import Prompt
from gistread.errors import BudgetTooSmallError, PromptTooLongError
from gistread.memory.front_matter import story_of
from gistread.memory.model import GistMemory
from gistread.memory.passages import (
    NEARLY_ALL,
    Marked,
    Passage,
    join,
    numbered_passages,
    overlaps,
    render,
    split_into_chunks,
    without,
)
from gistread.memory.sections import Sections
from gistread.memory.setting import setting
from gistread.readers import events
from gistread.readers.answering import Asking
from gistread.readers.reasons import Reasons, sections_wanted
from gistread.readers.steering import Steps
from gistread.words import count_words

_NUMBER_TOKENS = 6  # Of the number of a passage and the blank line before it
_BLANK_LINE_TOKENS = 2
_STEPS_TO_FIT = 20  # Steps in which passages are dropped until they fit


@dataclass(slots=True)
class BookText(Asking):
    """The passages shown for one question, and the answer from them."""

    name: str  # Of the reader
    shown: list[Passage] = field(default_factory=list)  # The last selection
    # All passages of all selections; in each selection the nearest first
    candidates: list[Passage] = field(default_factory=list)
    # Whether the passages are spread over the book to tell all of it
    is_spread: bool = False
    marked: Marked | None = None  # The selected text that the question is about
    accepted: set[int] = field(default_factory=set)  # Sections that the user agreed to
    is_redecided: bool = False  # Whether the user changed the last proposal
    _reasons: Reasons | None = None

    async def fit(self, places: Sequence[Passage], budget: int = 0) -> list[Passage]:
        """As many of these places as fit the budget (0: none) and the window, in the book's order.

        If not even the first place fits, its beginning. Raises PromptTooLongError,
        BudgetTooSmallError.
        """
        engine, answer_tokens = self.engine, self.answer_tokens
        window = engine.info.context_tokens
        empty_prompt = await engine.measure(self._prompt(""))
        room = window - empty_prompt - answer_tokens
        if room < 0:
            raise PromptTooLongError(empty_prompt, answer_tokens, window)
        limit = min(room, budget or window)

        async def measure(places: Sequence[Passage]) -> int:
            """The tokens that these places add to the prompt."""
            text = self.rendered(places)
            added = await engine.measure(self._prompt(text)) - empty_prompt
            return max(added, await engine.count(text))

        async def fits(place: Passage) -> bool:
            return await measure([place]) <= limit

        book = self.memory.book
        shown = await self._first_within(places, limit)
        # The token counts of pieces add up only approximately, so the whole text is measured.
        while shown and await measure(join(shown, book)) > limit:
            surplus = max(1, len(shown) // _STEPS_TO_FIT)
            del shown[-surplus:]
        if shown or not places:
            return join(shown, book)
        beginning = await fit_beginning(places[0], book, fits)
        if beginning is not None:
            return [beginning]
        needed = await measure(places[:1])
        if needed > room:
            raise PromptTooLongError(empty_prompt + needed, answer_tokens, window)
        raise BudgetTooSmallError(needed, budget)

    async def _first_within(
        self, places: Sequence[Passage], tokens: int
    ) -> list[Passage]:
        """The first places that have about so many tokens together."""
        text = self.memory.book.text
        tokens_between = _NUMBER_TOKENS if self.is_asked_to_cite else _BLANK_LINE_TOKENS
        first: list[Passage] = []
        for start, end in places:
            tokens -= await self.engine.count(text[start:end]) + tokens_between
            if tokens < 0:
                break
            first.append((start, end))
        return first

    async def select(
        self,
        ranked: Sequence[Passage],
        budget: int = 0,
        *,
        most: int | None = None,
        first: Sequence[Passage] = (),
        named_budget: int | None = None,
    ) -> AsyncGenerator[events.Proposed | events.Refused, None]:
        """Select what to show: what the user named or pinned, then the nearest passages that fit.

        The user may review the pages. `most`: most passages of `ranked`. `first`: passages proposed
        instead, until the user objects. `named_budget`: the budget if the user named or pinned
        passages. Raises as `fit`.
        """
        steering = self.steering
        if named_budget is None:
            named_budget = budget
        reviewed = list(self.shown)
        is_agreed = False
        while True:
            pinned = places_of(self.memory, steering.pinned - steering.refused)
            proposed = first
            if first:
                limit = self.options.budget_tokens
            else:
                limit = named_budget if pinned else budget
                if not is_agreed:
                    proposed = self._open_places(ranked, pinned)[:most]
            candidates = [*pinned, *proposed]
            self.candidates += candidates
            self.shown = await self.fit(candidates, limit)
            if is_agreed:
                return
            fitting = [place for place in proposed if overlaps(self.shown, place)]
            async for event in self.review(_others(fitting, reviewed)):
                yield event
            if not self.is_redecided:
                return
            accepted = _others(fitting, places_of(self.memory, steering.refused))
            reviewed += accepted
            is_agreed = self._apply_decision()
            # Passages that the user named replace the refused ones; without them the next nearest
            # are proposed.
            first = accepted if is_agreed and not steering.decision.refuses else ()

    def _open_places(
        self, ranked: Sequence[Passage], pinned: Sequence[Passage]
    ) -> Sequence[Passage]:
        """The passages that the user neither pinned nor refused; none if only named ones count."""
        if self.steering.only:
            return []
        refused = places_of(self.memory, self.steering.refused)
        return _others(ranked, [*refused, *pinned])

    def _apply_decision(self) -> bool:
        """Pin the pages that the user named.

        Returns whether the user has agreed what to show, so that nothing more is proposed.
        """
        steering = self.steering
        decision = steering.decision
        is_agreed = bool(decision.pages) or steering.stop
        steering.pinned.update(decision.pages)
        if decision.refuses and is_agreed:
            steering.only = True
        return is_agreed

    async def review(
        self, places: Sequence[Passage]
    ) -> AsyncGenerator[events.Proposed | events.Refused, None]:
        """Let the user review the sections of these places that were not accepted before.

        Sets `is_redecided`.
        """
        steering = self.steering
        self.is_redecided = False
        if steering.stop or steering.steps is Steps.ALONE:
            return
        sections = await asyncio.to_thread(self._sections_wanted, places)
        new = [
            section
            for section in sections
            if not self.accepted.issuperset(section.pages)
        ]
        if not new:
            return
        pages = tuple(number for section in new for number in section.pages)
        last = Sections(self.memory).last
        proposed = events.Proposed(pages, 1, last, sections=tuple(new))
        async for event in steering.review(proposed):
            yield event
        refused = steering.decision.refused_of(pages)
        self.accepted.update(set(pages).difference(refused))
        names_pages = bool(steering.decision.pages) and not steering.stop
        self.is_redecided = bool(refused) or names_pages

    def _sections_wanted(self, places: Sequence[Passage]) -> list[events.WantedSection]:
        """The sections of these places, each with the reason why it is wanted."""
        if self.is_spread:
            usual_reason = "to tell of every part"
        elif self.share(places) >= NEARLY_ALL:
            usual_reason = "because all of the text fits"
        else:
            usual_reason = "as one of the nearest passages"
        return sections_wanted(places, self.memory, self.reasons, usual_reason)

    @property
    def reasons(self) -> Reasons:
        """Why places are wanted for this question."""
        if self._reasons is None:
            # Passages spread over the book are chosen by their place alone.
            question = "" if self.is_spread else self.question
            self._reasons = Reasons.over(question, self.memory)
        return self._reasons

    def why_shown(self, numbers: Sequence[int]) -> dict[int, str]:
        """By section number, why passages of it are shown. Call it in a thread."""
        return {number: self._why_shown(number) for number in numbers}

    def _why_shown(self, number: int) -> str:
        parts: list[Passage] = []
        for section_start, section_end in places_of(self.memory, {number}):
            for start, end in self.shown:
                if start < section_end and section_start < end:
                    parts.append((max(start, section_start), min(end, section_end)))
        return self.reasons.of(parts)

    def shown_event(self, shown: Sequence[Passage]) -> events.Shown:
        """The event that tells what the model is shown, and why. Call it in a thread."""
        if self.share(shown) >= NEARLY_ALL:
            return events.Shown(tuple(shown))
        reasons = tuple(self.reasons.of([place]) for place in shown)
        return events.Shown(tuple(shown), reasons, self._nearest_first(shown))

    def _nearest_first(self, shown: Sequence[Passage]) -> tuple[int, ...]:
        """The indexes of these places in the order in which they were selected."""

        def rank(index: int) -> int:
            place = [shown[index]]
            for candidate_rank, candidate in enumerate(self.candidates):
                if overlaps(place, candidate):
                    return candidate_rank
            return len(self.candidates)

        return tuple(sorted(range(len(shown)), key=rank))

    def share(self, shown: Sequence[Passage]) -> float:
        """The share of the book that these passages are, from 0 to 1."""
        length = len(self.memory.book.text.strip())
        if not length:
            return 1.0
        return min(1.0, sum(end - start for start, end in shown) / length)

    def started(self, shown: Sequence[Passage]) -> events.Started:
        """The event that tells that these passages are read."""
        memory = self.memory
        return events.Started(
            self.name,
            pages_read=len(memory.read_entries),
            pages_total=memory.estimated_pages,
            complete=memory.complete,
            share_shown=self.share(shown),
            is_spread=self.is_spread,
        )

    async def answer(
        self,
        shown: Sequence[Passage],
        lookups: tuple[int, ...] = (),
        opened: Collection[int] = (),
        *,
        must_answer: bool = False,
    ) -> events.ReaderEvents:
        """Answer from these passages. `opened`: pages to report as opened."""
        book, seen = self.memory.book, tuple(shown)
        yield await asyncio.to_thread(self.shown_event, seen)
        words = sum(count_words(book.text[start:end]) for start, end in seen)
        draft = events.Answered(
            compression_rate=self.compression_rate(words),
            seen=seen,
            lookups=lookups,
            expanded=tuple(sorted(opened)),
        )
        numbered = numbered_passages(seen, book) if self.is_asked_to_cite else ()
        text = self.rendered(shown)
        is_whole = self.share(shown) == 1.0
        prompt = self._prompt(text, is_whole=is_whole, must_answer=must_answer)
        async for event in self.answer_from(draft, text, prompt, numbered):
            yield event

    def rendered(self, shown: Sequence[Passage]) -> str:
        book = self.memory.book
        return render(shown, book, numbered=self.is_asked_to_cite, marked=self.marked)

    def _prompt(
        self, text: str, *, is_whole: bool = False, must_answer: bool = False
    ) -> Prompt:
        """The prompt of the answer from this text. `is_whole`: it is the whole book."""
        if self.marked:
            selection = prompts.load("opening_selection")
            opening = selection.fill(begin=self.marked.begin, end=self.marked.end)
        elif self.is_spread:
            opening = prompts.load("opening_spread").text
            if self.memory.bound_share < 1:
                opening = f"{opening} {prompts.load('reads_on').text}"
        else:
            opening = self.opening(is_whole=is_whole)
        return self.answer_prompt(
            "answer_passages", must_answer=must_answer, text=text, opening=opening
        )


def _others(places: Sequence[Passage], excluded: Sequence[Passage]) -> list[Passage]:
    """The places that overlap with none of the excluded ones."""
    return [place for place in places if not overlaps(excluded, place)]


async def fit_beginning(
    place: Passage, book: Book, fits: Callable[[Passage], Awaitable[bool]]
) -> Passage | None:
    """The longest beginning of a passage that fits, in whole sentences or words if possible.

    None if nothing fits.
    """
    start, end = place
    fitting, too_long = start, end
    while too_long - fitting > 1:
        middle = (fitting + too_long) // 2
        if await fits((start, middle)):
            fitting = middle
        else:
            too_long = middle
    beginning = book.text[start:fitting]
    sentences = list(sentence_spans(beginning))
    if len(sentences) > 1:
        # The last sentence may be cut.
        _, cut = sentences[-2]
    else:
        cut = max(beginning.rfind(" "), beginning.rfind("\n"))
    if cut > 0:
        beginning = beginning[:cut]
    if not beginning.strip():
        return None
    return start, start + len(beginning)


def setting_of(memory: GistMemory, place: Passage) -> str:
    """The chapter of a place, who tells it, and what the page before told. Begins with a space.

    Call it in a thread.
    """
    start, end = place
    book = memory.book
    chapter = book.chapters[book.chapter_index(start)]
    previous_gist = ""
    for entry in reversed(memory.entries):
        if chapter.start <= entry.page.start and entry.page.end <= start:
            previous_gist = entry.gist.text
            break
    return setting(book, start, end, previous_gist)


def places_of(memory: GistMemory, numbers: set[int]) -> list[Passage]:
    """The text of the sections with these numbers."""
    return Sections(memory).places_of(numbers)


async def chunks_to_read(asking: Asking, most_tokens: int) -> list[Passage]:
    """The story in chunks of whole passages, without the sections that the user refused."""
    memory = asking.memory
    refused = places_of(memory, asking.steering.refused)
    chunks: list[Passage] = []
    for start, end in without(story_of(memory.book), refused):
        chunks += await split_into_chunks(
            memory.book, most_tokens, asking.engine.count, start, end
        )
    return chunks


def share_of(place: Passage, shown: Sequence[Passage]) -> float:
    """The share of a place that the shown passages cover, from 0 to 1."""
    start, end = place
    covered = 0
    for shown_start, shown_end in shown:
        covered += max(0, min(end, shown_end) - max(start, shown_start))
    return covered / max(1, end - start)


def opening_event(
    number: int, place: Passage, shown: Sequence[Passage], by: events.OpenedBy
) -> events.Expanded | events.Unfit:
    """The event for a page that was asked for: shown in full, or too long."""
    share = share_of(place, shown)
    if share == 1.0:
        return events.Expanded(number, by)
    return events.Unfit(number, share)
