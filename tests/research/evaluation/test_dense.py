"""Retrieval by meaning: the nearest pages by their vectors, opened as `bm25` opens its own."""

from pathlib import Path

import pytest

from gistread.errors import UsageError
from gistread.readers.answering import Asking, ReaderOptions
from gistread.readers.events import Answered, LookedUp, ReaderEvent
from gistread.readers.steering import Steering
from research.evaluation.baselines import EvaluationOptions
from research.evaluation.embedding import Embedder
from research.evaluation.readers import METHODS
from tests.fake_engine import FakeEngine
from tests.readers.memories import FACTS, make_memory
from tests.tiny_bert import write_tiny_bert

ANSWER = "Ferrand stole the key to find the ledger that would hang him."


async def ask(question: str, options: ReaderOptions) -> list[ReaderEvent]:
    events = METHODS["dense"].reader()(
        Asking(
            question,
            make_memory(),
            FakeEngine(says=lambda _: ANSWER),
            Steering(),
            options,
        )
    )
    return [event async for event in events]


async def test_the_nearest_pages_are_opened_and_cited(tmp_path: Path) -> None:
    embedder = Embedder(write_tiny_bert(tmp_path / "bert.gguf"))
    events = await ask(FACTS[7], EvaluationOptions(max_pages=3, embedder=embedder))
    opened = [event.page for event in events if isinstance(event, LookedUp)]
    assert len(opened) == 3
    assert isinstance(events[-1], Answered)
    assert events[-1].lookups == tuple(opened)


def test_a_page_is_nearest_to_its_own_text(tmp_path: Path) -> None:
    embedder, memory = Embedder(write_tiny_bert(tmp_path / "bert.gguf")), make_memory()
    for entry in memory.entries[:5]:
        scores = embedder.page_scores(
            memory.book.text[entry.page.start : entry.page.end], memory
        )
        assert max(scores, key=lambda number: scores[number]) == entry.page.number


async def test_without_an_embedding_model_it_says_how_to_give_one() -> None:
    with pytest.raises(UsageError, match="needs an embedding model"):
        await ask("Who?", ReaderOptions())
