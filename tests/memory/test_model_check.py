"""The check whether a model is good enough for reading."""

import asyncio
from collections.abc import Sequence

import pytest

from gistread.engine.protocol import NO_USAGE, Completion, Priority
from gistread.errors import EngineError
from gistread.memory import model_check
from gistread.memory.check_results import Worth
from gistread.memory.extractive import extract
from gistread.memory.gisting import GistResult
from gistread.memory.guard import Fault
from gistread.memory.model import Gist, GistSource
from gistread.memory.model_check import assess, check_model, passages
from tests.fake_engine import FakeEngine, Say

OWN = GistResult(Gist("Short.", 1, GistSource.MODEL), (), NO_USAGE)
EXTRACT = GistResult(Gist("Short.", 1, GistSource.EXTRACTIVE), (Fault.LOOP, Fault.COPIED), NO_USAGE)
ENDED = Completion("It is about Ines.", "end", NO_USAGE)
RIGHT = [(0, 0), (2, 2), (1, 1), (0, 0), (2, 2), (1, 1)]
FIRST = [(0, right) for _, right in RIGHT]
ANSWERED = [True] * 6
ANYHOW = [(1, 0), (2, 2), (0, 1), (2, 0), (1, 2), (0, 1)]


def rightly(text: str, options: Sequence[str]) -> str:
    """The letter of the line that is right, wherever it stands."""
    answers = {answer for question, answer, *_ in model_check._QUESTIONS if question in text}
    lines = [line for line in text.splitlines() if line[1:3] == ". " and line[3:] in answers]
    return lines[0][0]


def good(text: str) -> Say:
    """Own words about the passage: every fourth word of it, in its order."""
    if "who is this text about" in text:
        return "It is about Ines, who keeps bees."
    if "parts of a book" in text:
        return (
            "Honey." if any(question in text for question, *_ in model_check._QUESTIONS) else "The book does not say."
        )
    passage = text.partition("Passage:")[2].partition("---")[0]
    words = [word.strip("“”‘’(),.;:?!").lower() for word in passage.split()]
    return " ".join(words[::7][:25]).capitalize() + "."


def looping(text: str) -> Say:
    return Completion("the water and the river and " * 40, "length", NO_USAGE)


async def test_a_model_that_passes_everything_is_good_for_reading() -> None:
    result = await check_model(FakeEngine(says=good, chooses=rightly))
    assert (result.worth, result.line) == (Worth.READING, "good for reading")
    assert (result.chosen, result.choices) == (12, 12)
    assert (result.answered, result.questions, result.knows_absence) == (6, 6, True)
    assert result.gists == result.passages >= 2
    assert result.faults == ()


async def test_a_model_that_chooses_by_position_and_loops_is_described() -> None:
    result = await check_model(FakeEngine(says=looping, chooses=lambda _, __: 0))
    assert result.worth is Worth.EXTRACTIVE
    assert result.line == (
        "gists will be extractive; it chooses by the position of an option, not by its content; "
        "it cannot tell whether the text has an answer; its answers do not end by themselves"
    )
    assert result.by_place
    assert result.chosen == 4
    assert result.gists == 0
    assert result.faults


async def test_a_model_that_only_chooses_by_words_is_said_to() -> None:
    def by_words(text: str, options: Sequence[str]) -> int:
        answers = {answer.lower() for question, answer, *_ in model_check._QUESTIONS if question in text}
        return next((at for at, option in enumerate(options) if option.lower().rstrip(".") in answers), 0)

    result = await check_model(FakeEngine(says=good, chooses=by_words))
    assert result.line == "its gists are good; it chooses by the words of an option, not by its letter"
    assert (result.chosen, result.by_words, result.is_reliable) == (4, 12, False)


async def test_a_silent_model_cannot_be_used() -> None:
    result = await check_model(FakeEngine(says=lambda _: "", chooses=rightly))
    assert (result.worth, result.line) == (Worth.NONE, "cannot be used: it writes nothing")


async def test_the_check_uses_the_given_priority_and_every_option_order() -> None:
    engine = FakeEngine(says=good, chooses=rightly)
    await check_model(engine, Priority.BACKGROUND)
    assert {call.priority for call in engine.calls} == {Priority.BACKGROUND}
    choices = [call for call in engine.calls if call.kind == "choose"]
    places = [rightly(call.text, call.options) for call in choices]
    assert sorted(places) == 4 * ["A"] + 4 * ["B"] + 4 * ["C"]


async def test_a_check_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(FakeEngine):
        async def choose(self, *_: object) -> object:  # type: ignore[override]
            await asyncio.sleep(60)
            raise AssertionError

    monkeypatch.setattr(model_check, "TIME_LIMIT_S", 0.05)
    with pytest.raises(EngineError, match="could not be checked within"):
        await check_model(Slow())


@pytest.mark.parametrize(
    ("gisted", "worth", "line"),
    [
        ([OWN, OWN], Worth.READING, "good for reading"),
        ([OWN, OWN, OWN, EXTRACT], Worth.SOME, "some gists will be extractive"),
        ([OWN, EXTRACT], Worth.EXTRACTIVE, "many gists will be extractive"),
        ([EXTRACT, EXTRACT], Worth.EXTRACTIVE, "gists will be extractive"),
    ],
)
def test_the_result_depends_on_the_share_of_gists_that_pass(gisted: list[GistResult], worth: Worth, line: str) -> None:
    result = assess(RIGHT, ANSWERED, ENDED, gisted)
    assert (result.worth, result.line) == (worth, line)
    assert len(result.faults) == (2 if EXTRACT in gisted else 0)


def test_good_gists_do_not_hide_bad_choices_or_endless_turns() -> None:
    assert assess(FIRST, ANSWERED, ENDED, [OWN, OWN]).line.startswith("its gists are good; it chooses by the position")
    assert (
        assess(ANYHOW, ANSWERED, ENDED, [OWN, OWN]).line
        == "its gists are good; it chooses little better than by chance"
    )
    assert assess(ANYHOW, ANSWERED, ENDED, [OWN, OWN]).worth is Worth.SOME


@pytest.mark.parametrize(
    "said",
    [
        Completion("It is about Ines.", "length", NO_USAGE),
        Completion("It is about Ines.<|im_end|>\n<|im_start|>user", "end", NO_USAGE),
        Completion("It is about Ines.\nuser\nAnd who else?", "end", NO_USAGE),
        Completion("It is about Ines. [/INST]", "end", NO_USAGE),
    ],
)
def test_an_endless_turn_or_template_markers_are_noticed(said: Completion) -> None:
    result = assess(RIGHT, ANSWERED, said, [OWN, OWN])
    assert not result.ends_turns
    assert "do not end by themselves" in result.line


def test_a_base_model_is_reported() -> None:
    assert (
        "it is a base model, without a chat template"
        in assess(RIGHT, ANSWERED, ENDED, [OWN, OWN], has_template=False).line
    )


def test_passages_are_distinct_whole_paragraphs_of_the_sample() -> None:
    found = passages(6)
    assert len(found) == len(set(found)) == 6
    for passage in found:
        assert 150 <= len(passage.split()) < 500
        assert extract(passage, 30)
