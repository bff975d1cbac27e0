"""Streams: short background requests with cells of their own, and prefixes copied between them."""

import asyncio
from pathlib import Path

import pytest

from gistread.engine.llama.client import LlamaEngine
from gistread.engine.protocol import Message, Priority, Sampling
from tests.engine.conftest import StartEngine, TinyModel
from tests.tiny_gguf import write_tiny_gguf

on_attention = pytest.mark.parametrize("model", ["attention"], indirect=True)

BACKGROUND = Priority.BACKGROUND
BEGINNING, PAGE, NEXT = (
    " ".join(f"{word}{n}" for n in range(60)) for word in ("one", "two", "three")
)


def prompt_of(text: str, *, allow_kv_shift: bool = False) -> tuple[Message, ...]:
    return (Message("user", text, allow_kv_shift=allow_kv_shift),)


@pytest.fixture
async def engine(model: TinyModel, start: StartEngine) -> LlamaEngine:
    return await start(model.path)


@on_attention
async def test_a_text_is_the_same_in_a_stream_and_alone(engine: LlamaEngine) -> None:
    alone = await engine.complete(prompt_of(PAGE), Sampling(8))
    in_stream = await engine.complete(prompt_of(PAGE), Sampling(8), BACKGROUND)
    assert in_stream.text == alone.text
    assert in_stream.usage.reused == 0, "streams share nothing with other requests"


@on_attention
async def test_what_one_stream_evaluated_is_copied_for_others(
    engine: LlamaEngine,
) -> None:
    chosen = await engine.choose(prompt_of(PAGE + NEXT), ["1", "2"], BACKGROUND)
    first, second = await asyncio.gather(
        *(
            engine.complete(prompt_of(PAGE + NEXT[:40] + end), Sampling(8), BACKGROUND)
            for end in ("!", "?")
        )
    )
    assert chosen.usage.reused == 0
    for completion in (first, second):
        assert completion.usage.reused > await engine.count(PAGE)
        assert completion.usage.prefilled < 60


@on_attention
async def test_prompts_with_a_common_beginning_do_not_take_each_others_streams(
    engine: LlamaEngine,
) -> None:
    await engine.choose(prompt_of(f"{BEGINNING[:60]} {PAGE}"), ["1", "2"], BACKGROUND)
    other = await engine.choose(
        prompt_of(f"{BEGINNING[:60]} {NEXT}"), ["1", "2"], BACKGROUND
    )
    choice = await engine.complete(
        prompt_of(f"{BEGINNING[:60]} {PAGE} And then?"), Sampling(8), BACKGROUND
    )
    assert 0 < other.usage.reused < await engine.count(PAGE) < choice.usage.reused


@pytest.mark.parametrize("allow_kv_shift", [False, True])
async def test_moved_text_keeps_its_state_where_the_prompt_allows_it(
    start: StartEngine, tmp_path: Path, allow_kv_shift: bool
) -> None:
    # In a single layer, keys and values depend on nothing before them: a moved state is exact.
    engine = await start(write_tiny_gguf(tmp_path / "one layer.gguf", layers=1))
    page_tokens = await engine.count(PAGE)
    prompt = prompt_of(f"Text: {PAGE} {NEXT}", allow_kv_shift=allow_kv_shift)
    alone = await engine.complete(prompt, Sampling(24))
    await engine.choose(prompt_of(f"Text: {BEGINNING} {PAGE}"), ["1", "2"], BACKGROUND)
    completion = await engine.complete(prompt, Sampling(24), BACKGROUND)
    assert (completion.usage.reused > page_tokens) is allow_kv_shift
    assert completion.text == alone.text


@on_attention
async def test_a_question_interrupts_streams_and_they_go_on(
    engine: LlamaEngine,
) -> None:
    reading = [
        asyncio.create_task(
            engine.complete(prompt_of(f"{n} {PAGE}"), Sampling(40), BACKGROUND)
        )
        for n in range(12)
    ]
    await asyncio.sleep(0)
    completion = await engine.complete(prompt_of("Who?"), Sampling(2))
    assert completion.usage.generated
    alone = [
        (await engine.complete(prompt_of(f"{n} {PAGE}"), Sampling(40))).text
        for n in (0, 11)
    ]
    every = await asyncio.gather(*reading)
    assert [every[0].text, every[11].text] == alone
