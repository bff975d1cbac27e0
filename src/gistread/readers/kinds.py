"""The kinds of questions: how one is put to a model, and what its answer is like."""

from dataclasses import dataclass
from enum import StrEnum

from gistread.readers.phrases import pattern
from gistread.readers.thread import without_options


class Kind(StrEnum):
    """What a question asks for."""

    FACT = "fact"  # A name, a place, a number, a thing
    REASON = "reason"  # Why, or how
    STORY = "story"  # What happens, how it ends
    LIST = "list"  # All of something, a count, a comparison, a story step by step
    MEANING = "meaning"  # What a word or a passage means
    OTHER = "other"  # Anything else, and questions in languages that are not recognised


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """How a kind of question is answered."""

    task: str  # Name of the prompt with the one instruction that fits
    tokens: int  # Longest answer


_FORMS = {
    Kind.FACT: AnswerForm("task_fact", 128),
    Kind.REASON: AnswerForm("task_reason", 384),
    Kind.STORY: AnswerForm("task_story", 1024),
    Kind.LIST: AnswerForm("task_list", 1024),
    Kind.MEANING: AnswerForm("task_meaning", 384),
    Kind.OTHER: AnswerForm("task_answer", 512),
}


def kind_of(question: str) -> Kind:
    """The kind of a question. Earlier questions before it and options after it do not count.

    >>> kind_of("Who stole the gold?"), kind_of("Why did he leave?"), kind_of("List the wines.")
    (<Kind.FACT: 'fact'>, <Kind.REASON: 'reason'>, <Kind.LIST: 'list'>)
    """
    question = pattern("about_selection").sub("", without_options(question))
    if asks_for_story(question) or pattern("asks_what_happens").match(question):
        return Kind.LIST if pattern("in_steps").search(question) else Kind.STORY
    if pattern("asks_for_a_meaning").match(question):
        return Kind.MEANING
    if pattern("asks_about_all").search(question):
        return Kind.LIST
    if pattern("asks_for_a_reason").match(question):
        return Kind.REASON
    if pattern("asks_for_a_fact").match(question):
        return Kind.FACT
    return Kind.OTHER


def form_of(question: str) -> AnswerForm:
    return _FORMS[kind_of(question)]


def asks_how_all_ends(question: str) -> bool:
    """Whether a question asks how the book ends, and for nothing in particular."""
    return bool(pattern("asks_how_all_ends").fullmatch(without_options(question)))


def asks_about_edition(question: str) -> bool:
    """Whether a question asks for what an imprint tells: who published or translated the book."""
    return bool(pattern("asks_about_edition").search(without_options(question)))


def asks_for_story(question: str) -> bool:
    """Whether a question asks for the story so far, and for nothing in particular."""
    return bool(pattern("asks_for_the_story").fullmatch(without_options(question)))


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number that a question asks for, by its name in `phrases.toml`.

    A passage without a number of that kind does not tell how old somebody is, however near it is
    to the words of the question.
    """

    name: str

    def is_asked_in(self, question: str) -> bool:
        return bool(pattern(f"asks_for_quantity_{self.name}").search(question))

    def is_told_in(self, passage: str) -> bool:
        return bool(pattern(f"tells_quantity_{self.name}").search(passage))


# The first one that a question asks for counts: "how many years" is a time.
_QUANTITIES = tuple(map(Quantity, ("age", "time_span", "sum", "count")))


def quantity_asked_for(question: str) -> Quantity | None:
    """The quantity that a question asks for, if any.

    >>> quantity_asked_for("How long was he in prison?").is_told_in("After eighteen years, …")
    True
    >>> quantity_asked_for("Who was in prison?") is None
    True
    """
    for quantity in _QUANTITIES:
        if quantity.is_asked_in(question):
            return quantity
    return None
