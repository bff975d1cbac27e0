"""The engine counts tokens in its own process before a model is loaded and after verification."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from gistread.engine.llama.client import LlamaEngine
from gistread.engine.llama.token_counter import TokenCounter, VerifiedCounter, counter_of
from gistread.engine.llama.vocabulary import read_vocabulary
from gistread.errors import EngineError
from tests.tiny_gguf import write_tiny_gguf

Tokenise = Callable[[Sequence[str]], Awaitable[list[list[int]]]]
TEXT = "The mule, the inn; 12 lamps.\n\nThen the 3rd."


@pytest.fixture
def counter(tiny: Path) -> TokenCounter:
    found = counter_of(read_vocabulary(tiny))
    assert found is not None
    return found


async def settled(counting: VerifiedCounter) -> int | None:
    """What is counted beside a loaded model once it has been compared."""
    await counting.count(TEXT, loaded=True)
    assert counting._checking is not None
    await counting._checking
    return await counting.count(TEXT, loaded=True)


async def test_a_text_is_counted_without_the_model_being_loaded(tiny: Path, counter: TokenCounter) -> None:
    engine = LlamaEngine(tiny)
    try:
        assert await engine.count(TEXT) == counter.count(TEXT) == len(TEXT) - TEXT.count("th")
        assert engine.worker_pid is None
    finally:
        await engine.close()


async def test_an_unsupported_vocabulary_is_counted_by_the_model(tmp_path: Path) -> None:
    path = write_tiny_gguf(tmp_path / "other.gguf", tokenizer__ggml__pre="falcon")
    engine = LlamaEngine(path)
    try:
        assert await engine.count(TEXT) == len(TEXT) - TEXT.count("th")
        assert engine.worker_pid is not None
    finally:
        await engine.close()


async def test_after_verification_the_worker_is_not_asked(
    tiny: Path, start: Callable[..., Awaitable[LlamaEngine]], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = await start(tiny)
    by_worker = await engine.count(TEXT)
    assert await settled(engine._counter) == by_worker

    async def ask(kind: str, **content: object) -> dict[str, object]:
        raise AssertionError(kind)

    monkeypatch.setattr(engine._worker, "answer", ask)
    assert await engine.count(TEXT) == by_worker
    assert await engine.count(TEXT * 500) > 400 * by_worker


async def test_counting_does_not_wait_for_the_verification(tiny: Path, counter: TokenCounter) -> None:
    let_go = asyncio.Event()

    async def slow(texts: Sequence[str]) -> list[list[int]]:
        await let_go.wait()
        return [counter.tokens(text) or [] for text in texts]

    counting = VerifiedCounter(tiny, slow)
    for _ in range(3):
        assert await asyncio.wait_for(counting.count(TEXT, loaded=True), 5) is None
    let_go.set()
    assert await settled(counting) == counter.count(TEXT)
    await counting.close()


async def test_llama_cpp_counts_if_one_token_differs(tiny: Path, counter: TokenCounter) -> None:
    async def differs(texts: Sequence[str]) -> list[list[int]]:
        return [[*(counter.tokens(text) or [])[:-1], 7] for text in texts]

    counting = VerifiedCounter(tiny, differs)
    assert await settled(counting) is None
    await counting.close()


async def test_a_failed_verification_falls_back_without_an_error(tiny: Path) -> None:
    async def fails(texts: Sequence[str]) -> list[list[int]]:
        raise EngineError("The model's process ended.")

    counting = VerifiedCounter(tiny, fails)
    assert await settled(counting) is None
    await counting.close()


async def test_closing_while_the_counter_is_being_made_ends_at_once(tiny: Path) -> None:
    async def never(texts: Sequence[str]) -> list[list[int]]:
        await asyncio.Event().wait()
        return []

    counting = VerifiedCounter(tiny, never)
    assert await counting.count(TEXT, loaded=True) is None
    await asyncio.sleep(0.05)
    await asyncio.wait_for(counting.close(), 5)


async def test_a_file_that_is_gone_is_nothing_to_count_by(tmp_path: Path) -> None:
    async def unasked(texts: Sequence[str]) -> list[list[int]]:
        raise AssertionError

    counting = VerifiedCounter(tmp_path / "gone.gguf", unasked)
    assert await counting.count(TEXT, loaded=False) is None
    await counting.close()
