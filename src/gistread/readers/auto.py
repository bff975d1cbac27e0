"""Chooses how to answer.

By the model, the question, the length of the text and the pace of this machine.
"""

from contextlib import aclosing
from dataclasses import replace

from gistread.engine.protocol import Trust
from gistread.readers.answering import Asking
from gistread.readers.cost import CAREFUL, answer_work
from gistread.readers.events import ReaderEvents, Started
from gistread.readers.gistread import asks_for_story, passage_budget
from gistread.readers.phrases import pattern
from gistread.readers.registry import METHODS
from gistread.readers.thread import without_options
from gistread.units import format_duration

_WHOLE_BOOK_S = 300.0  # Longest time for which the whole book is read without having been asked for
_WHOLE_BOOK_TOKENS = 60_000  # The same limit before the model is measured, or on a server


async def auto(asking: Asking) -> ReaderEvents:
    """Answer by the method that suits model and question."""
    options = asking.options
    asking = replace(asking, options=replace(options, first_word_s=CAREFUL * options.first_word_s))
    name, choice = await _choose_method(asking)
    async with aclosing(METHODS[name].plain_reader()(asking)) as events:
        async for event in events:
            yield replace(event, choice=choice) if isinstance(event, Started) else event


async def _choose_method(asking: Asking) -> tuple[str, str]:
    """The name of the method, and why it was chosen, for people."""
    question, memory, engine, options = (
        without_options(asking.question),
        asking.memory,
        asking.engine,
        asking.options,
    )
    if options.trust is Trust.FAILED:
        return "gistread", "passages nearest to the question: this model failed its check"
    if (await passage_budget(asking))[1]:
        return "gistread", "the whole text: it fits the model's window"
    if memory.entries and not options.choices and asks_for_story(question):
        return "gistread", "the story so far, from the gists"
    if not options.choices and pattern("asks_about_all").search(question):
        work = answer_work("notes", memory, engine.info)
        seconds = work.seconds(engine.info)
        time = f", about {format_duration(seconds)}" if seconds is not None else ""
        if (
            seconds <= _WHOLE_BOOK_S
            if seconds is not None
            else work.prefilled <= _WHOLE_BOOK_TOKENS
        ):
            return "notes", f"the whole text, part by part: the question is about all of it{time}"
    if memory.complete:
        return "readagent-s", "the gists of the whole book, with look-ups"
    return "gistread", "passages nearest to the question: the model has not read the whole book"
