"""A choice is one of the options, whether or not the server applies constraints."""

import pytest

from gistread.engine.protocol import NO_USAGE, Message, Prompt
from gistread.engine.remote.chat import TokenLogprobs
from gistread.engine.remote.choice import Reply, _probability, match_option
from gistread.errors import EngineError
from tests.engine.remote.conftest import Connect
from tests.engine.remote.server import Asked, Kind, Server

PROMPT: Prompt = (Message("user", "Where would you pause?"),)
OPTIONS = ["<1>", "<2>", "<3>"]

KINDS = {
    "response_format": Kind(),
    "grammar": Kind("llamacpp", obeys=("grammar",), pages={"/props": {"default_generation_settings": {"n_ctx": 4096}}}),
    "structured_outputs": Kind("vllm", obeys=("structured_outputs",)),
    "guided_choice": Kind("vllm", obeys=("guided_choice",)),
    "regex": Kind("sglang", obeys=("regex",)),
}


@pytest.mark.parametrize("field", KINDS)
async def test_the_constraint_methods_of_a_server_are_detected_and_used(connect: Connect, field: str) -> None:
    async with Server(KINDS[field], says=lambda _: "I would rather not say.") as server:
        choice = await connect(server.url).choose(PROMPT, OPTIONS)
    assert OPTIONS[choice.index] == "<3>"
    assert field in server.asked[-1].body


@pytest.mark.parametrize("field", KINDS)
async def test_options_of_every_spelling_can_be_chosen(connect: Connect, field: str) -> None:
    options = ['a "quoted" one', "a\\b", "(c)*", "e\nf", "é — ü", "[1]", "G."]
    async with Server(KINDS[field]) as server:
        engine = connect(server.url)
        for last in options:
            choice = await engine.choose(PROMPT, [*(one for one in options if one != last), last])
            assert choice.index == len(options) - 1, last


async def test_a_server_that_ignores_constraints_is_asked_in_words(connect: Connect) -> None:
    async with Server(Kind(obeys=()), says=lambda asked: "**<2>**." if "exactly" in asked.text else "Hi!") as server:
        engine = connect(server.url)
        choice = await engine.choose(PROMPT, OPTIONS)
        assert choice.index == 1
        assert "response_format" not in server.asked[-1].body
        assert "<1> <2> <3>" in server.asked[-1].text


async def test_a_server_that_stops_applying_constraints_is_noticed(connect: Connect) -> None:
    async with Server(says=lambda _: "<2>") as server:
        engine = connect(server.url)
        await engine.start()
        server.kind.obeys = ()
        assert [(await engine.choose(PROMPT, OPTIONS)).index for _ in range(3)] == [1, 1, 1]
        server.asked.clear()
        await engine.choose(PROMPT, OPTIONS)
        assert len(server.asked) == 1
        assert "response_format" not in server.asked[0].body


async def test_an_invalid_reply_is_quoted_in_a_second_request(connect: Connect) -> None:
    def says(asked: Asked) -> str:
        return "<1>" if "none of them" in asked.text else "Hm, hard to say."

    async with Server(Kind(obeys=()), says=says) as server:
        choice = await connect(server.url).choose(PROMPT, OPTIONS)
    assert choice.index == 0
    assert "Hm, hard to say." in server.asked[-1].text


@pytest.mark.parametrize("reply", ["I will not choose.", "", "{}", "<4>", "Surely <3> is where it changes", "🤷"])
async def test_two_invalid_replies_are_an_error(connect: Connect, reply: str) -> None:
    async with Server(Kind(obeys=()), says=lambda _: reply) as server:
        with pytest.raises(EngineError, match="cannot constrain"):
            await connect(server.url).choose(PROMPT, OPTIONS)


async def test_a_single_option_needs_no_request(connect: Connect) -> None:
    async with Server() as server:
        engine = connect(server.url)
        await engine.start()
        asked = len(server.asked)
        assert (await engine.choose(PROMPT, ["only"])).index == 0
        assert len(server.asked) == asked


async def test_the_probability_is_reported_if_the_server_reports_logprobs(connect: Connect) -> None:
    async with Server(Kind("vllm", obeys=("structured_outputs",), likely=True)) as server:
        assert (await connect(server.url).choose(PROMPT, OPTIONS)).probability == pytest.approx(1 / 3)
    async with Server() as server:
        assert (await connect(server.url).choose(PROMPT, OPTIONS)).probability is None


def test_a_probability_is_the_share_among_legal_tokens() -> None:
    first, last = TokenLogprobs("<", -0.1, {"The": -0.5}), TokenLogprobs(">", 0.0, {})
    told = TokenLogprobs("2", -1.0, {"1": -1.0, "7": -0.2, "9": -9.0})
    assert _probability(Reply("<2>", "end", NO_USAGE, (first, told, last)), OPTIONS, 1) == pytest.approx(0.5)
    untold = TokenLogprobs("2", -1.0, {"1": -1.0})
    assert _probability(Reply("<2>", "end", NO_USAGE, (first, untold, last)), OPTIONS, 1) is None


@pytest.mark.parametrize(
    ("reply", "index"),
    [("<2>", 1), (" <2>\n", 1), ("2", 1), ('"<2>".', 1), ("<2>\nbecause", 1), ("<22>", None), ("", None), ("<", None)],
)
def test_a_reply_matches_an_option_without_other_words(reply: str, index: int | None) -> None:
    assert match_option(None, reply, OPTIONS) == index
