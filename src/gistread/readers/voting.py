"""Chooses among several short answers to one question."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gistread.memory.passages import Passage
from gistread.readers.phrases import pattern
from gistread.search.tokens import stop_words
from gistread.word_patterns import folded_words

_RANK_WEIGHT = 0.1  # Subtracted for each passage that is nearer
_SHARE_WEIGHT = 0.1  # Added for words that another answer shares
_NOTHING_NEW = 2.0  # Subtracted if an answer only repeats the question
_KIND_WEIGHT = 1.0  # Added if an answer is of the kind asked for, else subtracted
_LONG_ANSWER_WORDS = 12
_LENGTH_WEIGHT = 0.3  # Subtracted if an answer has more words
_NAME = re.compile(r"\b[A-Z][a-zà-ÿ’']+")


@dataclass(frozen=True, slots=True)
class Vote:
    """What the model answers from one passage."""

    passage: Passage
    answer: str
    log_probability: float = 0.0  # Mean of the answer's tokens


def choose(question: str, votes: Sequence[Vote]) -> tuple[Vote, ...]:
    """The votes, the best first; then those that share words with it, then the others.

    An answer gains by being of the kind asked for, by its probability, by the rank of its passage,
    and by words that other answers share.
    """
    of_question = _words(question)
    words = [_words(vote.answer) - of_question for vote in votes]

    def score(index: int) -> float:
        own = words[index]
        others = words[:index] + words[index + 1 :]
        shared = sum(len(own & other) / max(1, len(own)) for other in others)
        vote = votes[index]
        fit = _fitness(question, vote.answer, own) + vote.log_probability
        return fit + _SHARE_WEIGHT * shared - _RANK_WEIGHT * index

    ranked = sorted(range(len(votes)), key=score, reverse=True)
    if not ranked:
        return ()
    best, *rest = ranked
    agreeing = [index for index in rest if words[index] & words[best]]
    others = [index for index in rest if index not in agreeing]
    return tuple(votes[index] for index in (best, *agreeing, *others))


def agree(question: str, answer: str, other: str) -> bool:
    """Whether one answer only says more than the other: `Captain Hoseason` and `Hoseason`."""
    known = _words(question) | stop_words()["en"]
    first, second = _words(answer) - known, _words(other) - known
    if not first or not second:
        return first == second
    return first <= second or second <= first


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
    words = [word for word in folded_words(text) if len(word) > 2 or word.isdigit()]
    return frozenset(re.sub("['’]s$", "", word) for word in words)
