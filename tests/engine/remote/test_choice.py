"""A choice is one of the options, whether or not the server takes a JSON schema."""

import pytest

from gistread.engine.protocol import Message, Prompt
from gistread.engine.remote.choice import match_option
from tests.engine.remote.conftest import Connect
from tests.engine.remote.server import Kind, RecordedRequest, Server

PROMPT: Prompt = (Message("user", "Where would you pause?"),)
OPTIONS = ["<1>", "<2>", "<3>"]


@pytest.mark.process
async def test_options_of_every_spelling_can_be_chosen_by_schema(
    connect: Connect,
) -> None:
    options = ['a "quoted" one', "a\\b", "(c)*", "e\nf", "é — ü", "[1]", "G."]
    async with Server() as server:
        engine = connect(server.url)
        for last in options:
            choice = await engine.choose(
                PROMPT, [*(option for option in options if option != last), last]
            )
            assert choice.index == len(options) - 1, last


@pytest.mark.process
async def test_a_server_that_ignores_the_schema_is_asked_in_words(
    connect: Connect,
) -> None:
    async with Server(
        Kind(obeys=()),
        says=lambda request: "**<2>**." if "exactly" in request.text else "Hi!",
    ) as server:
        engine = connect(server.url)
        for _ in range(3):
            assert (await engine.choose(PROMPT, OPTIONS)).index == 1
        assert "<1> <2> <3>" in server.requests[-1].text
        assert [
            "response_format" in request.body for request in server.requests[1:]
        ] == [
            True,
            False,
            True,
            False,
            False,
        ]


@pytest.mark.process
async def test_an_invalid_reply_is_quoted_in_another_request(connect: Connect) -> None:
    def says(request: RecordedRequest) -> str:
        return "<1>" if "none of them" in request.text else "Hm, hard to say."

    async with Server(Kind(obeys=()), says=says) as server:
        choice = await connect(server.url).choose(PROMPT, OPTIONS)
    assert choice.index == 0
    assert "Hm, hard to say." in server.requests[-1].text


@pytest.mark.parametrize(
    ("reply", "index"),
    [
        *(
            ("<2>", 1),
            (" <2>\n", 1),
            ("2", 1),
            ('"<2>".', 1),
            ("<2>\nbecause", 1),
            ("<2>, because it turns", 1),
        ),
        *(
            ('{"choice": "<2>"}', 1),
            ('```json\n{"choice": "<2>"}\n```', 1),
            ('{"choice": 2}', 1),
        ),
        *(
            ("<22>", None),
            ("", None),
            ("<", None),
            ('{"choice": "<2', None),
            ("2 or 3", None),
        ),
    ],
)
def test_a_reply_matches_the_option_that_it_names(
    reply: str, index: int | None
) -> None:
    assert match_option(reply, OPTIONS) == index
