"""Asks for a short answer from each of the nearest passages alone, and picks the best.

A small model that is shown the passages together often answers from the wrong one. If it is asked
about each of them, the right answer is among its answers more often (`docs/methods.md`). The
answers from other passages are kept as rivals. A model that can abstain is asked once more whether
the passage tells the chosen answer; if not, the next passages are read.
"""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from itertools import islice

from gistread import prompts
from gistread.book.model import Book
from gistread.engine.protocol import Prompt, Sampling
from gistread.errors import NoChoiceError
from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage, overlaps, sentence_at
from gistread.readers import events
from gistread.readers.absence import says_not_found
from gistread.readers.answering import SHORT_TOKENS, Asking
from gistread.readers.book_text import BookText, share_of
from gistread.readers.citations import cite
from gistread.readers.cost import readable_tokens
from gistread.readers.events import ReaderEvents
from gistread.readers.gistread import gistread, pages_in, without_invention
from gistread.readers.kinds import Kind, kind_of
from gistread.readers.ranking import Ranked, rank
from gistread.readers.thread import without_options
from gistread.readers.voting import Vote, agree, choose
from gistread.store.model import Citation

NAME = "one-by-one"
_PASSAGE_TOKENS = 360  # Enough for a passage of about 220 words
_MOST_WIDE = 20  # Passages that are widened; in each look some may be refused
_LEAST_TOKENS = 700  # Of about two passages, however slow the model is
_LOOKS = 2  # The nearest passages, then the next if these do not tell
_AROUND = 350  # Characters before and after a passage: they tell who "he" is
# Least probability of an answer against "The book does not say."
_LEAST_PROBABILITY = 0.25
_SAMPLING = Sampling(SHORT_TOKENS, repeat_penalty=1.1, stop=("\n",), scored=True)
# Sources of an answer from one passage: its own, then those of what other passages answer
_MOST_SOURCES = 4


async def one_by_one(asking: Asking) -> ReaderEvents:
    """Ask about each near passage alone; about them together if none tells an answer.

    `gistread` answers multiple-choice questions, and those that share no word with the book.
    """
    # Answers from single passages have no numbers to cite.
    model = replace(asking.options.model, cites=False)
    asking = replace(asking, options=replace(asking.options, model=model))
    memory = asking.memory
    options = asking.options
    question = without_options(asking.question)
    ranked = await asyncio.to_thread(
        rank, question, memory, options.choices, options.thread
    )
    if options.choices or not ranked.has_matches:
        answered = gistread(asking)
    else:
        wide = with_surroundings(ranked.passages, memory.book)
        answered = _Search(BookText.of(asking, NAME), ranked, wide).answer()
    async with aclosing(answered) as stream:
        async for event in stream:
            yield event


@dataclass(slots=True)
class _Search:
    """The passages asked for one question, in one or two looks, and their votes."""

    text: BookText
    ranked: Ranked
    wide: Sequence[Passage]  # The nearest passages with their surroundings
    seen: list[Passage] = field(default_factory=list)
    near: list[Passage] = field(default_factory=list)  # The passages of the last look
    pages: list[int] = field(default_factory=list)  # Pages reported as open
    votes: tuple[Vote, ...] = ()  # Best first

    async def answer(self) -> ReaderEvents:
        """Look at passages until they tell an answer, then answer from the votes."""
        is_told = False
        looks = _LOOKS if self._may_abstain else 1
        for look in range(looks):
            async with aclosing(self._look(is_first=look == 0)) as stream:
                async for event in stream:
                    yield event
            is_told = await self._is_told()
            if is_told or self.text.steering.stop or not self.near:
                break
        yield events.Stopped(events.StopReason.WINDOW)
        async with aclosing(self._answered(is_told=is_told)) as stream:
            async for event in stream:
                yield event

    @property
    def _may_abstain(self) -> bool:
        """Whether to ask the model if it is sure: only for facts, and if it can abstain."""
        model = self.text.options.model
        is_fact = kind_of(self.text.question) is Kind.FACT
        return is_fact and model.abstains and model.is_believed

    async def _look(self, *, is_first: bool) -> ReaderEvents:
        """Show the nearest passages that were not seen, and ask about each."""
        text = self.text
        unseen = [place for place in self.wide if not overlaps(self.seen, place)]
        most = text.options.model.passages
        async for proposed in text.select(unseen, budget_of(text), most=most):
            yield proposed
        shown = [place for place in text.shown if not overlaps(self.seen, place)]
        self.seen += shown
        if is_first:
            yield text.started(shown)
        new = self._new_pages()
        reasons = await asyncio.to_thread(text.why_shown, new)
        for number in new:
            self.pages.append(number)
            yield events.LookedUp(number, len(self.pages), reasons[number])
            yield events.Expanded(number, events.OpenedBy.AGENT)
        yield await asyncio.to_thread(text.shown_event, sorted(self.seen))
        self.near = self._asked_in(shown)
        votes = await ask_each(text, self.near)
        self.votes = choose(without_options(text.question), [*self.votes, *votes])

    def _new_pages(self) -> list[int]:
        """The pages of the shown passages to report as opened."""
        new = pages_in(self.text.shown, self.ranked, self.text.memory, set(self.pages))
        return new[: self.text.options.max_pages - len(self.pages)]

    def _asked_in(self, shown: Sequence[Passage]) -> list[Passage]:
        """The places to ask about: wide passages shown in full, and what the user pinned."""
        near = [place for place in self.wide if share_of(place, shown) == 1.0]
        pinned = [
            place
            for place in self.ranked.passages
            if overlaps(shown, place) and not overlaps(near, place)
        ]
        return near + pinned

    async def _is_told(self) -> bool:
        """Whether the model, free to abstain, still gives the chosen answer from its passage."""
        if not self.votes:
            return False
        if not self._may_abstain:
            return True
        vote = self.votes[0]
        not_told = prompts.load("not_told").text
        prompt = _prompt(self.text, vote.passage, must_answer=False)
        try:
            choice = await self.text.engine.choose(prompt, [vote.answer, not_told])
        except NoChoiceError:
            return True  # The model does not object.
        self.text.usage += choice.usage
        chooses_answer = choice.index == 0
        if choice.probability is None:
            return chooses_answer
        probability = choice.probability if chooses_answer else 1 - choice.probability
        return probability >= _LEAST_PROBABILITY

    async def _answered(self, *, is_told: bool) -> ReaderEvents:
        """The answer from the votes; without any, from the last passages together."""
        text = self.text
        if self.votes:
            answered = self._from_votes(is_told=is_told)
        else:
            together = await text.fit(self.near, text.options.model.passage_tokens)
            answered = text.answer(together, tuple(self.pages), self.pages)
        async with aclosing(answered) as stream:
            async for event in stream:
                yield event

    async def _from_votes(self, *, is_told: bool) -> ReaderEvents:
        """The answer of the first vote, with the others as rivals; "not found" if not told."""
        text = self.text
        question = without_options(text.question)
        answer = prompts.load("not_told").text
        citations: tuple[Citation, ...] = ()
        if is_told:
            answer = self.votes[0].answer
            citations = _sources_of(self.votes, question, text.memory)
        yield events.AnswerDelta(answer)
        answered = events.Answered(
            answer=answer,
            found=is_told,
            citations=citations,
            lookups=tuple(self.pages),
            expanded=tuple(sorted(self.pages)),
            compression_rate=100.0 * (1 - text.share(self.seen)),
            usage=text.usage,
            seen=tuple(sorted(self.seen)),
        )
        yield await asyncio.to_thread(without_invention, answered, text)


