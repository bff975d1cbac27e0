"""A model on a server is an engine like any other: it streams, completes, chooses and counts."""

import asyncio
from contextlib import aclosing

import pytest

from gistread.engine.protocol import Completion, Message, Phase, Prompt, Restarted, Sampling, TextDelta
from gistread.errors import EngineError, PromptTooLongError
from tests.engine.remote.conftest import Connect, until
from tests.engine.remote.server import Asked, Kind, Server, Status


def said(text: str) -> Prompt:
    return (Message("user", text),)


async def test_a_text_is_streamed_and_then_complete(connect: Connect) -> None:
    async with Server(says=lambda _: "One two three.") as server:
        engine = connect(server.url)
        events = [event async for event in engine.stream(said("Count."), Sampling(max_tokens=10))]
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["One", " two", " three."]
    last = events[-1]
    assert isinstance(last, Completion)
    assert (last.text, last.finish) == ("One two three.", "end")
    assert (last.usage.prefilled, last.usage.reused, last.usage.generated) == (1, 1, 3)
    assert server.asked[-1].body["max_tokens"] == 10


async def test_an_answer_cut_at_its_limit_reports_length(connect: Connect) -> None:
    async with Server(says=lambda _: "one two three four") as server:
        completion = await connect(server.url).complete(said("Go on."), Sampling(max_tokens=2))
    assert (completion.text, completion.finish) == ("one two", "length")


async def test_an_answer_without_streaming_is_accepted(connect: Connect) -> None:
    async with Server(Kind(streams=False), says=lambda _: "All at once.") as server:
        assert (await connect(server.url).complete(said("Say it."))).text == "All at once."


async def test_a_text_ends_before_a_stop_string_though_the_server_knows_none(connect: Connect) -> None:
    async with Server(says=lambda _: "A gist. --- Passage: more") as server:
        completion = await connect(server.url).complete(said("Go."), Sampling(stop=("---", "\nPassage")))
    assert (completion.text, completion.finish) == ("A gist. ", "end")


@pytest.mark.parametrize(
    "text",
    ["<think>Let me see.</think>\n\nIt is red.", "Let me see.</think>\n\nIt is red.", "It is <think>red?</think>red."],
)
async def test_reasoning_is_not_part_of_the_text(connect: Connect, text: str) -> None:
    async with Server(says=lambda _: text) as server:
        engine = connect(server.url)
        told = ""
        async for event in engine.stream(said("Which colour?"), Sampling(max_tokens=50)):
            match event:
                case TextDelta(new):
                    told += new
                case Restarted():
                    told = ""
                case Completion(whole):
                    assert whole == told == "It is red."


async def test_a_model_that_always_reasons_gets_more_tokens(connect: Connect) -> None:
    def says(asked: Asked) -> str:
        return "<think>" + "hm " * 100 + "</think>It is red."

    async with Server(says=says) as server:
        completion = await connect(server.url).complete(said("Which colour?"), Sampling(max_tokens=20))
    assert completion.text == "It is red."


async def test_the_connection_is_closed_when_the_request_is_cancelled(connect: Connect) -> None:
    async with Server(says=lambda _: "one SLOWLY two") as server:
        engine = connect(server.url)
        async with aclosing(engine.stream(said("Go."))) as events:
            async for _ in events:
                break
        await until(lambda: server.asked[-1].ended == "closed")
        task = asyncio.create_task(engine.complete(said("Go.")))
        await until(lambda: len(server.asked) > 2 and server.running == 1)
        task.cancel()
        await until(lambda: server.asked[-1].ended == "closed")
        assert engine.state.phase is Phase.IDLE


async def test_prompts_beyond_the_window_are_refused_with_both_numbers(connect: Connect) -> None:
    async with Server(Kind(entry={"max_model_len": 300})) as server:
        engine = connect(server.url)
        assert (await engine.start()).context_tokens == 300
        asked = len(server.asked)
        with pytest.raises(PromptTooLongError) as error:
            await engine.complete(said("word " * 400), Sampling(max_tokens=50))
        assert error.value.context_tokens == 300
        assert error.value.answer_tokens == 50
        assert error.value.prompt_tokens > 400
        assert len(server.asked) == asked


