"""Which of several short answers to one question counts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gistread.memory.passages import Passage
from gistread.readers.phrases import pattern
from gistread.search.tokens import stop_words
from gistread.word_patterns import folded_words

_RANK_WEIGHT = 0.1  # Of each place further down the list of passages
_SHARE_WEIGHT = 0.1  # Of words that another answer shares
_NOTHING_NEW = 2.0  # Taken from an answer that only repeats the question
_KIND_WEIGHT = 1.0  # Of an answer of the kind asked for
_LONG_ANSWER_WORDS = 12
_LENGTH_WEIGHT = 0.3  # Taken from an answer of more words
_NAME = re.compile(r"\b[A-Z][a-zà-ÿ’']+")


@dataclass(frozen=True, slots=True)
class Vote:
    """What the model answers from one passage."""

    passage: Passage
    answer: str
    log_probability: float = 0.0  # Mean of the answer's tokens


def choose(question: str, votes: Sequence[Vote]) -> tuple[Vote, ...]:
    """The votes, best first; those that share words with the best come before the others.

    An answer gains by being of the kind asked for, by its probability, by the rank of its passage,
    and by words that other answers share.
    """
    of_question = _words(question)
    words = [_words(vote.answer) - of_question for vote in votes]

    def score(at: int) -> float:
        own = words[at]
        shared = sum(
            len(own & other) / max(1, len(own))
            for index, other in enumerate(words)
            if index != at
        )
        fit = _fitness(question, votes[at].answer, own) + votes[at].log_probability
        return fit + _SHARE_WEIGHT * shared - _RANK_WEIGHT * at

    ranked = sorted(range(len(votes)), key=score, reverse=True)
    best = ranked[:1]
    agreeing = [at for at in ranked[1:] if words[at] & words[best[0]]]
    others = [at for at in ranked[1:] if at not in agreeing]
    return tuple(votes[at] for at in (*best, *agreeing, *others))


def agree(question: str, answer: str, other: str) -> bool:
    """Whether one answer only says more than the other: `Captain Hoseason` and `Hoseason`."""
    known = _words(question) | stop_words()["en"]
    own, others = _words(answer) - known, _words(other) - known
    return bool(own) == bool(others) and (own <= others or others <= own)


def _fitness(question: str, answer: str, new: frozenset[str]) -> float:
    """How well an answer is of the kind that the question asks for. `new`: its own words."""
    usual = stop_words()["en"]
    fit = 0.0
    if not new - usual:
        fit -= _NOTHING_NEW
    if pattern("asks_for_a_name").match(question):
        names = {name.casefold() for name in _NAME.findall(answer)} - usual
        names_somebody = any(name not in question.casefold() for name in names)
        fit += _KIND_WEIGHT if names_somebody else -_KIND_WEIGHT
    elif pattern("asks_for_a_number").match(question):
        has_number = pattern("a_number").search(answer)
        fit += _KIND_WEIGHT if has_number else -_KIND_WEIGHT
    if len(answer.split()) > _LONG_ANSWER_WORDS:
        fit -= _LENGTH_WEIGHT
    return fit


def _words(text: str) -> frozenset[str]:
    """Words of three letters or more and numbers, without the ending of a genitive."""
    words = folded_words(text)
    return frozenset(
        re.sub("['’]s$", "", word) for word in words if len(word) > 2 or word.isdigit()
    )
