"""What an answer takes, before it is asked for."""

import itertools
from dataclasses import replace
from typing import Any

import pytest

from gistread.engine.protocol import Rates
from gistread.memory.sizes import TOKENS_PER_WORD
from gistread.readers.answering import Asking, ReaderOptions
from gistread.readers.cost import FIRST_WORD_S, answer_work
from gistread.readers.registry import METHODS
from gistread.readers.steering import Steering
from tests.fake_engine import FakeEngine, tokens_in
from tests.readers.memories import make_memory

INFO = replace(FakeEngine().info, rates=Rates(100.0, 10.0))


OPTIONS = ReaderOptions(first_word_s=FIRST_WORD_S)


def seconds(reader: str, share: float = 1.0, **options: Any) -> float:
    memory = make_memory(60, 60)
    memory = replace(memory, size=replace(memory.size, min_words=60, max_words=120))
    work = answer_work(
        reader, memory, INFO, round(share * len(memory.book.text)), **options
    ).seconds(INFO)
    assert work is not None
    return work


@pytest.mark.parametrize("reader", METHODS)
def test_no_reader_is_without_an_estimate_and_half_the_book_takes_no_longer(
    reader: str,
) -> None:
    if reader == "quoting":
        assert seconds(reader) == 0, "no model is asked"
        return
    assert 0 < seconds(reader, 0.5) <= seconds(reader)


@pytest.mark.parametrize("context_tokens", [1_500, 4_096])
@pytest.mark.parametrize("reader", ["notes", "gistread"])
async def test_the_tokens_told_are_about_those_that_are_sent(
    reader: str, context_tokens: int
) -> None:
    """A small window takes many prompts, each with a task of its own."""
    memory = make_memory(60, 60)
    notes = itertools.cycle(
        ["Nothing new.", "The clerk took the brass key from the nail."]
    )
    engine = FakeEngine(says=lambda _: next(notes), context_tokens=context_tokens)
    asking = Asking("Who stole the key?", memory, engine, Steering(), OPTIONS)
    async for _ in METHODS[reader].reader()(asking):
        pass
    sent = sum(tokens_in(call.text) for call in engine.calls)
    # The tokens of this engine are words and signs.
    words = memory.book.words * TOKENS_PER_WORD / tokens_in(memory.book.text)
    forecast = answer_work(reader, memory, engine.info).prefilled / words
    assert sent / 1.5 < forecast < 1.5 * sent
