"""The common prefix of all questions is saved on disk and reused correctly."""

import asyncio
import os
from contextlib import aclosing
from pathlib import Path

import numpy as np
import pytest

from gistread.engine.llama.client import LlamaEngine
from gistread.engine.llama.fit import LoadOptions
from gistread.engine.llama.worker.prompt_cache_files import PromptCacheFiles
from gistread.engine.protocol import Completion, Message, Priority, Prompt, Sampling
from tests.tiny_gguf import write_tiny_gguf

MEMORY = "".join(f"(Page {n})\nThe mule went over pass {n} and came to inn {n * 7}.\n\n" for n in range(30))
SAMPLING = Sampling(max_tokens=12)


def asked(question: str, memory: str = MEMORY) -> Prompt:
    return (Message("user", f"{memory}---\n{question}", stable=len(memory)),)


async def answered(model: Path, cache: Path | None, *questions: Prompt, prepare: bool = False) -> list[Completion]:
    """The answer of a new engine, as in another run of the program."""
    engine = LlamaEngine(model, snapshots=cache)
    try:
        await engine.start()
        if prepare:
            await engine.prepare(questions[0])
            return []
        return [await engine.complete(question, SAMPLING) for question in questions]
    finally:
        await engine.close()


def files(cache: Path) -> list[Path]:
    return sorted(cache.rglob("*.kv*"))


async def test_the_first_question_after_a_restart_reuses_the_prompt_cache(tiny: Path, tmp_path: Path) -> None:
    (fresh,) = await answered(tiny, None, asked("Where is inn 21?"))
    (first,) = await answered(tiny, tmp_path, asked("How many passes?"))
    assert first.usage.reused == 0
    assert len(files(tmp_path)) == 1
    (second,) = await answered(tiny, tmp_path, asked("Where is inn 21?"))
    assert second.usage.prefilled < 40 < len(MEMORY) <= second.usage.reused
    assert second.text == fresh.text
    assert len(files(tmp_path)) == 1


async def test_a_memory_can_be_evaluated_before_the_first_question(tiny: Path, tmp_path: Path) -> None:
    (fresh,) = await answered(tiny, None, asked("Where is inn 21?"))
    await answered(tiny, tmp_path, asked("", MEMORY), prepare=True)
    (first,) = await answered(tiny, tmp_path, asked("Where is inn 21?"))
    assert first.usage.reused >= len(MEMORY)
    assert first.text == fresh.text


@pytest.mark.parametrize("cancelled", [False, True])
@pytest.mark.parametrize("length", [1, 2], ids=["in a stream", "too long for a stream"])
async def test_what_was_evaluated_of_a_page_survives_a_kill(
    tiny: Path, tmp_path: Path, length: int, cancelled: bool
) -> None:
    page: Prompt = (Message("user", MEMORY * length),)
    (fresh,) = await answered(tiny, None, page)
    engine = LlamaEngine(tiny, snapshots=tmp_path)
    async with aclosing(engine.stream(page, Sampling(max_tokens=500), Priority.BACKGROUND)) as stream:
        await anext(stream)
        if not cancelled:
            await engine.close()  # The worker sees no more of a kill: its pipe ends
    await engine.close()
    assert len(files(tmp_path)) == 1
    engine = LlamaEngine(tiny, snapshots=tmp_path)
    again = await engine.complete(page, SAMPLING, Priority.BACKGROUND)
    await engine.close()
    assert again.usage.prefilled <= 128 < again.usage.reused
    assert again.text == fresh.text
    assert files(tmp_path) == [], "it was of use once"


async def test_a_damaged_file_is_replaced(tiny: Path, tmp_path: Path) -> None:
    (whole,) = await answered(tiny, tmp_path, asked("Where is inn 21?"))
    (file,) = files(tmp_path)
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2])
    (again,) = await answered(tiny, tmp_path, asked("Where is inn 21?"))
    assert again.usage.reused == 0
    assert again.text == whole.text
    assert file.read_bytes() == data


@pytest.mark.parametrize("harm", ["cut", "flip", "empty", "text"])
def test_a_damaged_file_is_not_read(tmp_path: Path, harm: str) -> None:
    snapshots = PromptCacheFiles(tmp_path, "model")
    snapshots.save([1], np.arange(1000, dtype=np.uint32).view(np.uint8))
    (file,) = files(tmp_path)
    data = file.read_bytes()
    middle = len(data) // 2
    file.write_bytes(
        {
            "cut": data[:middle],
            "flip": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :],
            "empty": b"",
            "text": b"Not a prompt cache file.\n" * 9,
        }[harm]
    )
    assert snapshots.load([1]) is None
    assert not file.exists()


async def test_prompt_cache_files_of_another_model_are_ignored(tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    other = write_tiny_gguf(tmp_path / "model" / "other.gguf", seed=2)
    await answered(tiny, tmp_path, asked("Where is inn 21?"))
    (fresh,) = await answered(other, None, asked("Where is inn 21?"))
    (asked_other,) = await answered(other, tmp_path, asked("Where is inn 21?"))
    assert asked_other.usage.reused == 0
    assert asked_other.text == fresh.text
    assert len(files(tmp_path)) == 2


async def test_a_quantized_cache_has_its_own_prompt_cache_files(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    model = write_tiny_gguf(  # quantised numbers come in blocks of 32: larger heads
        tmp_path / "model" / "large-heads.gguf",
        llama__attention__head_count=2,
        llama__attention__head_count_kv=2,
        llama__rope__dimension_count=32,
    )
    await answered(model, tmp_path, asked("Where is inn 21?"))
    engine = LlamaEngine(model, snapshots=tmp_path, options=LoadOptions(kv_cache="q8_0"))
    await engine.start()
    assert (await engine.complete(asked("Where is inn 21?"), SAMPLING)).usage.reused == 0
    await engine.close()
    plain, quantised = sorted(file.stat().st_size for file in files(tmp_path))[::-1]
    assert quantised < 0.6 * plain


async def test_no_prompt_cache_file_without_a_folder_or_for_a_few_words(tiny: Path, tmp_path: Path) -> None:
    await answered(tiny, tmp_path, asked("Where?", "(Page 1)\nThe mule.\n\n"), (Message("user", MEMORY),))
    assert files(tmp_path) == []


def test_the_least_recently_used_prompt_cache_file_is_removed(tmp_path: Path) -> None:
    snapshots = PromptCacheFiles(tmp_path, "model", limit_bytes=2500)
    state = np.zeros(1000, dtype=np.uint8)
    for number in (1, 2):
        snapshots.save([number], state)
        os.utime(next(f for f in tmp_path.iterdir() if f.stat().st_mtime > 1000), (number, number))
    assert snapshots.load([1]) is not None
    (tmp_path / "0f.kv.4711").write_bytes(b"half-written by a process that was killed")
    snapshots.save([3], state)
    assert [number for number in (1, 2, 3) if snapshots.has([number])] == [1, 3]
    assert len(list(tmp_path.iterdir())) == 2


def test_a_prompt_cache_file_beyond_the_limit_is_not_written(tmp_path: Path) -> None:
    PromptCacheFiles(tmp_path, "model", limit_bytes=500).save([1], np.zeros(1000, dtype=np.uint8))
    assert list(tmp_path.iterdir()) == []


async def test_an_unwritable_folder_is_no_failure(tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    (answer,) = await asyncio.wait_for(answered(tiny, tmp_path / "file", asked("Where is inn 21?")), 30)
    assert answer.text
