"""A question as the model is asked it.

Earlier questions and answers before it, the options to choose from after it.
"""

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from gistread.errors import UsageError
from gistread.readers.phrases import pattern

LETTERS = string.ascii_uppercase
REFERENCE = re.compile(r"\[(\d+)\]")  # In an answer, to its first, second … citation


_CITED = re.compile(r" ?\[\d+\]")  # A reference with the space before it


def with_options(question: str, choices: Sequence[str]) -> str:
    """The question on one line, followed by each option on its own.

    Raises UsageError for invalid options.
    """
    lines = [" ".join(question.split())]
    options = [" ".join(choice.split()) for choice in choices]
    if options and not (
        2 <= len(options) <= len(LETTERS)
        and all(options)
        and len(set(options)) == len(options)
    ):
        raise UsageError(
            "--choice needs at least two different options.",
            f"Give 2 to {len(LETTERS)}, none of them empty.",
        )
    lines += [
        f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=False)
    ]
    return "\n".join(lines)


def without_options(question: str) -> str:
    """Remove the options from a question, and the earlier questions before it (`thread.py`)."""
    return question.rpartition("\nQuestion: ")[2].partition("\n")[0]


@dataclass(frozen=True, slots=True)
class _Limits:
    """How much of a thread stands before a question."""

    words: int
    exchanges: int | None = None  # None: as many as fit
    answer_words: int | None = None  # Of each answer


_USUAL = _Limits(words=240)
# For an unreliable model, which a longer thread misleads. A follow-up evaluates only 15% of its
# prompt.
_SHORT = _Limits(words=50, exchanges=1, answer_words=20)
# Largest share of the window that a thread takes, counting two tokens a word
_WINDOW_SHARE = 1 / 16
_RETRIEVED = 2  # Exchanges that help to find passages

_BARE_WORDS = 2  # "Why?", "How so?"


@dataclass(frozen=True, slots=True)
class QuestionAnswer:
    """A question of a thread and its answer, which a follow-up goes on from."""

    question: str
    answer: str
    upto: int | None = None  # The spoiler bound of the answer; None for the whole book
    # Places of the book in the prompt of the answer
    seen: tuple[tuple[int, int], ...] = ()


Thread = tuple[QuestionAnswer, ...]  # The oldest first

GO_ON = "Go on."


def is_follow_up(question: str) -> bool:
    """Whether a question seems to continue the last one.

    It begins with "and", or a pronoun precedes any name.
    """
    words = question.split()
    if pattern("connective").match(question) or 0 < len(words) <= _BARE_WORDS:
        return True
    there_is = pattern("there_is").match(question)
    pronoun = pattern("pronoun").search(question, there_is.end() if there_is else 0)
    return pronoun is not None and not pattern("antecedent").search(
        question[: pronoun.start()]
    )


@dataclass(frozen=True, slots=True)
class BegunAnswer:
    """An answer to go on with."""

    question: str
    text: str  # Without references
    before: Thread  # The exchanges before its question


def begun_answer(question: str, thread: Sequence[QuestionAnswer]) -> BegunAnswer | None:
    """The last answer of a thread, if the question asks to go on with it.

    >>> begun_answer("Go on.", [QuestionAnswer("List the wines.", "Port [1]\\nSherry")]).text
    'Port\\nSherry'
    """
    if not pattern("asks_to_go_on").fullmatch(question):
        return None
    pieces: list[str] = []
    for at, exchange in reversed(list(enumerate(thread))):
        pieces.insert(0, _CITED.sub("", exchange.answer))
        if not pattern("asks_to_go_on").fullmatch(exchange.question):
            return BegunAnswer(exchange.question, "\n".join(pieces), tuple(thread[:at]))
    return None


def within_bound(thread: Sequence[QuestionAnswer], upto: int | None) -> Thread:
    """The exchanges that used no text past the spoiler bound `upto`."""
    if upto is None:
        return tuple(thread)
    return tuple(
        exchange
        for exchange in thread
        if exchange.upto is not None and exchange.upto <= upto
    )


def with_thread(
    question: str, thread: Sequence[QuestionAnswer], window_tokens: int, *, short: bool
) -> str:
    """Put as many of the last exchanges as fit before the question.

    `without_options` removes these lines.
    """
    limits = _SHORT if short else _USUAL
    room = min(limits.words, int(window_tokens * _WINDOW_SHARE / 2))
    shown: list[str] = []
    for exchange in islice(reversed(thread), limits.exchanges):
        words_asked = exchange.question.split()
        answer = _CITED.sub("", exchange.answer).split()
        room -= len(words_asked)
        if room <= 0 or (shown and room < len(answer)):
            break
        begun = answer[:room][: limits.answer_words]
        room -= len(answer)
        if len(begun) < len(answer):
            begun.append("…")
        shown.insert(0, f"{' '.join(words_asked)}\nAnswer: {' '.join(begun)}")
    return "\nQuestion: ".join([*shown, question])


def retrieval_context(thread: Sequence[QuestionAnswer]) -> str:
    """The text of the last exchanges, for names that a follow-up leaves out."""
    return " ".join(
        f"{without_options(exchange.question)} {exchange.answer}"
        for exchange in thread[-_RETRIEVED:]
    )
