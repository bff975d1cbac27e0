"""Recognizes answers which say that the book does not tell what is asked.

Regular expressions match the common forms. A model that can choose an option is asked about other
statements that have a word of negation or lack.
"""

import contextlib
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice
from pathlib import Path

from gistread import prompts
from gistread.engine.protocol import NO_USAGE, Engine, Message, Usage, choose_or
from gistread.errors import EngineError
from gistread.readers.evidence import statement_spans
from gistread.readers.phrases import pattern
from gistread.readers.thread import REFERENCE

_SAME_PHRASE = 0.85  # Least similarity (`difflib`) to such a phrase
# "The book does not say", in the languages of books
_AGREED_PHRASES = (
    Path(__file__).with_name("not_found.txt").read_text("utf-8").splitlines()
)
_MOST_ASKED = 3  # Statements of one answer
_YES_OR_NO = ("yes", "no")
_REFERENCES = re.compile(rf"\s*{REFERENCE.pattern}")  # Behind a statement
# Between the parts of a statement: "; ", ", but "
_PIECE = re.compile(
    r"[;—]\s|,?\s(?:but|aber|sondern|mais|pero|sino|ma|mas|maar|ale|но)\s"
)


def says_not_found(answer: str) -> bool:
    """Whether an answer begins with "the book does not say", also in other languages.

    An explanation may follow.
    """
    if pattern("does_not_say").match(answer):
        return True
    beginning, *_ = re.split(r"[.!?。！？;:]", answer, maxsplit=1)
    return says_only_not_found(beginning)


def says_only_not_found(answer: str) -> bool:
    """Whether an answer is the agreed phrase alone, without an explanation."""
    plain = re.sub(r"[^\w\s]", "", answer).casefold().strip()
    return any(
        SequenceMatcher(None, plain, known).ratio() > _SAME_PHRASE
        for known in _AGREED_PHRASES
    )


def may_say_not_found(text: str) -> bool:
    """Whether a text has a word of negation or lack, in one of nine languages.

    >>> may_say_not_found("The dog remains nameless."), may_say_not_found("He has a dog.")
    (True, False)
    """
    return bool(pattern("negation").search(text) or pattern("lack").search(text))


def is_bare_no(text: str) -> bool:
    return bool(pattern("is_bare_no").fullmatch(text))


@dataclass(frozen=True, slots=True)
class Absence:
    """The statements of an answer that a model takes for "the book does not tell"."""

    statements: tuple[str, ...] = ()
    usage: Usage = NO_USAGE

    def begins(self, answer: str) -> bool:
        """Whether the answer begins with such a statement, perhaps after a bare "No."."""
        if says_not_found(answer):
            return True
        for start, end in statement_spans(answer):
            statement = answer[start:end]
            if not is_bare_no(statement):
                return statement in self.statements
        return False

    def is_all_of(self, answer: str) -> bool:
        """Whether the answer begins with such a statement, and cites nothing for all others.

        >>> Absence().is_all_of("The book does not say who he was. He came by sea. [2]")
        False
        """
        if not self.begins(answer):
            return False
        for start, end in statement_spans(answer):
            tells = bool(told_part(answer[start:end], self.statements))
            if tells and _is_cited(answer, start, end):
                return False
        return True


NO_ABSENCE = Absence()


async def judged_absence(question: str, answer: str, engine: Engine) -> Absence:
    """What the model takes for "the book does not tell" in an answer; nothing if it fails."""
    absent: list[str] = []
    usage = NO_USAGE
    # If the model fails here, the answer is still good.
    with contextlib.suppress(EngineError):
        for statement in islice(_undecided(answer), _MOST_ASKED):
            filled = prompts.load("absence").fill(question=question, answer=statement)
            prompt = (Message("user", filled),)
            # A reply that is neither option counts as no.
            choice = await choose_or(engine, prompt, _YES_OR_NO, 1)
            usage += choice.usage
            if choice.index == 0:
                absent.append(statement)
    return Absence(tuple(absent), usage)


def _undecided(answer: str) -> Iterator[str]:
    """The statements that may say "not found", cite nothing, and need the model to decide."""
    for start, end in statement_spans(answer):
        statement = answer[start:end]
        if _is_cited(answer, start, end) or not may_say_not_found(statement):
            continue
        is_decided_by_form = says_not_found(statement) or is_bare_no(statement)
        if not is_decided_by_form:
            yield statement


def _is_cited(answer: str, start: int, end: int) -> bool:
    """Whether a statement has the number of a passage, in it or behind its full stop."""
    return bool(REFERENCE.search(answer, start, end) or _REFERENCES.match(answer, end))


def told_part(answer: str, absent: Collection[str] = ()) -> str:
    """What the answer says besides "the book does not tell".

    `absent`: statements that the model takes for "the book does not tell".

    >>> told_part("The book does not say who he was; he came by sea. He had a dog.")
    'he came by sea. He had a dog.'
    """
    parts: list[str] = []
    for start, end in statement_spans(answer):
        statement = answer[start:end]
        # The first piece of such a statement says that the book does not tell.
        if statement in absent:
            _, *further = _PIECE.split(statement)
            parts += [piece for piece in further if not may_say_not_found(piece)]
        elif says_not_found(statement):
            _, *further = _PIECE.split(statement)
            parts += [piece for piece in further if not says_not_found(piece)]
        else:
            parts.append(statement)
    if all(map(is_bare_no, parts)):
        return ""
    return " ".join(parts)
