"""Prompts are files, and what is filled in is data."""

from importlib import resources

import pytest

from gistread import prompts


def names() -> list[str]:
    return sorted(
        file.name.removesuffix(".txt")
        for file in resources.files("gistread.prompts").iterdir()
        if file.name.endswith(".txt")
    )


def test_values_are_never_looked_at_again() -> None:
    template = prompts.PromptTemplate("x", "{passage} and {words}")
    assert (
        template.fill(passage="{words} {0} \\1 {{", words=5)
        == "{words} {0} \\1 {{ and 5"
    )


@pytest.mark.parametrize(
    "values", [{"passage": "x"}, {"passage": "x", "words": 1, "more": 2}]
)
def test_a_value_too_few_or_too_many_is_an_error(values: dict[str, object]) -> None:
    with pytest.raises(KeyError):
        prompts.PromptTemplate("x", "{passage} and {words}").fill(**values)


TEXTS = (
    "passage",
    "text",
    "findings",
    "reports",
    "summaries",
    "facts",
    "elements",
    "memory",
    "notes",
)
# In `note_chunk`, what the prompts of all parts share comes first.
WITHOUT_TEXT = {
    "absence",
    "aim",
    "answer_closed",
    "note_chunk",
    "note_language",
    "noted",
    "pace",
    "plan",
}
# Of prompts
PIECES = (
    "action_",
    "single_pass",
    "task_",
    "server_",
    "opening_",
    "reads_on",
    "way_out",
    "not_told",
)
WITH_TEXT = sorted(
    name for name in set(names()) - WITHOUT_TEXT if not name.startswith(PIECES)
)


@pytest.mark.parametrize("name", WITH_TEXT)
def test_the_text_comes_first_and_the_task_last(name: str) -> None:
    text = prompts.load(name).text.replace("{task}", prompts.load("task_answer").text)
    place = next(f"{{{place}}}" for place in TEXTS if f"{{{place}}}" in text)
    assert text.index(place) < 20
    assert len(text) - text.index(place) > 60


def test_look_up_and_answer_begin_alike() -> None:
    until = "{way_out}"
    answer = prompts.load("answer").text
    for name in ("lookup", "lookup_reason", "lookup_parallel"):
        assert prompts.load(name).text.startswith(answer[: answer.index(until)])


def test_what_is_given_beforehand_is_data_too_and_part_of_the_version() -> None:
    template = prompts.PromptTemplate("x", "{text}: {task} in {words}").with_values(
        {"task": "{words} {text}", "other": "y"}
    )
    assert template.places == {"text", "words"}
    assert template.fill(text="T", words=5) == "T: {words} {text} in 5"
    assert template.own_words == " : {words} {text} in  "
    assert prompts.version("gist", values={"keep": "a"}) != prompts.version(
        "gist", values={"keep": "b"}
    )
    assert prompts.version("pagination", values={"keep": "a"}) == prompts.version(
        "pagination"
    )


def test_a_model_with_an_adapter_gets_the_prompts_that_it_was_trained_on() -> None:
    files = (resources.files("gistread.prompts") / prompts.TRAINED).iterdir()
    own = {
        file.name.removesuffix(".txt")
        for file in files
        if not file.name.startswith("check_")
    }
    trained = sorted(
        own
        | {
            "answer",
            "answer_passages",
            "check_turn",
            "gist_again",
            "single_pass_text",
            "task_choice",
        }
    )
    assert set(trained) - {"task_answer_always"} <= set(names())
    # Another wording needs another training. The way out stands in its tasks.
    version = prompts.version(*trained, values={"way_out": ""}, wording=prompts.TRAINED)
    assert version == "ad97006643ac"
    for name in trained:
        template = prompts.load(name, prompts.TRAINED)
        assert template.fill(**dict.fromkeys(template.places | template.unused, "x"))