def _sources_of(
    votes: Sequence[Vote], question: str, memory: GistMemory
) -> tuple[Citation, ...]:
    """The source of the best answer, then those of its rivals, each with what it answers."""
    sources: dict[Passage, Citation] = {}
    for vote in votes:
        cited = cite(vote.answer, question, memory, (vote.passage,))
        if cited:
            source, *_ = cited
            if not agree(question, votes[0].answer, vote.answer):
                source = replace(source, tells=vote.answer)
            sources.setdefault((source.start, source.end), source)
    return tuple(islice(sources.values(), _MOST_SOURCES))


def budget_of(asking: Asking) -> int:
    """Tokens of one look: what is evaluated within the time to the first word."""
    options = asking.options
    if options.budget_tokens:
        return options.budget_tokens
    readable = readable_tokens(asking.engine.info, options.first_word_s)
    most = _PASSAGE_TOKENS * options.model.passages
    return min(most, max(_LEAST_TOKENS, readable))


async def nearest_that_fit(asking: Asking, wide: Sequence[Passage]) -> list[Passage]:
    """The passages of the first look if the user names none, nearest first."""
    text = BookText.of(asking, NAME)
    shown = await text.fit(wide[: asking.options.model.passages], budget_of(asking))
    return [place for place in wide if share_of(place, shown) == 1.0]


def with_surroundings(passages: Sequence[Passage], book: Book) -> list[Passage]:
    """The first passages with the sentences around them, without those inside an earlier one."""
    wide: list[Passage] = []
    for start, end in passages:
        if len(wide) == _MOST_WIDE:
            break
        is_inside = any(
            wide_start <= start and end <= wide_end for wide_start, wide_end in wide
        )
        if is_inside:
            continue
        before = max(0, start - _AROUND)
        after = min(len(book.text) - 1, end + _AROUND)
        wide_start, _ = sentence_at(book, before)
        _, wide_end = sentence_at(book, after)
        wide.append((wide_start, wide_end))
    return wide


async def ask_each(asking: Asking, passages: Sequence[Passage]) -> list[Vote]:
    """Ask about each of the passages, nearest first. Raises EngineError."""
    votes = await asyncio.gather(*(_ask(asking, passage) for passage in passages))
    return [vote for vote in votes if vote is not None]


async def _ask(asking: Asking, passage: Passage) -> Vote | None:
    """The answer from one passage; None if it tells none."""
    must_answer = asking.options.model.is_believed
    prompt = _prompt(asking, passage, must_answer=must_answer)
    completion = await asking.complete_scored(prompt, _SAMPLING)
    answer = " ".join(completion.text.split())
    if not answer or says_not_found(answer):
        return None
    return Vote(passage, answer, completion.log_probability or 0.0)


def text_of(asking: Asking, passage: Passage) -> str:
    start, end = passage
    return asking.memory.book.text[start:end].strip()


def _prompt(asking: Asking, passage: Passage, *, must_answer: bool) -> Prompt:
    """The prompt over one passage. Facts are asked for in few words, to be comparable."""
    is_fact = kind_of(asking.question) is Kind.FACT
    return asking.answer_prompt(
        "answer_passages",
        must_answer=must_answer,
        task="task_brief" if is_fact else "",
        text=text_of(asking, passage),
        opening=prompts.load("opening_part").text,
    )
