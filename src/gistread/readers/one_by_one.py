"""A short answer from each of the nearest passages alone; the surest that fits the question counts.

A small model that is shown the passages together often answers from the wrong one. Asked over each
of them, the right answer is among its answers more often (`docs/methods.md`). The answers of other
passages are kept as rivals.
"""

import asyncio
import re
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from itertools import islice

from gistread import prompts
from gistread.book.model import Book
from gistread.engine.protocol import Sampling
from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage, sentence_at
from gistread.readers import events
from gistread.readers.answering import Asking, says_not_found
from gistread.readers.book_text import BookText, overlaps, share_of
from gistread.readers.citations import cite
from gistread.readers.events import ReaderEvents
from gistread.readers.gistread import gistread, pages_in, without_invention
from gistread.readers.phrases import pattern
from gistread.readers.ranking import rank
from gistread.readers.thread import without_options
from gistread.search.tokens import stop_words
from gistread.store.model import Citation
from gistread.words import WORD

NAME = "one-by-one"
MOST_PASSAGES = 5
LEAST_TOKENS = 1_800  # Enough for so many passages of about 220 words
_ANSWER_TOKENS = 40
_AROUND = 350  # Characters before and after a passage: they tell who "he" is
_RANK_WEIGHT = 0.1  # Of each place further down the list of passages
_SHARE_WEIGHT = 0.1  # Of words that another answer shares
_LONG_ANSWER_WORDS = 12
_NAME = re.compile(r"\b[A-Z][a-zà-ÿ’']+")
# Sources of an answer from one passage: its own, then those of what other passages answer
_MOST_SOURCES = 4


@dataclass(frozen=True, slots=True)
class Vote:
    """What the model answers from one passage."""

    passage: Passage
    answer: str
    log_probability: float = 0.0  # Mean of the answer's tokens


async def one_by_one(asking: Asking) -> ReaderEvents:
    """Ask over each near passage alone; over them together if none tells an answer.

    Options to choose from, and questions that share no word with the book, are for `gistread`.
    """
    model = replace(asking.options.model, cites=False)
    asking = replace(asking, options=replace(asking.options, model=model))
    text = BookText.of(asking, NAME)
    memory = asking.memory
    options = asking.options
    question = without_options(text.question)
    ranked = await asyncio.to_thread(rank, question, memory, options.choices, options.thread)
    if options.choices or not ranked.has_matches:
        async with aclosing(gistread(asking)) as stream:
            async for event in stream:
                yield event
        return
    wide = with_surroundings(ranked.passages, memory.book)
    async for proposed in text.select(wide, LEAST_TOKENS, most=MOST_PASSAGES):
        yield proposed
    shown = tuple(text.shown)
    pages = tuple(pages_in(shown, ranked, memory, set())[: options.max_pages])
    yield text.started(shown)
    for step, number in enumerate(pages, 1):
        yield events.LookedUp(number, step, "")
        yield events.Expanded(number, events.OpenedBy.AGENT)
    yield events.Shown(shown)
    near = [place for place in wide if share_of(place, shown) == 1.0]
    pinned = [place for place in ranked.passages if overlaps(shown, place)]
    near += [place for place in pinned if not overlaps(near, place)]
    votes = await ask_each(text, near)
    yield events.Stopped(events.StopReason.WINDOW)
    if votes:
        answered = _answer(votes, shown, pages, text)
    else:
        together = await text.fit(near, options.model.passage_tokens)
        answered = text.answer(together, pages, pages)
    async with aclosing(answered) as stream:
        async for event in stream:
            yield event


async def _answer(
    votes: Sequence[Vote], shown: tuple[Passage, ...], pages: tuple[int, ...], text: BookText
) -> ReaderEvents:
    """The answer of the first vote, with the others as rivals."""
    question = without_options(text.question)
    yield events.AnswerDelta(votes[0].answer)
    answered = events.Answered(
        answer=votes[0].answer,
        citations=_sources_of(votes, question, text.memory),
        lookups=pages,
        expanded=tuple(sorted(pages)),
        compression_rate=100.0 * (1 - text.share(shown)),
        usage=text.usage,
        seen=shown,
    )
    yield await asyncio.to_thread(without_invention, answered, text)


