"""A model on a server is an engine like any other: it streams, completes, chooses and counts."""

import asyncio
from contextlib import aclosing

import pytest

from gistread.engine.protocol import (
    Completion,
    Message,
    Phase,
    Prompt,
    Sampling,
    StreamRestarted,
    TextDelta,
)
from gistread.errors import EngineError, PromptTooLongError
from gistread.readers.reply_forms import choice_with_words, read_choice, read_words
from tests.engine.remote.conftest import Connect, until
from tests.engine.remote.server import Event, Kind, RecordedRequest, Server, Status

pytestmark = pytest.mark.process


def prompt_of(text: str) -> Prompt:
    return (Message("user", text),)


async def test_a_text_is_streamed_and_then_complete(connect: Connect) -> None:
    async with Server(says=lambda _: "One two three.") as server:
        engine = connect(server.url)
        events = [
            event
            async for event in engine.stream(
                prompt_of("Count."), Sampling(max_tokens=10)
            )
        ]
    assert [event.text for event in events if isinstance(event, TextDelta)] == [
        "One",
        " two",
        " three.",
    ]
    last = events[-1]
    assert isinstance(last, Completion)
    assert (last.text, last.finish) == ("One two three.", "end")
    assert (last.usage.prefilled, last.usage.reused, last.usage.generated) == (1, 1, 3)
    assert server.requests[-1].body["max_tokens"] == 10


async def test_a_text_ends_before_a_stop_string_though_the_server_knows_none(
    connect: Connect,
) -> None:
    async with Server(says=lambda _: "A gist. --- Passage: more") as server:
        completion = await connect(server.url).complete(
            prompt_of("Go."), Sampling(stop=("---", "\nPassage"))
        )
    assert (completion.text, completion.finish) == ("A gist. ", "end")


async def test_a_server_that_ignores_the_limit_of_a_text_is_stopped(
    connect: Connect,
) -> None:
    async with Server(says=lambda _: "x" * 1_000_000) as server:
        completion = await connect(server.url).complete(
            prompt_of("Go."), Sampling(max_tokens=10)
        )
    assert completion.finish == "length"
    assert 10 < len(completion.text) < 10_000


