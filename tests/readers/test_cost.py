"""What an answer takes, before it is asked for."""

from dataclasses import replace
from typing import Any

import pytest

from gistread.engine.protocol import Rates
from gistread.readers.cost import answer_work
from gistread.readers.registry import METHODS
from tests.fake_engine import FakeEngine
from tests.readers.memories import make_memory

INFO = replace(FakeEngine().info, rates=Rates(100.0, 10.0))


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
    assert 0 < seconds(reader, 0.5) <= seconds(reader)