async def test_a_window_in_the_settings_is_never_exceeded(connect: Connect) -> None:
    async with Server(Kind(entry={"max_model_len": 300})) as server:
        assert (await connect(server.url, context_tokens=200).start()).context_tokens == 200
        assert (await connect(server.url, context_tokens=900).start()).context_tokens == 300
    async with Server(Kind(entry={})) as server:
        assert (await connect(server.url, context_tokens=900).start()).context_tokens == 900


async def test_an_unknown_window_is_reported(connect: Connect) -> None:
    async with Server(Kind(entry={})) as server:
        engine = connect(server.url)
        assert (await engine.start()).context_tokens == 8192
        assert "8,192" in engine.state.notice


async def test_a_prompt_that_the_server_finds_too_long_is_an_error_that_says_what_to_do(connect: Connect) -> None:
    async with Server() as server:
        engine = connect(server.url)
        await engine.start()
        server.failing = Status(400, "This model's maximum context length is 100 tokens, you asked for 200")
        with pytest.raises(EngineError, match=r"too long[\s\S]*context_tokens"):
            await engine.complete(said("Go."))


async def test_refused_settings_are_left_out(connect: Connect) -> None:
    async with Server(Kind(refuses=("seed", "frequency_penalty", "max_tokens"))) as server:
        engine = connect(server.url)
        completion = await engine.complete(said("Go."), Sampling(max_tokens=7, repeat_penalty=1.1))
        assert completion.text == "Somebody did something somewhere."
        assert server.asked[-1].body["max_completion_tokens"] == 7
        asked = len(server.asked)
        await engine.complete(said("Go."), Sampling(repeat_penalty=1.1))
        assert len(server.asked) == asked + 1


@pytest.mark.parametrize(
    ("owner", "settings"),
    [
        ("llamacpp", {"repeat_penalty": 1.1, "repeat_last_n": 64}),
        ("vllm", {"frequency_penalty": 0.1, "repetition_penalty": 1.0}),
    ],
)
async def test_the_repetition_penalty_spares_the_prompt(
    connect: Connect, owner: str, settings: dict[str, float]
) -> None:
    """llama-server looks back into the prompt, and vLLM's own penalty is on all of it."""
    async with Server(Kind(owner, obeys=("grammar", "structured_outputs"))) as server:
        await connect(server.url).complete(said("Go."), Sampling(repeat_penalty=1.1))
    assert {name: server.asked[-1].body[name] for name in settings} == settings


async def test_a_begun_answer_becomes_part_of_the_task_where_it_cannot_be_continued(connect: Connect) -> None:
    async with Server() as server:
        await connect(server.url).complete((*said("Which pages?"), Message("assistant", "Page 3, ")))
    messages = server.asked[-1].body["messages"]
    assert [message["role"] for message in messages] == ["user"]
    assert "Page 3," in messages[0]["content"]


async def test_a_cancelled_start_leaves_the_connection_to_other_callers(connect: Connect) -> None:
    async with Server(says=lambda _: "Ready.") as server:
        engine = connect(server.url)
        loading = asyncio.Event()
        engine.watch(lambda state: loading.set() if state.phase is Phase.LOADING else None)
        question, reading = (asyncio.create_task(engine.complete(said("Go."))) for _ in range(2))
        await loading.wait()
        question.cancel()
        assert (await reading).text == "Ready."
        assert question.cancelled()


async def test_an_engine_that_was_closed_answers_no_more(connect: Connect) -> None:
    async with Server() as server:
        engine = connect(server.url)
        await engine.start()
        await engine.close()
        await engine.close()
        with pytest.raises(EngineError, match="closed"):
            await engine.complete(said("Go."))