def _sources_of(votes: Sequence[Vote], question: str, memory: GistMemory) -> tuple[Citation, ...]:
    """The source of the first answer, then those of rivals, which say their own answer."""
    sources: dict[Passage, Citation] = {}
    for vote in votes:
        agrees = agree(question, votes[0].answer, vote.answer)
        rival = "" if agrees else vote.answer
        for source in cite(vote.answer, question, memory, (vote.passage,))[:1]:
            sources.setdefault((source.start, source.end), replace(source, tells=rival))
    return tuple(islice(sources.values(), _MOST_SOURCES))


def with_surroundings(passages: Sequence[Passage], book: Book) -> list[Passage]:
    """The first passages with the sentences around them; none lies in an earlier one."""
    wide: list[Passage] = []
    for start, end in passages:
        if len(wide) == 2 * MOST_PASSAGES:  # Some may be refused.
            break
        if not any(since <= start and end <= until for since, until in wide):
            last = min(len(book.text) - 1, end + _AROUND)
            wide.append((sentence_at(book, max(0, start - _AROUND))[0], sentence_at(book, last)[1]))
    return wide


async def ask_each(asking: Asking, passages: Sequence[Passage]) -> tuple[Vote, ...]:
    """Ask over each of the passages, nearest first: the votes of `choose`. Raises EngineError."""
    votes = await asyncio.gather(*(_ask(asking, passage) for passage in passages))
    return choose(without_options(asking.question), [vote for vote in votes if vote is not None])


async def _ask(asking: Asking, passage: Passage) -> Vote | None:
    """The answer from one passage; None if it tells none."""
    text = asking.memory.book.text[slice(*passage)].strip()
    opening = prompts.load("opening_part").text
    prompt = asking.answer_prompt("answer_passages", text=text, opening=opening)
    sampling = Sampling(_ANSWER_TOKENS, repeat_penalty=1.1, stop=("\n",), scored=True)
    completion = await asking.complete_scored(prompt, sampling)
    answer = " ".join(completion.text.split())
    if not answer or says_not_found(answer):
        return None
    return Vote(passage, answer, completion.log_probability or 0.0)


def choose(question: str, votes: Sequence[Vote]) -> tuple[Vote, ...]:
    """The votes, best first; those that share words with the best come before the others.

    An answer gains by being of the kind asked for, by its probability, by the rank of its passage,
    and by words that other answers share.
    """
    asked = _words(question)
    told = [_words(vote.answer) - asked for vote in votes]

    def score(at: int) -> float:
        own = told[at]
        shared = sum(
            len(own & other) / max(1, len(own)) for index, other in enumerate(told) if index != at
        )
        fit = _fitness(question, votes[at].answer, own) + votes[at].log_probability
        return fit + _SHARE_WEIGHT * shared - _RANK_WEIGHT * at

    ranked = sorted(range(len(votes)), key=score, reverse=True)
    return tuple(
        votes[at]
        for at in sorted(ranked, key=lambda at: not (at == ranked[0] or told[at] & told[ranked[0]]))
    )


def agree(question: str, answer: str, other: str) -> bool:
    """Whether one answer only says more than the other: `Captain Hoseason` and `Hoseason`."""
    known = _words(question) | stop_words()["en"]
    own, others = _words(answer) - known, _words(other) - known
    return bool(own) == bool(others) and (own <= others or others <= own)


def _fitness(question: str, answer: str, told: frozenset[str]) -> float:
    """How well an answer is of the kind that the question asks for."""
    usual = stop_words()["en"]
    fit = 0.0 if told - usual else -2.0
    if pattern("asks_for_a_name").match(question):
        names = {name.casefold() for name in _NAME.findall(answer)} - usual
        fit += 1.0 if any(name not in question.casefold() for name in names) else -1.0
    elif pattern("asks_for_a_number").match(question):
        fit += 1.0 if pattern("a_number").search(answer) else -1.0
    return fit - 0.3 * (len(answer.split()) > _LONG_ANSWER_WORDS)


def _words(text: str) -> frozenset[str]:
    """Words of three letters or more and numbers, without the ending of a genitive."""
    words = (word[0].casefold() for word in WORD.finditer(text))
    return frozenset(
        re.sub("['’]s$", "", word) for word in words if len(word) > 2 or word.isdigit()
    )
