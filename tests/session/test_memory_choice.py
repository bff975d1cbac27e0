"""Which memory a model reads on in, and with which preset."""

from pathlib import Path

import pytest

from gistread.config import Config
from gistread.engine.protocol import EngineInfo
from gistread.memory.model import GistFocus, GistMemory, PageSize, ReadingMode
from gistread.memory.store import MemoryRequest, MemoryStore
from gistread.presets import built_in_presets
from gistread.prompts import TRAINED
from gistread.session.reading import MemoryChoice
from tests.memory.test_model import make_memory

SIZE = PageSize(50, 150)
PRESETS = built_in_presets()


@pytest.fixture
def memory() -> GistMemory:
    return make_memory(2)


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path / "memories")


def resolve(
    store: MemoryStore,
    memory: GistMemory,
    fingerprint: str = "f",
    chosen: GistFocus | str | None = "",
    preset: str = "auto",
) -> MemoryRequest:
    info = EngineInfo("Model", fingerprint, 4096, "CPU")
    choice = MemoryChoice(
        memory.book, store, Config(preset=preset), store.directory / "presets"
    )
    return choice.request(info, chosen)


def begin(
    store: MemoryStore,
    memory: GistMemory,
    fingerprint: str,
    focus: GistFocus,
    pages: int = 1,
) -> None:
    with store.open(
        memory.book, MemoryRequest("fake", fingerprint, SIZE, focus=focus)
    ) as writer:
        for entry in memory.entries[:pages]:
            writer.add(entry)


def test_without_a_choice_the_furthest_memory_is_continued_with_its_task(
    store: MemoryStore, memory: GistMemory
) -> None:
    begin(store, memory, "f", GistFocus(PRESETS["paper"]))
    begin(store, memory, "f", GistFocus(PRESETS["code"], "Who stole it?"), pages=2)
    assert resolve(store, memory, chosen=None).focus == GistFocus(
        PRESETS["code"], "Who stole it?"
    )
    assert resolve(store, memory, chosen=None, preset="paper").focus == GistFocus(
        PRESETS["paper"]
    )
    exact = GistFocus(PRESETS["manual"], "x")
    assert resolve(store, memory, chosen=exact).focus == exact


def test_a_memory_goes_on_in_the_wording_of_prompts_that_it_was_begun_in(
    store: MemoryStore, memory: GistMemory
) -> None:
    assert resolve(store, memory, chosen=None).focus.wording == ""
    begin(store, memory, "f", GistFocus(wording=TRAINED))  # as 0.2.0 began all of them
    focus = resolve(store, memory, chosen=None).focus
    assert focus.wording == TRAINED
    with store.open(
        memory.book, MemoryRequest("fake", "f", SIZE, focus=focus)
    ) as writer:
        assert len(writer.memory.entries) == 1


def test_a_memory_that_was_begun_is_continued_in_its_way(
    store: MemoryStore, memory: GistMemory
) -> None:
    begin(store, memory, "f", GistFocus(PRESETS["paper"]))
    assert resolve(store, memory, chosen=None).mode is ReadingMode.CAREFUL
    assert (
        resolve(store, memory, fingerprint="g", chosen=None).mode
        is ReadingMode.SINGLE_PASS
    )
