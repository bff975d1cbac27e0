"""Short answers of an unreliable model: each of the nearest passages is asked alone, and the surest
fitting one counts.

A small model that is shown the passages together often answers from the wrong one. Asked over each
of them, the right answer is among its answers twice as often. Number, size and weights were chosen
on questions about eight novels (`research/training/README.md`).
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass

from gistread.book.model import Book
from gistread.engine.protocol import Sampling
from gistread.memory.passages import Passage, sentence_at
from gistread.readers.answering import Asking, says_not_found
from gistread.readers.phrases import pattern
from gistread.readers.thread import without_options
from gistread.search.tokens import stop_words
from gistread.words import WORD

MOST_PASSAGES = 5
SHORTLIST_TOKENS = 1_800
"""Enough for so many passages of about 220 words."""
LONG_BOOK_PASSAGES = 150
"""From about 12,000 words on, most of the passages that share words with a question do not answer
it.
"""
_ANSWER_TOKENS = 40
_AROUND = 350  # Characters before and after a passage: they tell who "he" is
_RANK_WEIGHT = 0.1  # Of each place further down the list of passages
_SHARE_WEIGHT = 0.1  # Of words that another answer shares
_LONG_ANSWER_WORDS = 12
_NAME = re.compile(r"\b[A-Z][a-zà-ÿ’']+")


@dataclass(frozen=True, slots=True)
class Vote:
    """What the model answers from one passage."""

    passage: Passage
    answer: str
    log_probability: float = 0.0  # Mean of the answer's tokens


def asks_for_a_fact(question: str) -> bool:
    """Whether a few words answer a question, so that passages can be compared by their answers."""
    return bool(pattern("asks_for_a_fact").match(question.strip()))


def with_surroundings(passages: Sequence[Passage], book: Book) -> list[Passage]:
    """The first passages, each with the sentences around it, without those that lie in an earlier
    one.
    """
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
    question, book = without_options(asking.question), asking.memory.book
    sampling = Sampling(_ANSWER_TOKENS, repeat_penalty=1.1, stop=("\n",), scored=True)
    texts = [book.text[start:end].strip() for start, end in passages]
    prompts = [
        asking.answer_prompt("answer_passages", text=text, question=question) for text in texts
    ]
    said = await asyncio.gather(*(asking.complete_scored(prompt, sampling) for prompt in prompts))
    votes = [
        Vote(passage, " ".join(one.text.split()), one.log_probability or 0.0)
        for passage, one in zip(passages, said, strict=True)
    ]
    told = [vote for vote in votes if vote.answer and not says_not_found(vote.answer)]
    return choose(question, told)


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
