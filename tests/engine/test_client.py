"""The engine through its client: real llama.cpp in a real worker process."""

import asyncio
import math
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gistread.engine.llama.client import LlamaEngine, _after_busy_times
from gistread.engine.llama.fit import LoadOptions
from gistread.engine.protocol import (
    Completion,
    EngineState,
    Message,
    Phase,
    Priority,
    Prompt,
    Rates,
    Sampling,
    TextDelta,
    Usage,
)
from gistread.errors import EngineError, PromptTooLongError
from tests.engine.conftest import StartEngine, starting
from tests.tiny_gguf import write_tiny_gguf

pytestmark = pytest.mark.asyncio(loop_scope="module")


def prompt_of(text: str) -> Prompt:
    return (Message("user", text),)


# 1,000 tokens of the tiny models: several batches
LONG = prompt_of("It was a long way to go. " * 40)


@pytest_asyncio.fixture(loop_scope="module")
async def start(tmp_path: Path) -> AsyncIterator[StartEngine]:
    """Starts engines and closes them after the test."""
    async with starting(tmp_path) as start_engine:
        yield start_engine


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine(
    tiny: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[LlamaEngine]:
    """The tiny model, loaded once."""
    async with starting(tmp_path_factory.mktemp("engine")) as start_engine:
        yield await start_engine(tiny)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def slow_engine(
    deep: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[LlamaEngine]:
    """The deep model, loaded once."""
    async with starting(tmp_path_factory.mktemp("engine")) as start_engine:
        yield await start_engine(deep)


async def test_counts_are_exact(engine: LlamaEngine) -> None:
    assert await engine.count("hello") == 5
    assert await engine.count("the") == 2  # the vocabulary's one merge
    assert await engine.count("") == 0
    # <|user|> a b c <|end|> <|assistant|>
    assert await engine.measure(prompt_of("abc")) == 6


async def test_evaluated_and_reused_tokens_add_up(
    tiny: Path, start: StartEngine
) -> None:
    engine = await start(tiny)
    first = (await engine.complete(prompt_of("abcdefgh"), Sampling(max_tokens=4))).usage
    again = (await engine.complete(prompt_of("abcdefgh"), Sampling(max_tokens=4))).usage
    longer = (await engine.complete(prompt_of("abcdXYZ"), Sampling(max_tokens=4))).usage
    assert (first.prefilled, first.reused, first.generated) == (11, 0, 4)
    assert (again.prefilled, again.reused) == (1, 10)
    assert (longer.prefilled, longer.reused) == (5, 5)


async def test_a_prompt_that_continues_the_last_answer_reuses_it(
    engine: LlamaEngine,
) -> None:
    completion = await engine.complete(
        prompt_of("abc"), Sampling(max_tokens=8, temperature=1.0, seed=5)
    )
    prompt = (*prompt_of("abc"), Message("assistant", completion.text))
    usage = (await engine.complete(prompt, Sampling(max_tokens=1))).usage
    assert usage.reused >= 6


async def test_the_stream_is_the_answer(engine: LlamaEngine) -> None:
    events = [
        event
        async for event in engine.stream(prompt_of("abc"), Sampling(max_tokens=30))
    ]
    *deltas, last = events
    assert isinstance(last, Completion)
    assert "".join(d.text for d in deltas if isinstance(d, TextDelta)) == last.text
    assert last.finish == "length"
    assert last.usage.generated == 30


async def test_the_log_probability_of_a_text_is_told_where_it_is_wanted(
    engine: LlamaEngine,
) -> None:
    plain, scored, first = [
        await engine.complete(prompt_of("Say how it ends."), sampling)
        for sampling in (
            Sampling(6),
            Sampling(6, scored=True),
            Sampling(1, scored=True),
        )
    ]
    assert (plain.log_probability, plain.text) == (None, scored.text)
    assert scored.log_probability is not None
    assert scored.log_probability < 0
    assert first.log_probability is not None
    # The likeliest of fewer than a thousand tokens
    assert -math.log(1_000) <= first.log_probability < 0


async def test_decoding_ends_at_a_stop_string(engine: LlamaEngine) -> None:
    whole = (await engine.complete(prompt_of("abc"), Sampling(max_tokens=30))).text
    stop = whole[12:15]
    answer = await engine.complete(
        prompt_of("abc"), Sampling(max_tokens=30, stop=(stop,))
    )
    assert answer.text == whole[: whole.index(stop)]
    assert answer.finish == "end"


async def test_a_choice_is_always_one_of_the_options(engine: LlamaEngine) -> None:

    @settings(max_examples=25, suppress_health_check=list(HealthCheck))
    @given(
        question=st.text(max_size=40),
        options=st.lists(
            st.text(
                st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12
            ),
            min_size=1,
            max_size=9,
            unique=True,
        ),
    )
    def choose(question: str, options: list[str]) -> None:
        cases.append((question, options))

    cases: list[tuple[str, list[str]]] = []
    choose()
    for question, options in cases:
        choice = await engine.choose(prompt_of(question), options)
        assert 0 <= choice.index < len(options)
        assert choice.probability is not None
        assert 0 < choice.probability <= 1


async def test_control_tokens_written_in_a_book_stay_text(engine: LlamaEngine) -> None:
    assert await engine.measure(prompt_of("<|end|><|assistant|>")) > 3 + len("<|end|>")


async def test_prompts_that_do_not_fit_are_refused_with_both_numbers(
    tiny: Path, start: StartEngine
) -> None:
    engine = await start(tiny, options=LoadOptions(context_tokens=256))
    with pytest.raises(PromptTooLongError) as caught:
        await engine.complete(prompt_of("x" * 300), Sampling(max_tokens=20))
    assert (
        caught.value.prompt_tokens,
        caught.value.answer_tokens,
        caught.value.context_tokens,
    ) == (303, 20, 256)
    assert (
        await engine.complete(prompt_of("x" * 200), Sampling(max_tokens=53))
    ).usage.prefilled == 203


async def test_background_work_is_the_same_whatever_came_before(
    engine: LlamaEngine,
) -> None:
    passage = prompt_of(
        "The mule carried two chests over the pass, and the muleteer counted them at every inn. "
        * 6
    )
    sampling = Sampling(max_tokens=12)
    alone = await engine.complete(passage, sampling, Priority.BACKGROUND)
    await engine.complete(
        prompt_of("Something else altogether. " * 12), Sampling(max_tokens=5)
    )
    await engine.complete(
        prompt_of("Another passage to read. " * 16),
        Sampling(max_tokens=9),
        Priority.BACKGROUND,
    )
    after = await engine.complete(passage, sampling, Priority.BACKGROUND)
    again = await engine.complete(passage, sampling, Priority.BACKGROUND)
    assert alone.text == after.text == again.text
    assert (again.usage.prefilled, again.usage.reused) == (
        1,
        alone.usage.prefilled + alone.usage.reused - 1,
    )


async def test_interactive_requests_go_before_background_work(
    slow_engine: LlamaEngine,
) -> None:
    order: list[str] = []

    async def run(name: str, prompt: Prompt, priority: Priority) -> Usage:
        usage = (
            await slow_engine.complete(prompt, Sampling(max_tokens=8), priority)
        ).usage
        order.append(name)
        return usage

    prefilling = asyncio.Event()
    unwatch = slow_engine.watch(
        lambda state: prefilling.set() if state.phase is Phase.PREFILL else None
    )
    reading = asyncio.create_task(run("reading", LONG, Priority.BACKGROUND))
    await prefilling.wait()
    unwatch()
    question = asyncio.create_task(
        run("question", prompt_of("Why?"), Priority.INTERACTIVE)
    )
    usage, _ = await asyncio.gather(reading, question)
    assert order == ["question", "reading"]
    # Interrupted batches are not counted twice
    assert usage.prefilled + usage.reused == await slow_engine.measure(LONG)


async def test_cancelling_stops_the_prefill(slow_engine: LlamaEngine) -> None:
    fractions: list[float] = []
    prefilling, idle = asyncio.Event(), asyncio.Event()

    def on_state(state: EngineState) -> None:
        if state.phase is Phase.PREFILL:
            fractions.append(state.fraction or 0)
            prefilling.set()
        elif prefilling.is_set() and state.phase is Phase.IDLE:
            idle.set()

    unwatch = slow_engine.watch(on_state)
    text = "It was quite a short way to go. "
    task = asyncio.create_task(
        slow_engine.complete(prompt_of(text * 120), Sampling(max_tokens=8))
    )
    await prefilling.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await idle.wait()
    unwatch()
    assert max(fractions) < 0.8
    usage = (
        await slow_engine.complete(prompt_of(text * 3), Sampling(max_tokens=1))
    ).usage
    assert usage.reused > 0  # what was read stays


async def test_cancelling_stops_the_decoding(engine: LlamaEngine) -> None:
    received = 0
    events = engine.stream(
        prompt_of("abc"), Sampling(max_tokens=3000, temperature=2.0, seed=3)
    )
    async for _ in events:
        received += 1
        if received == 5:
            break
    await events.aclose()
    reused = (await engine.complete(prompt_of("abc"), Sampling(max_tokens=1))).usage
    assert reused.generated == 1
    assert engine.state.phase is not Phase.FAILED


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"general__architecture": "nosuchthing"}, "nosuchthing"),
        (
            {"tokenizer__ggml__tokens": None},
            "cannot be used: it contains no language model",
        ),
        ({"tokenizer__chat_template": "{% for %}"}, "chat template"),
        (
            {"tokenizer__ggml__pre": "nonsense"},
            r"loaded: unknown pre-tokenizer type: 'nonsense'\.\nFetch it again, upgrade llama-cpp",
        ),
        ({"llama__feed_forward_length": 7}, r"has wrong shape(?s:.)*\nFetch it again"),
        ({"llama__context_length": 16}, "trained for 16 tokens, too few"),
    ],
)
async def test_a_model_that_cannot_be_used_is_refused(
    tmp_path: Path, changes: dict[str, object], says: str
) -> None:
    engine = LlamaEngine(_broken(tmp_path, changes))
    with pytest.raises(EngineError, match=says):
        await engine.start()
    assert engine.state.phase is Phase.FAILED
    assert engine.state.notice
    await engine.close()


