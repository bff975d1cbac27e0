"""Single-pass reading: one growing text, each token of which is evaluated about once."""

import itertools
import random
from pathlib import Path

import pytest

from gistread.book.open import open_book
from gistread.memory.model import GistMemory, PageSize, ReadingMethod, ReadingMode
from gistread.memory.reading import read_book
from gistread.memory.sizes import PAGE_SIZES
from gistread.memory.store import MemoryRequest, MemoryStore
from gistread.sample import story_path
from tests.fake_engine import Call, FakeEngine, tokens_in
from tests.memory.books import make_book, prose

SIZE = PageSize(100, 300)
BOOK = make_book(
    ["# One", *(prose(60, seed=i) for i in range(30))],
    ["# Two", *(prose(45, seed=i) for i in range(40, 64))],
    ["# Three", *(prose(70, seed=i) for i in range(70, 84))],
)


def engine(parallel: int = 1, seed: int = 1, **options: object) -> FakeEngine:
    """Chooses pauses at random by the prompt, and gists a page by its last sentences."""

    def chooses(prompt: str, offered: object) -> int:
        return random.Random(f"{seed}{prompt}").randrange(len(offered))  # type: ignore[arg-type]

    def says(prompt: str) -> str:
        return " ".join(prompt.partition("---")[0].split()[-24:])

    return FakeEngine(says=says, chooses=chooses, parallel=parallel, **options)  # type: ignore[arg-type]


async def read(directory: Path, model: FakeEngine, reading: ReadingMode = ReadingMode.SINGLE_PASS) -> GistMemory:
    with MemoryStore(directory).open(BOOK, MemoryRequest("fake", "f", SIZE, ReadingMethod(reading))) as kept:
        async for _ in read_book(kept, model):
            pass
        return kept.memory


def shown(call: Call) -> str:
    return call.text.partition("---")[0]


async def test_each_prompt_extends_the_previous_one(tmp_path: Path) -> None:
    model = engine()
    memory = await read(tmp_path, model)
    prefilled = sum(entry.usage.prefilled for entry in memory.entries)
    assert memory.complete
    assert prefilled < 1.45 * tokens_in(BOOK.text)  # pages of 100 words: the tasks weigh more than on real ones
    careful = await read(tmp_path, engine(), ReadingMode.CAREFUL)
    assert prefilled < 0.7 * sum(entry.usage.prefilled for entry in careful.entries)


@pytest.mark.parametrize(("seed", "prefilled"), [(1, 10_940), (2, 11_080), (3, 11_177)])
async def test_a_story_costs_a_tenth_more_tokens_than_it_has(tmp_path: Path, seed: int, prefilled: int) -> None:
    story = open_book(story_path())
    request = MemoryRequest("fake", "f", PAGE_SIZES["quality"], ReadingMethod(ReadingMode.SINGLE_PASS))
    with MemoryStore(tmp_path).open(story, request) as kept:
        async for _ in read_book(kept, engine(seed=seed)):
            pass
        assert sum(entry.usage.prefilled for entry in kept.memory.entries) == prefilled
    assert prefilled < 1.14 * tokens_in(story.text)


async def test_labels_grow_through_a_window_and_never_change(tmp_path: Path) -> None:
    model = engine()
    await read(tmp_path, model)
    pauses = [call for call in model.calls if call.kind == "choose"]
    for before, after in itertools.pairwise(pauses):
        if shown(after).startswith(shown(before)[:200]):
            assert shown(after).startswith(shown(before).rstrip())
            numbers = [int(label.strip("<>")) for label in (*before.options[-1:], *after.options[-1:])]
            assert numbers[0] <= numbers[1]
    assert any(len(call.options) > 2 for call in pauses)


async def test_only_visible_labels_are_options(tmp_path: Path) -> None:
    model = engine()
    await read(tmp_path, model)
    for call in model.calls:
        assert all(label in shown(call) for label in call.options)


async def test_a_page_is_gisted_directly_after_its_text(tmp_path: Path) -> None:
    """Nothing past the page is before the model: the page is what it has read last."""
    model = engine()
    memory = await read(tmp_path, model)
    gists = [call for call in model.calls if call.kind == "complete"]
    ends = {memory.text_of(entry.page)[-40:] for entry in memory.entries}
    for call in gists:
        text = shown(call).rstrip()
        assert text.rpartition("\n\n<")[0][-40:] in ends or text[-40:] in ends


@pytest.mark.parametrize("pages", [1, 4, 9])
async def test_a_resumed_reading_uses_the_same_prompts(tmp_path: Path, pages: int) -> None:
    whole_engine = engine()
    whole = await read(tmp_path / "whole", whole_engine)
    with MemoryStore(tmp_path / "stopped").open(
        BOOK, MemoryRequest("fake", "f", SIZE, ReadingMethod(ReadingMode.SINGLE_PASS))
    ) as kept:
        for entry in whole.entries[:pages]:
            kept.add(entry)
    model = engine()
    again = await read(tmp_path / "stopped", model)
    assert [(e.page, e.gist) for e in again.entries] == [(e.page, e.gist) for e in whole.entries]
    assert {call.text for call in model.calls} <= {call.text for call in whole_engine.calls}


@pytest.mark.parametrize("reading", list(ReadingMode))
async def test_the_pages_are_the_same_however_many_chapters_are_read_at_once(
    tmp_path: Path, reading: ReadingMode
) -> None:
    one = await read(tmp_path / "1", engine(parallel=1), reading)
    for parallel in (3, 64):
        several = await read(tmp_path / str(parallel), engine(parallel=parallel), reading)
        assert [(e.page, e.gist) for e in several.entries] == [(e.page, e.gist) for e in one.entries]


async def test_the_window_restarts_before_it_overflows(tmp_path: Path) -> None:
    model = engine(context_tokens=700)
    memory = await read(tmp_path, model)
    assert memory.complete
    longest = max(
        tokens_in(call.text) + 4 + call.sampling.max_tokens * (call.kind == "complete") for call in model.calls
    )
    assert 500 < longest <= 700


@pytest.mark.parametrize("context_tokens", [1600, 2400, 3000, 4096])
async def test_the_window_leaves_room_for_the_gist_if_words_take_many_tokens(
    tmp_path: Path, context_tokens: int
) -> None:
    memory = await read(tmp_path, engine(context_tokens=context_tokens, count=len))
    assert memory.complete


async def test_a_tiny_window_makes_the_pages_shorter(tmp_path: Path) -> None:
    memory = await read(tmp_path, engine(context_tokens=260))
    assert memory.complete
    assert max(entry.page.words for entry in memory.entries) < 200


async def test_careful_and_single_pass_are_two_memories(tmp_path: Path) -> None:
    await read(tmp_path, engine())
    await read(tmp_path, engine(), ReadingMode.CAREFUL)
    headers = MemoryStore(tmp_path).find(BOOK)
    assert sorted(header.method.mode for header in headers) == ["careful", "single-pass"]
    assert {MemoryStore(tmp_path).load(BOOK, header).method.mode for header in headers} == set(ReadingMode)
