"""The common prefix of all questions is saved on disk and reused correctly."""

from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio

from gistread.engine.llama.client import LlamaEngine
from gistread.engine.llama.worker.prompt_cache_files import PromptCacheFiles
from gistread.engine.protocol import Completion, Message, Prompt, Sampling
from tests.tiny_gguf import write_tiny_gguf

MEMORY = "".join(
    f"(Page {n})\nThe mule went over pass {n} and came to inn {n * 7}.\n\n"
    for n in range(30)
)
SAMPLING = Sampling(max_tokens=12)


def prompt_of(question: str, memory: str = MEMORY) -> Prompt:
    return (Message("user", f"{memory}---\n{question}", cacheable_prefix=len(memory)),)


async def answered(
    model: Path, cache: Path | None, *questions: Prompt, prepare: bool = False
) -> list[Completion]:
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


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fresh(tiny: Path) -> Completion:
    """The answer without a cache."""
    return (await answered(tiny, None, prompt_of("Where is inn 21?")))[0]


async def test_the_first_question_after_a_restart_reuses_the_prompt_cache(
    tiny: Path, fresh: Completion, tmp_path: Path
) -> None:
    (first,) = await answered(tiny, tmp_path, prompt_of("How many passes?"))
    assert first.usage.reused == 0
    assert len(files(tmp_path)) == 1
    (second,) = await answered(tiny, tmp_path, prompt_of("Where is inn 21?"))
    assert second.usage.prefilled < 40 < len(MEMORY) <= second.usage.reused
    assert second.text == fresh.text
    assert len(files(tmp_path)) == 1


async def test_a_memory_can_be_evaluated_before_the_first_question(
    tiny: Path, fresh: Completion, tmp_path: Path
) -> None:
    await answered(tiny, tmp_path, prompt_of("", MEMORY), prepare=True)
    (first,) = await answered(tiny, tmp_path, prompt_of("Where is inn 21?"))
    assert first.usage.reused >= len(MEMORY)
    assert first.text == fresh.text


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


async def test_prompt_cache_files_of_another_model_are_ignored(
    tiny: Path, tmp_path: Path
) -> None:
    (tmp_path / "model").mkdir()
    other = write_tiny_gguf(tmp_path / "model" / "other.gguf", seed=2)
    await answered(tiny, tmp_path, prompt_of("Where is inn 21?"))
    (asked_other,) = await answered(other, tmp_path, prompt_of("Where is inn 21?"))
    assert asked_other.usage.reused == 0
    assert len(files(tmp_path)) == 2
