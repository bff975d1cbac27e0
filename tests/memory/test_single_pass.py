"""Single-pass reading: one growing text, each token of which is evaluated about once."""

import random
from pathlib import Path
from typing import Any

import pytest

from gistread.book.open import open_book
from gistread.memory.model import GistMemory, PageSize, ReadingMode
from gistread.memory.reading import read_book
from gistread.memory.sizes import PAGE_SIZES
from gistread.memory.store import MemoryRequest, MemoryStore
from gistread.sample import story_path
from tests.fake_engine import FakeEngine, tokens_in
from tests.memory.books import make_book, prose

SIZE = PageSize(100, 300)
BOOK = make_book(
    ["# One", *(prose(60, seed=i) for i in range(30))],
    ["# Two", *(prose(45, seed=i) for i in range(40, 64))],
    ["# Three", *(prose(70, seed=i) for i in range(70, 84))],
)


def engine(parallel: int = 1, seed: int = 1, **options: Any) -> FakeEngine:
    """Chooses pauses at random by the prompt, and gists a page by its last sentences."""

    def chooses(prompt: str, offered: object) -> int:
        return random.Random(f"{seed}{prompt}").randrange(len(offered))  # type: ignore[arg-type]

    def says(prompt: str) -> str:
        return " ".join(prompt.partition("---")[0].split()[-24:])

    return FakeEngine(says=says, chooses=chooses, parallel=parallel, **options)


async def read(
    directory: Path, model: FakeEngine, reading: ReadingMode = ReadingMode.SINGLE_PASS
) -> GistMemory:
    with MemoryStore(directory).open(
        BOOK, MemoryRequest("fake", "f", SIZE, reading)
    ) as kept:
        async for _ in read_book(kept, model):
            pass
        return kept.memory


async def test_each_prompt_extends_the_previous_one(tmp_path: Path) -> None:
    model = engine()
    memory = await read(tmp_path, model)
    prefilled = sum(entry.usage.prefilled for entry in memory.entries)
    assert memory.complete
    # Pages of 100 words: the tasks weigh more than on real ones
    assert prefilled < 1.56 * tokens_in(BOOK.text)
    careful = await read(tmp_path, engine(), ReadingMode.CAREFUL)
    assert prefilled < 0.7 * sum(entry.usage.prefilled for entry in careful.entries)


@pytest.mark.parametrize(("seed", "prefilled"), [(1, 4_370), (2, 4_370), (3, 4_424)])
async def test_a_story_costs_at_most_a_fifth_more_tokens_than_it_has(
    tmp_path: Path, seed: int, prefilled: int
) -> None:
    story = open_book(story_path())
    request = MemoryRequest("fake", "f", PAGE_SIZES["quality"], ReadingMode.SINGLE_PASS)
    with MemoryStore(tmp_path).open(story, request) as kept:
        async for _ in read_book(kept, engine(seed=seed)):
            pass
        assert sum(entry.usage.prefilled for entry in kept.memory.entries) == prefilled
    assert prefilled < 1.2 * tokens_in(story.text)


@pytest.mark.parametrize("pages", [1, 4, 9])
async def test_a_resumed_reading_uses_the_same_prompts(
    tmp_path: Path, pages: int
) -> None:
    whole_engine = engine()
    whole = await read(tmp_path / "whole", whole_engine)
    with MemoryStore(tmp_path / "stopped").open(
        BOOK, MemoryRequest("fake", "f", SIZE, ReadingMode.SINGLE_PASS)
    ) as kept:
        for entry in whole.entries[:pages]:
            kept.add(entry)
    model = engine()
    again = await read(tmp_path / "stopped", model)
    assert [(e.page, e.gist) for e in again.entries] == [
        (e.page, e.gist) for e in whole.entries
    ]
    assert {call.text for call in model.calls} <= {
        call.text for call in whole_engine.calls
    }


@pytest.mark.parametrize("reading", list(ReadingMode))
async def test_the_pages_are_the_same_however_many_chapters_are_read_at_once(
    tmp_path: Path, reading: ReadingMode
) -> None:
    alone = await read(tmp_path / "1", engine(parallel=1), reading)
    for parallel in (3, 64):
        several = await read(
            tmp_path / str(parallel), engine(parallel=parallel), reading
        )
        assert [(e.page, e.gist) for e in several.entries] == [
            (e.page, e.gist) for e in alone.entries
        ]


async def test_the_window_restarts_before_it_overflows(tmp_path: Path) -> None:
    model = engine(context_tokens=900)
    memory = await read(tmp_path, model)
    assert memory.complete
    longest = max(
        tokens_in(call.text) + 4 + call.sampling.max_tokens * (call.kind == "complete")
        for call in model.calls
    )
    assert 500 < longest <= 900
