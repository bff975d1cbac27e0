"""The focus of gists: in prompts, and in the identity of a memory."""

from dataclasses import replace
from pathlib import Path

import pytest

from gistread.engine.protocol import Priority
from gistread.errors import UsageError
from gistread.journal import Journal
from gistread.memory.focus import DEFAULT_FOCUS, GistFocus, parse_task
from gistread.memory.gisting import careful_attempts, gist_page
from gistread.memory.guard import Fault
from gistread.memory.model import GistMemory, GistSource, PageSize, ReadingMethod, ReadingMode
from gistread.memory.reading import read_book
from gistread.memory.store import MemoryRequest, MemoryStore
from gistread.presets import built_in_presets
from tests.fake_engine import FakeEngine
from tests.memory.books import make_book, prose
from tests.memory.test_gisting import GOOD, PAGE
from tests.memory.test_model import make_memory

TASK = "Who cut the rope of the Marigold?"
SIZE = PageSize(60, 120)


def prompts_of(engine: FakeEngine) -> list[str]:
    return [call.text for call in engine.calls if call.kind == "complete"]


async def read(focus: GistFocus, reading: ReadingMode, folder: Path) -> FakeEngine:
    engine = FakeEngine(says=lambda _: "")
    book = make_book([prose(100, seed=seed) for seed in range(4)])
    with MemoryStore(folder).open(book, MemoryRequest("fake", "f", SIZE, ReadingMethod(reading), focus=focus)) as kept:
        async for _ in read_book(kept, engine):
            pass
    return engine


@pytest.mark.parametrize("reading", ReadingMode)
@pytest.mark.parametrize("name", built_in_presets())
async def test_the_presets_words_reach_the_model(name: str, reading: ReadingMode, tmp_path: Path) -> None:
    preset = built_in_presets()[name]
    asked = prompts_of(await read(GistFocus(preset), reading, tmp_path))
    assert asked
    # In single-pass reading the second attempt has the same prompt, since it lies ready.
    assert all(preset.keep in prompt or preset.ask in prompt for prompt in asked)
    assert sum(preset.keep in prompt for prompt in asked) >= len(asked) / 2


@pytest.mark.parametrize("reading", ReadingMode)
async def test_a_task_stands_after_the_text_in_every_prompt_for_a_gist(reading: ReadingMode, tmp_path: Path) -> None:
    asked = prompts_of(await read(GistFocus(built_in_presets()["meeting"], TASK), reading, tmp_path))
    assert asked
    for prompt in asked:
        text, _, task = prompt.partition("\n---\n")
        assert TASK not in text
        assert TASK in task


async def test_no_prompt_names_a_task_where_there_is_none(tmp_path: Path) -> None:
    asked = prompts_of(await read(DEFAULT_FOCUS, ReadingMode.SINGLE_PASS, tmp_path))
    assert not any("find this out" in prompt for prompt in asked)


async def test_a_task_is_data_wherever_it_has_braces(tmp_path: Path) -> None:
    asked = prompts_of(await read(GistFocus(task="what is {words} and --- {passage}?"), ReadingMode.CAREFUL, tmp_path))
    assert all("what is {words} and --- {passage}?" in prompt for prompt in asked)


async def test_a_gist_that_repeats_the_task_is_rejected() -> None:
    focus = GistFocus(task="Who took the money that the mayor had hidden?")
    engine = FakeEngine(
        says=[f"The passage is read for this. {focus.task} Nobody knows it, and the boats lie still.", GOOD]
    )
    gisted = await gist_page(
        PAGE, engine, await careful_attempts(PAGE, engine, focus), Priority.BACKGROUND, task=focus.task
    )
    assert (gisted.gist.text, gisted.faults) == (GOOD, (Fault.PROMPT,))


async def test_sentences_that_stand_in_for_a_gist_are_those_nearest_to_the_task() -> None:
    for task, found in (
        ("Was it done with a knife, and how many strokes?", "one stroke of a knife"),
        ("What of Tamsin and the wind?", "Tamsin shook"),
    ):
        attempts = await careful_attempts(PAGE, engine := FakeEngine(says=["", ""]), GistFocus(task=task))
        gisted = await gist_page(PAGE, engine, attempts, Priority.BACKGROUND, task=task)
        assert gisted.gist.source is GistSource.EXTRACTIVE
        assert found in gisted.gist.text


def test_memories_without_a_preset_are_those_for_fiction() -> None:
    """The names by which they are known on disk: these must never change while the prompts do not."""
    assert DEFAULT_FOCUS.version("pagination", "gist", "gist_again") == "3ee92e6cedf8"
    assert DEFAULT_FOCUS.version("single_pass_text", "single_pass_pause", "single_pass_gist") == "a8f359313565"


@pytest.fixture
def memory() -> GistMemory:
    return make_memory(3)


def test_another_focus_is_another_memory_and_is_saved(tmp_path: Path, memory: GistMemory) -> None:
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
        with store.open(memory.book, MemoryRequest("fake", "f", SIZE, focus=focus)) as kept:
            assert (kept.memory.entries, kept.memory.focus) == ([], focus)
            for entry in memory.entries[: 1 + number % 3]:
                kept.add(entry)
    found = store.find(memory.book)
    assert {header.focus.version("gist") for header in found} == {focus.version("gist") for focus in focuses}
    for header in found:
        assert store.load(memory.book, header).focus == header.focus
        # Read on by what its header says, be the preset's file there or not.
        with store.open(memory.book, MemoryRequest("fake", "f", SIZE, focus=header.focus)) as kept:
            assert len(kept.memory.entries) == header.pages


def test_a_memory_without_a_preset_is_found_and_continued(tmp_path: Path, memory: GistMemory) -> None:
    store = MemoryStore(tmp_path)
    with store.open(memory.book, MemoryRequest("fake", "f", SIZE)) as kept:
        kept.add(memory.entries[0])
    (header,) = store.find(memory.book)
    assert b"preset" not in header.path.read_bytes()
    assert b"task" not in header.path.read_bytes()
    assert header.focus == DEFAULT_FOCUS


@pytest.mark.parametrize("damage", [{"task": 7}, {"preset": {"name": "x"}}, {"preset": 7}, {"preset": {"keep": 7}}])
def test_a_header_with_an_invalid_focus_is_ignored(
    tmp_path: Path, memory: GistMemory, damage: dict[str, object]
) -> None:
    store = MemoryStore(tmp_path)
    with store.open(
        memory.book, MemoryRequest("fake", "f", SIZE, focus=GistFocus(built_in_presets()["paper"], TASK))
    ) as kept:
        kept.add(memory.entries[0])
    path = store.find(memory.book)[0].path
    with Journal(path) as file:
        header, *pages = file.records
        file.rewrite([{**header, **damage}, *pages])
    assert store.find(memory.book) == []


async def test_a_long_task_makes_pages_shorter_rather_than_prompts_too_long(tmp_path: Path) -> None:
    focus = GistFocus(task=" ".join(f"w{n}" for n in range(150)))
    book = make_book([prose(60, seed=seed) for seed in range(8)])
    for reading in ReadingMode:
        engine = FakeEngine(says=lambda _: "", context_tokens=700)
        with MemoryStore(tmp_path).open(
            book, MemoryRequest("fake", "f", PageSize(100, 400), ReadingMethod(reading), focus=focus)
        ) as kept:
            async for _ in read_book(kept, engine):
                pass
        assert kept.memory.complete


def test_a_task_is_one_line_of_limited_length() -> None:
    assert parse_task("  who\n did it ") == "who did it"
    for text in (" \n", "x" * 601):
        with pytest.raises(UsageError):
            parse_task(text)
