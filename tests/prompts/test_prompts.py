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
    assert template.fill(passage="{words} {0} \\1 {{", words=5) == "{words} {0} \\1 {{ and 5"


@pytest.mark.parametrize("values", [{"passage": "x"}, {"passage": "x", "words": 1, "more": 2}])
def test_a_value_too_few_or_too_many_is_an_error(values: dict[str, object]) -> None:
    with pytest.raises(KeyError):
        prompts.PromptTemplate("x", "{passage} and {words}").fill(**values)


def test_the_version_changes_with_every_word(monkeypatch: pytest.MonkeyPatch) -> None:
    before = prompts.version("gist", "pagination")
    assert prompts.version("gist") != before
    changed = prompts.PromptTemplate("gist", prompts.load("gist").text + ".")
    load = prompts.load
    monkeypatch.setattr(prompts, "load", lambda name: changed if name == "gist" else load(name))
    assert prompts.version("gist", "pagination") != before


TEXTS = ("passage", "text", "findings", "summaries", "facts", "elements", "memory", "notes")
WITHOUT_TEXT = {"aim", "lookup_reason", "answer_closed", "plan", "judge_strict", "judge_permissive"}
TASKS = ("single_pass", "task_", "server_")
WITH_TEXT = sorted(name for name in set(names()) - WITHOUT_TEXT if not name.startswith(TASKS))


@pytest.mark.parametrize("name", WITH_TEXT)
def test_the_text_comes_first_and_the_task_last(name: str) -> None:
    text = prompts.load(name).text.replace("{task}", prompts.load("task_answer").text)
    place = next(f"{{{place}}}" for place in TEXTS if f"{{{place}}}" in text)
    assert text.index(place) < 20
    assert len(text) - text.index(place) > 100


def test_in_single_pass_reading_any_task_follows_one_text() -> None:
    assert prompts.load("single_pass_text").text.endswith("{text}")
    for task in ("single_pass_pause", "single_pass_gist"):
        assert prompts.load(task).text.startswith("---\n")


def test_look_up_and_answer_begin_alike() -> None:
    until = "{question}"
    lookup, answer = prompts.load("lookup").text, prompts.load("answer").text
    assert lookup[: lookup.index(until)] == answer[: answer.index(until)]


def test_both_raters_of_the_judge_begin_alike() -> None:
    strict, permissive = prompts.load("judge_strict").text, prompts.load("judge_permissive").text
    assert strict[: strict.index("---")] == permissive[: permissive.index("---")]


def test_what_is_given_beforehand_is_data_too_and_part_of_the_version() -> None:
    template = prompts.PromptTemplate("x", "{text}: {task} in {words}").given({"task": "{words} {text}", "other": "y"})
    assert template.places == {"text", "words"}
    assert template.fill(text="T", words=5) == "T: {words} {text} in 5"
    assert template.own_words == " : {words} {text} in  "
    assert prompts.version("gist", given={"keep": "a"}) != prompts.version("gist", given={"keep": "b"})
    assert prompts.version("pagination", given={"keep": "a"}) == prompts.version("pagination")
