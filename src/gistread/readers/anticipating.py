"""Evaluates what an answer will need while its question is still being typed.

Passages are ranked for the words typed so far. Their text stands at the beginning of the prompts,
so what is evaluated now is reused when the question is asked.
"""

import asyncio

from gistread.engine.protocol import Message, Priority, Prompt
from gistread.readers import auto, gistread, one_by_one
from gistread.readers.answering import Asking
from gistread.readers.book_text import BookText
from gistread.readers.ranking import Ranked, rank
from gistread.readers.thread import without_options
from gistread.words import count_words

LEAST_WORDS = 3  # Of a question, before its passages are known well enough


async def anticipate(asking: Asking, reader: str) -> None:
    """Evaluate the beginnings of the prompts that `reader` would send, the nearest first.

    Cancel it when the question changes: what was evaluated until then is kept. Raises EngineError.
    """
    for text in await _texts_ahead(asking, reader):
        await asking.engine.prepare(_beginning(text), Priority.INTERACTIVE)


async def _texts_ahead(asking: Asking, reader: str) -> list[str]:
    """The texts of the book with which prompts for this question begin; empty if unknown."""
    options = asking.options
    if options.choices or options.selection:
        return []
    if count_words(asking.question) < LEAST_WORDS:
        return []
    if reader == auto.NAME:
        reader, _ = await auto.choose_method(asking)
    question = without_options(asking.question)
    ranked = await asyncio.to_thread(rank, question, asking.memory, (), options.thread)
    if reader == gistread.NAME:
        return await _whole_text(asking, ranked)
    if reader != one_by_one.NAME or not ranked.has_matches:
        return []
    book = asking.memory.book
    wide = one_by_one.with_surroundings(ranked.passages, book)
    fitting = await one_by_one.nearest_that_fit(asking, wide)
    return [one_by_one.text_of(asking, passage) for passage in fitting]


async def _whole_text(asking: Asking, ranked: Ranked) -> list[str]:
    """The whole text, as the prompt will render it; empty if it does not fit the budget."""
    budget = await gistread.text_budget(asking)
    if not budget.is_whole:
        return []
    text = BookText.of(asking, gistread.NAME)
    fitting = await text.fit(ranked.passages, budget.tokens)
    return [text.rendered(fitting)]


def _beginning(text: str) -> Prompt:
    """A prompt that begins as those for an answer from this text."""
    return (Message("user", f"{text}\n\n---", cacheable_prefix=len(text)),)