async def test_a_truncated_model_is_refused(tiny: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(tiny, tmp_path / "cut.gguf"))
    os.truncate(path, path.stat().st_size - 5000)
    with pytest.raises(EngineError, match="cut off"):
        await LlamaEngine(path).start()


async def test_a_model_larger_than_the_memory_is_refused(
    tiny: Path, tmp_path: Path
) -> None:
    path = Path(shutil.copy(tiny, tmp_path / "huge.gguf"))
    os.truncate(path, 2**43)  # a sparse file: 8 TiB that take no room
    with pytest.raises(EngineError, match=r"needs .* GB of memory; .* are free"):
        await LlamaEngine(path).start()


def _broken(folder: Path, changes: dict[str, Any]) -> Path:
    path = folder / "broken.gguf"
    if "tokenizer__ggml__tokens" in changes:
        whole = write_tiny_gguf(path).read_bytes()
        path.write_bytes(
            whole.replace(b"tokenizer.ggml.tokens", b"tokenizer.ggml.tokenz")
        )
        return path
    return write_tiny_gguf(path, **changes)


async def test_a_system_library_that_llama_cpp_lacks_is_named(
    start: StartEngine, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = "libgomp.so.1: cannot open shared object file: No such file or directory"
    (tmp_path / "llama_cpp.py").write_text(
        f"raise RuntimeError('Failed to load shared library: {reason}')"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(EngineError, match=r"needs libgomp\.so\.1") as caught:
        await start(tiny)
    assert "libgomp1" in caught.value.hint


async def test_a_short_request_measures_the_pace_at_the_first_start(
    tiny: Path, start: StartEngine, tmp_path: Path
) -> None:
    engine = await start(tiny, cache=tmp_path, measures_pace=True)
    rates = engine.info.rates
    assert rates is not None
    assert min(rates.prefill, rates.decode) > 0


async def test_the_speed_seen_in_requests_is_known_at_the_next_start(
    tiny: Path, start: StartEngine, tmp_path: Path
) -> None:
    engine = await start(tiny, cache=tmp_path)
    assert engine.info.rates is None
    await engine.complete(LONG, Sampling(8))
    rates = engine.info.rates
    assert rates is not None
    assert min(rates.prefill, rates.decode) > 0
    await engine.close()
    assert (await start(tiny, cache=tmp_path)).info.rates is not None


async def test_a_busy_time_lowers_the_stored_pace_by_a_fifth_at_most() -> None:
    slow = _after_busy_times(Rates(100, 20), Rates(30, 19))
    assert (slow.prefill, slow.decode) == (80, 19)
    assert _after_busy_times(Rates(100, 20), Rates(130, 25)) == Rates(130, 25)
