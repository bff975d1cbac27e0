"""Chooses the method by the class of the model, the kind of question, and the time it takes.

`RULES` is the table, in one place. Its order and limits come from the measurements in
`docs/methods.md`.
"""

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace

from gistread.memory.passages import NEARLY_ALL
from gistread.readers.answering import Asking
from gistread.readers.cost import answer_work
from gistread.readers.events import ReaderEvents, Started
from gistread.readers.gistread import is_told_by_gists, text_budget
from gistread.readers.kinds import Kind, asks_for_story, asks_how_all_ends, kind_of
from gistread.readers.quoting import introductions_for, story_so_far
from gistread.readers.registry import METHODS
from gistread.readers.steering import Steering
from gistread.readers.thread import without_options
from gistread.units import format_duration

NAME = "auto"
# Longest time for reading the whole book if the user did not ask for that
_WHOLE_BOOK_S = 300.0
# The same limit if the speed of the model is unknown
_WHOLE_BOOK_TOKENS = 60_000
# From about 12,000 words on, most of the passages that share words with a question do not answer it
_LONG_BOOK_WORDS = 12_000
_WHOLE_TEXT = "the whole text: it fits the model's window"
_ROUNDED = -3  # Digits for `round`: to thousands of tokens


async def auto(asking: Asking) -> ReaderEvents:
    """Answer by the method that suits model and question."""
    name, choice = await choose_method(asking)
    async with aclosing(METHODS[name].plain_reader()(asking)) as events:
        async for event in events:
            if isinstance(event, Started):
                event = replace(event, choice=_true_of(choice, event, asking.steering))
            yield event


def _true_of(choice: str, started: Started, steering: Steering) -> str:
    """Why a method was chosen, once it is known what it shows.

    A text that fits has gaps if the user left sections out, or if its passages, counted one by
    one, have more tokens than the whole.
    """
    share = started.share_shown
    if choice != _WHOLE_TEXT or share is None or share >= NEARLY_ALL:
        return choice
    if steering.only:
        return f"the sections that you named: {share:.0%} of the text"
    if steering.refused:
        return f"the text without the sections that you left out: {share:.0%} of it"
    return f"most of the text: {share:.0%} of it"


@dataclass(frozen=True, slots=True)
class Rule:
    """A method, and when it is chosen."""

    method: str
    why: str  # For people
    applies: Callable[[Asking], Awaitable[bool]]


async def choose_method(asking: Asking) -> tuple[str, str]:
    """The name of the method, and why it was chosen, for people."""
    for rule in RULES:
        if await rule.applies(asking):
            return rule.method, rule.why.format(cost=_cost_of(rule.method, asking))
    raise AssertionError("the last rule always applies")


def _cost_of(method: str, asking: Asking) -> str:
    """The time of a method and the tokens sent to a server, as far as known.

    It continues a sentence: ", about 2 min".
    """
    info = asking.engine.info
    work = answer_work(method, asking.memory, info)
    cost = ""
    seconds = work.seconds(info)
    if seconds is not None:
        cost = f", about {format_duration(seconds)}"
    if info.is_remote:
        cost += f", about {round(work.prefilled, _ROUNDED):,} tokens sent"
    return cost


async def _introduces_somebody(asking: Asking) -> bool:
    """Whether the question is "Who is …?", and the model would answer it badly."""
    if asking.options.model.is_believed:
        return False
    return await introductions_for(asking) is not None


async def _tells_story_by_quotes(asking: Asking) -> bool:
    """Whether the question asks for the story, and the model would tell it badly."""
    return not asking.options.model.is_believed and bool(await story_so_far(asking))


async def _fits(asking: Asking) -> bool:
    """Whether the model can be shown all of the text."""
    return (await text_budget(asking)).is_whole


async def _tells_story_by_gists(asking: Asking) -> bool:
    is_story = not asking.options.choices and asks_for_story(asking.question)
    return is_story and is_told_by_gists(asking.memory)


async def _needs_whole_book(asking: Asking) -> bool:
    """Whether the answer is spread over the book, and all of it can be read in a few minutes."""
    if asking.options.choices or kind_of(asking.question) is not Kind.LIST:
        return False
    if not asking.options.model.is_believed:
        return False
    work = answer_work("notes", asking.memory, asking.engine.info)
    seconds = work.seconds(asking.engine.info)
    if seconds is None:
        return work.prefilled <= _WHOLE_BOOK_TOKENS
    return seconds <= _WHOLE_BOOK_S


async def _asks_for_a_fact_in_a_long_book(asking: Asking) -> bool:
    """Whether wrong passages would mislead a model that is shown several together.

    What the user names or limits is shown together all the same.
    """
    options = asking.options
    steering = asking.steering
    book = asking.memory.book
    is_steered = bool(steering.pinned) or steering.only
    is_limited = bool(options.choices or options.budget_tokens) or is_steered
    if options.model.cites or is_limited:
        return False
    return book.words >= _LONG_BOOK_WORDS and kind_of(asking.question) is Kind.FACT


async def _looks_up(asking: Asking) -> bool:
    """Whether the model finds the pages that answer, over gists of the whole book."""
    return asking.options.model.looks_up and asking.memory.complete


async def _tells_story_by_passages(asking: Asking) -> bool:
    """Whether the question asks for the story, and there are too few gists to tell it."""
    if asking.options.choices or is_told_by_gists(asking.memory):
        return False
    question = without_options(asking.question)
    return asks_for_story(question) or asks_how_all_ends(question)


async def _always(asking: Asking) -> bool:
    return True


# The first rule that applies decides.
RULES = (
    Rule("quoting", "the sentence that introduces the name", _introduces_somebody),
    Rule(
        "quoting",
        "the story so far, in the book's own sentences",
        _tells_story_by_quotes,
    ),
    Rule("gistread", _WHOLE_TEXT, _fits),
    Rule("gistread", "the story so far, from the gists", _tells_story_by_gists),
    Rule(
        "notes",
        "the whole text, part by part: the question is about all of it{cost}",
        _needs_whole_book,
    ),
    Rule(
        "one-by-one",
        "passages nearest to the question, each by itself",
        _asks_for_a_fact_in_a_long_book,
    ),
    Rule("readagent-s", "the gists of the whole book, with look-ups", _looks_up),
    Rule("gistread", "the story so far, from the text", _tells_story_by_passages),
    Rule("gistread", "passages nearest to the question", _always),
)