async def test_an_endless_list_of_models_is_refused(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gistread.engine.remote.connection._MOST_BYTES", 20)
    async with Server() as server:
        with pytest.raises(EngineError, match="an answer without end"):
            await connect(server.url).start()


@pytest.mark.parametrize(
    "text",
    [
        "<think>Let me see.</think>\n\nIt is red.",
        "Let me see.</think>\n\nIt is red.",
        "It is <think>red?</think>red.",
    ],
)
async def test_reasoning_is_not_part_of_the_text(connect: Connect, text: str) -> None:
    async with Server(says=lambda _: text) as server:
        engine = connect(server.url)
        streamed = ""
        async for event in engine.stream(
            prompt_of("Which colour?"), Sampling(max_tokens=50)
        ):
            match event:
                case TextDelta(new):
                    streamed += new
                case StreamRestarted():
                    streamed = ""
                case Completion(whole):
                    assert whole == streamed == "It is red."


THOUGHT = "Okay, the user asks for a colour. " + "hm " * 100


@pytest.mark.parametrize("opening", ["<think>", "", "<thinking>"])
async def test_a_thought_that_was_cut_off_is_repeated_with_more_room(
    connect: Connect, opening: str
) -> None:
    closing = opening.replace("<", "</") or "</think>"
    async with Server(
        Kind(obeys=()), says=lambda _: f"{opening}{THOUGHT}{closing}It is red."
    ) as server:
        engine = connect(server.url)
        sampling = Sampling(max_tokens=20, stop=("\n", "hm hm") if opening else ())
        assert (
            await engine.complete(prompt_of("Which colour?"), sampling)
        ).text == "It is red."
        count = len(server.requests)
        assert (
            await engine.complete(prompt_of("Which colour?"), sampling)
        ).text == "It is red."
        assert len(server.requests) == count + 1  # From now on there is room at once.
        assert (
            await engine.choose(prompt_of("Which?"), ["It is red", "It is blue"])
        ).index == 0


async def test_an_answer_that_a_stop_string_cut_off_behind_its_thought_is_asked_again_without_it(
    connect: Connect,
) -> None:
    def says(_: RecordedRequest) -> str:
        thought, rest = "<think>It was red.</think>", "\nIt is red.\nOr blue."
        return thought if "stop" in server.requests[-1].body else thought + rest

    async with Server(says=says) as server:
        completion = await connect(server.url).complete(
            prompt_of("Which colour?"), Sampling(max_tokens=20, stop=("\n",))
        )
    assert completion.text == "It is red."


async def test_the_connection_is_closed_when_the_request_is_cancelled(
    connect: Connect,
) -> None:
    async with Server(says=lambda _: "one SLOWLY two") as server:
        engine = connect(server.url)
        async with aclosing(engine.stream(prompt_of("Go."))) as events:
            async for _ in events:
                break
        await until(lambda: server.requests[-1].ended == "closed")
        task = asyncio.create_task(engine.complete(prompt_of("Go.")))
        await until(lambda: len(server.requests) > 2 and server.running == 1)
        task.cancel()
        await until(lambda: server.requests[-1].ended == "closed")
        assert engine.state.phase is Phase.IDLE


async def test_prompts_beyond_the_window_are_refused_with_both_numbers(
    connect: Connect,
) -> None:
    async with Server(Kind(entry={"max_model_len": 300})) as server:
        engine = connect(server.url)
        assert (await engine.start()).context_tokens == 300
        count = len(server.requests)
        with pytest.raises(PromptTooLongError) as error:
            await engine.complete(prompt_of("word " * 400), Sampling(max_tokens=50))
        assert error.value.context_tokens == 300
        assert error.value.answer_tokens == 50
        assert error.value.prompt_tokens > 400
        assert len(server.requests) == count


async def test_a_prompt_that_the_server_finds_too_long_is_an_error_that_says_what_to_do(
    connect: Connect,
) -> None:
    async with Server() as server:
        engine = connect(server.url)
        await engine.start()
        server.failing = Status(
            400, "This model's maximum context length is 100 tokens, you asked for 200"
        )
        with pytest.raises(EngineError, match=r"too long[\s\S]*context_tokens"):
            await engine.complete(prompt_of("Go."))


@pytest.mark.parametrize(
    "kind",
    [Kind(in_parts=True), Kind(first_bytes=b"\xef\xbb\xbf"), Kind(done="[DONE] ")],
    ids=["content in parts", "a byte order mark", "a blank after the end"],
)
async def test_answers_in_unusual_forms_arrive_whole(
    connect: Connect, kind: Kind
) -> None:
    async with Server(kind, says=lambda _: "One two three.") as server:
        completion = await connect(server.url).complete(prompt_of("Count."))
    assert (completion.text, completion.finish) == ("One two three.", "end")


async def test_parts_of_reasoning_are_not_part_of_the_text(connect: Connect) -> None:
    part = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    thought = {"choices": [{"delta": {"content": [part]}, "finish_reason": "stop"}]}
    async with Server(says=lambda _: "One two") as server:
        engine = connect(server.url)
        await engine.start()
        server.failures = [Event(thought)]
        completion = await engine.complete(prompt_of("Count."))
    assert completion.text == "One two"


async def test_an_answer_that_a_filter_cut_off_is_told_from_a_whole_one(
    connect: Connect,
) -> None:
    async with Server(Kind(finish="content_filter"), says=lambda _: "The") as server:
        completion = await connect(server.url).complete(prompt_of("Go."))
    assert (completion.text, completion.finish) == ("The", "filter")


async def test_a_page_to_log_in_is_reported_at_once(connect: Connect) -> None:
    async with Server() as server:
        engine = connect(server.url)
        await engine.start()
        server.failing = "login"
        count = len(server.requests)
        with pytest.raises(EngineError, match="sent a web page instead of an answer"):
            await engine.complete(prompt_of("Go."))
    assert len(server.requests) == count + 1


async def test_a_text_in_a_form_is_held_to_its_schema(connect: Connect) -> None:
    sampling = Sampling(
        max_tokens=50, schema=choice_with_words(["yes", "no"], "why").schema
    )
    async with Server(says=lambda _: "Well, yes.") as server:
        completion = await connect(server.url).complete(
            prompt_of("Yes or no?"), sampling
        )
    assert read_choice(completion.text) == "no"
    assert read_words(completion.text) == "in some words"


async def test_a_text_in_a_form_is_asked_in_words_of_a_server_without_schemas(
    connect: Connect,
) -> None:
    sampling = Sampling(
        max_tokens=50, schema=choice_with_words(["yes", "no"], "why").schema
    )
    async with Server(
        Kind(refuses=("response_format",)), says=lambda _: "Well, yes."
    ) as server:
        engine = connect(server.url)
        texts = [
            (await engine.complete(prompt_of("Yes or no?"), sampling)).text
            for _ in range(2)
        ]
        sent = ["response_format" in request.body for request in server.requests[1:]]
    assert texts == ["Well, yes."] * 2
    assert sent == [True, False, False]
