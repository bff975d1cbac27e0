"""The focus of gists: in prompts, and in the identity of a memory."""

from dataclasses import replace
from pathlib import Path

import pytest

from gistread.memory.model import (
    DEFAULT_FOCUS,
    GistFocus,
    GistMemory,
    PageSize,
    ReadingMode,
)
from gistread.memory.reading import read_book
from gistread.memory.store import MemoryRequest, MemoryStore
from gistread.presets import built_in_presets
from tests.fake_engine import FakeEngine
from tests.memory.books import make_book, prose
from tests.memory.test_model import make_memory

TASK = "Who cut the rope of the Marigold?"
SIZE = PageSize(60, 120)


def prompts_of(engine: FakeEngine) -> list[str]:
    return [call.text for call in engine.calls if call.kind == "complete"]


async def read(focus: GistFocus, reading: ReadingMode, folder: Path) -> FakeEngine:
    engine = FakeEngine(says=lambda _: "")
    book = make_book([prose(100, seed=seed) for seed in range(4)])
    with MemoryStore(folder).open(
        book, MemoryRequest("fake", "f", SIZE, reading, focus=focus)
    ) as kept:
        async for _ in read_book(kept, engine):
            pass
    return engine


@pytest.mark.parametrize("reading", ReadingMode)
@pytest.mark.parametrize("name", built_in_presets())
async def test_the_presets_words_reach_the_model(
    name: str, reading: ReadingMode, tmp_path: Path
) -> None:
    preset = built_in_presets()[name]
    prompts = prompts_of(await read(GistFocus(preset), reading, tmp_path))
    assert prompts
    # In single-pass reading the second attempt has the same prompt, since it lies ready.
    assert all(preset.keep in prompt or preset.ask in prompt for prompt in prompts)
    assert sum(preset.keep in prompt for prompt in prompts) >= len(prompts) / 2


@pytest.mark.parametrize("reading", ReadingMode)
async def test_a_task_stands_after_the_text_in_every_prompt_for_a_gist(
    reading: ReadingMode, tmp_path: Path
) -> None:
    prompts = prompts_of(
        await read(GistFocus(built_in_presets()["meeting"], TASK), reading, tmp_path)
    )
    assert prompts
    for prompt in prompts:
        text, _, task = prompt.partition("\n---\n")
        assert TASK not in text
        assert TASK in task


def test_memories_of_earlier_versions_are_continued_in_their_wording() -> None:
    """The names by which they are known on disk.

    These must never change while the prompts do not.
    """
    trained = replace(DEFAULT_FOCUS, wording="trained")
    assert trained.version("pagination", "gist", "gist_again") == "3ee92e6cedf8"
    assert (
        trained.version("single_pass_text", "single_pass_pause", "single_pass_gist")
        == "a8f359313565"
    )


@pytest.fixture
def memory() -> GistMemory:
    return make_memory(3)


def test_another_focus_is_another_memory_and_is_saved(
    tmp_path: Path, memory: GistMemory
) -> None:
    store = MemoryStore(tmp_path)
    own = replace(built_in_presets()["paper"], name="own", keep="Keep everything")
    focuses = [
        DEFAULT_FOCUS,
        GistFocus(built_in_presets()["meeting"]),
        GistFocus(task=TASK),
        GistFocus(built_in_presets()["meeting"], TASK),
        GistFocus(own),
    ]
    for number, focus in enumerate(focuses):
        with store.open(
            memory.book, MemoryRequest("fake", "f", SIZE, focus=focus)
        ) as kept:
            assert (kept.memory.entries, kept.memory.focus) == ([], focus)
            for entry in memory.entries[: 1 + number % 3]:
                kept.add(entry)
    headers = store.find(memory.book)
    assert {header.focus.version("gist") for header in headers} == {
        focus.version("gist") for focus in focuses
    }
    for header in headers:
        assert store.load(memory.book, header).focus == header.focus
        # Read on by what its header says, be the preset's file there or not.
        with store.open(
            memory.book, MemoryRequest("fake", "f", SIZE, focus=header.focus)
        ) as kept:
            assert len(kept.memory.entries) == header.pages


async def test_a_long_task_makes_pages_shorter_rather_than_prompts_too_long(
    tmp_path: Path,
) -> None:
    focus = GistFocus(task=" ".join(f"w{n}" for n in range(150)))
    book = make_book([prose(60, seed=seed) for seed in range(8)])
    for reading in ReadingMode:
        engine = FakeEngine(says=lambda _: "", context_tokens=700)
        with MemoryStore(tmp_path).open(
            book, MemoryRequest("fake", "f", PageSize(100, 400), reading, focus=focus)
        ) as kept:
            async for _ in read_book(kept, engine):
                pass
        assert kept.memory.complete
