"""A question as the prompt has it: after earlier questions and answers, before its options."""

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
    if options and not _can_be_chosen_from(options):
        raise UsageError(
            "--choice needs at least two different options.",
            f"Give 2 to {len(LETTERS)}, none of them empty.",
        )
    lines += [
        f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=False)
    ]
    return "\n".join(lines)


def _can_be_chosen_from(options: Sequence[str]) -> bool:
    """Whether there are at least two options, all different and none empty."""
    has_number_for_letters = 2 <= len(options) <= len(LETTERS)
    are_different = len(set(options)) == len(options)
    return has_number_for_letters and are_different and all(options)


def without_options(question: str) -> str:
    """Remove the options from a question, and the earlier questions before it."""
    _, _, last_question = question.rpartition("\nQuestion: ")
    first_line, _, _ = last_question.partition("\n")
    return first_line


@dataclass(frozen=True, slots=True)
class _Limits:
    """How much of a thread the prompt repeats before a question."""

    words: int
    exchanges: int | None = None  # None: as many as fit
    answer_words: int | None = None  # Of each answer


_USUAL = _Limits(words=240)
# For an unreliable model, which a longer thread misleads. A follow-up evaluates only 15% of its
# prompt.
_SHORT = _Limits(words=50, exchanges=1, answer_words=20)
# A thread takes at most this share of the window.
_WINDOW_SHARE = 1 / 16
_TOKENS_PER_WORD = 2  # A high estimate
_RETRIEVED = 2  # Exchanges that help to find passages

_BARE_WORDS = 2  # Most words of a follow-up such as "Why?" or "How so?"


@dataclass(frozen=True, slots=True)
class QuestionAnswer:
    """A question of a thread and its answer, to which a follow-up may refer."""

    question: str
    answer: str
    upto: int | None = None  # The spoiler bound of the answer; None for the whole book
    # Places of the book in the prompt of the answer
    seen: tuple[tuple[int, int], ...] = ()


Thread = tuple[QuestionAnswer, ...]  # The oldest first

GO_ON = "Go on."


def is_follow_up(question: str) -> bool:
    """Whether a question seems to continue the last one.

    It begins with "and", is very short, or has a pronoun before any name.
    """
    words = question.split()
    if pattern("connective").match(question) or 0 < len(words) <= _BARE_WORDS:
        return True
    there_is = pattern("there_is").match(question)
    start = there_is.end() if there_is else 0
    pronoun = pattern("pronoun").search(question, start)
    if pronoun is None:
        return False
    before_pronoun = question[: pronoun.start()]
    return not pattern("antecedent").search(before_pronoun)


@dataclass(frozen=True, slots=True)
class BegunAnswer:
    """An answer that was cut off and is to be continued."""

    question: str
    text: str  # Without references
    before: Thread  # The exchanges before its question


def begun_answer(question: str, thread: Sequence[QuestionAnswer]) -> BegunAnswer | None:
    """The last answer of a thread, if the question asks to continue it.

    >>> begun_answer("Go on.", [QuestionAnswer("List the wines.", "Port [1]\\nSherry")]).text
    'Port\\nSherry'
    """
    if not pattern("asks_to_go_on").fullmatch(question):
        return None
    # The answer may have been continued before: its first piece is that of another question.
    pieces: list[str] = []
    for index in reversed(range(len(thread))):
        exchange = thread[index]
        pieces.insert(0, without_references(exchange.answer))
        if not pattern("asks_to_go_on").fullmatch(exchange.question):
            before = tuple(thread[:index])
            return BegunAnswer(exchange.question, "\n".join(pieces), before)
    return None


def without_references(answer: str) -> str:
    """An answer without its references to sources, such as `[2]`."""
    return _CITED.sub("", answer)


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
    words_in_window = int(window_tokens * _WINDOW_SHARE / _TOKENS_PER_WORD)
    room = min(limits.words, words_in_window)
    shown: list[str] = []
    for exchange in islice(reversed(thread), limits.exchanges):
        question_words = exchange.question.split()
        answer_words = without_references(exchange.answer).split()
        room -= len(question_words)
        # Only the last answer may be cut.
        if room <= 0 or (shown and room < len(answer_words)):
            break
        shown_words = answer_words[:room][: limits.answer_words]
        room -= len(answer_words)  # An answer that is cut leaves no room.
        if len(shown_words) < len(answer_words):
            shown_words.append("…")
        earlier_question, answer = " ".join(question_words), " ".join(shown_words)
        shown.insert(0, f"{earlier_question}\nAnswer: {answer}")
    return "\nQuestion: ".join([*shown, question])


def retrieval_context(thread: Sequence[QuestionAnswer]) -> str:
    """The text of the last exchanges, for names that a follow-up leaves out."""
    return " ".join(
        f"{without_options(exchange.question)} {exchange.answer}"
        for exchange in thread[-_RETRIEVED:]
    )
