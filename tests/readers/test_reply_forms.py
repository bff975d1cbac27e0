"""Replies are read in their form, and out of it."""

import json

import pytest

from gistread.readers.reply_forms import (
    choice_with_words,
    read_choice,
    read_several,
    read_words,
    several_choices,
)


@pytest.mark.parametrize(
    ("reply", "named"),
    [
        ("Page 4, Page 2, STOP", ["Page 4", "Page 2", "STOP"]),
        ("STOP, Page 2", ["STOP"]),
        ("**Page 4**\nPage 2", ["Page 4", "Page 2"]),
        ('{"choices": ["Page 4", "Page 2"]}', ["Page 4", "Page 2", "STOP"]),
        ('{"choices": []}', ["STOP"]),
        ('{"choices": ["Page 4", "Pa', ["Page 4"]),
        ("{}", ["STOP"]),
    ],
)
def test_several_choices_are_read_as_a_line_and_as_json(
    reply: str, named: list[str]
) -> None:
    assert read_several(reply, "STOP") == named


def test_a_choice_is_read_with_its_words() -> None:
    reply = '{"choice": "part", "told": "Ann hides \\"it\\"\\n there."}'
    assert read_choice(reply) == "part"
    assert read_words(reply) == "Ann hides ”it” there"
    assert read_words('{"choice": "part", "told": "Ann hid') == "Ann hid…"
    assert read_choice("part") == read_words("part") == ""


def test_schemas_are_strict() -> None:
    for form in (
        choice_with_words(["a", "b"], "why"),
        several_choices(["a", "b"], 2, "STOP"),
    ):
        schema = json.loads(form.schema)
        assert schema["required"] == list(schema["properties"])
        assert schema["additionalProperties"] is False
