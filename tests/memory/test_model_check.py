"""The check whether a model is good enough for reading."""

import asyncio

import pytest

from gistread.engine.protocol import NO_USAGE, Completion, Trust
from gistread.errors import EngineError
from gistread.memory import model_check
from gistread.memory.gisting import GistResult
from gistread.memory.guard import Fault
from gistread.memory.model import Gist, GistSource
from gistread.memory.model_check import QUESTIONS, assess, check_model
from tests.fake_engine import FakeEngine, Say

OWN = GistResult(Gist("Short.", 1, GistSource.MODEL), (), NO_USAGE)
EXTRACT = GistResult(Gist("Short.", 1, GistSource.EXTRACTIVE), (Fault.LOOP, Fault.COPIED), NO_USAGE)
ENDED = Completion("It is about Ines.", "end", NO_USAGE)
PASSED, ANSWERED = [True] * 12, [True] * 6
# Replies of a model of some 1.7B parameters: polite, rambling, in Markdown, sometimes wrong.
PLAUSIBLE = {
    "Who paid": "Based on the text, the person who paid for the honey is **the doctor**.",
    "Whose sister": (
        "Ines is the sister of her brother Karl. They mended the roof of the shed together on "
        "Tuesday."
    ),
    "What can be opened": "Answer: The shed.",
    "work together": (
        "On Monday she sold honey to the doctor, alone. She worked with Karl on Tuesday."
    ),
    "animals": "The text mentions that Ines keeps bees, so the honey was made by bees.",
    "What did the doctor get": (
        "## Answer\n\nThe doctor received two jars of honey in exchange for his money."
    ),
    "Is the doctor the brother": "No, the doctor is not the brother of Ines. Her brother is Karl.",
    "get wet": "Tuesday (it rained that day).",
    "blue tin": "The book does not say.",
    "out in the rain": "Ines",
    "Where must he go": "He must first go to the mill.",
    "day after": (
        "1. On Tuesday, Ines mended the roof of the shed.\n2. Her brother Karl helped her."
    ),
    "What did Ines sell": "Sure! Ines sold two jars of honey.",
    "Who helped": "- Her brother Karl",
    "key hang": "The key hangs beside the kitchen window",
    "king": "I'm sorry, but there is no king in the text above.",
    "giant": "The provided text doesn't contain any information about a giant.",
    "ship": "Not mentioned.",
}


def replied(text: str) -> str:
    """The plausible reply to the question of a prompt."""
    asked = text.rpartition("Question: ")[2]
    return next(reply for words, reply in PLAUSIBLE.items() if words in asked)


def good(text: str) -> Say:
    """Right answers; own words about a passage: every seventh word of it, in its order."""
    if "who is this text about" in text:
        return "It is about Ines, who keeps bees."
    if "parts of a book" in text:
        return next(
            (right.partition("|")[0] for asked, right, _ in QUESTIONS if asked in text), None
        ) or replied(text)
    passage = text.partition("Passage:")[2].partition("---")[0]
    words = [word.strip("“”‘’(),.;:?!").lower() for word in passage.split()]
    return " ".join(words[::7][:25]).capitalize() + "."


def chatty(text: str) -> Say:
    return replied(text) if "parts of a book" in text else good(text)


def looping(text: str) -> Say:
    return Completion("the water and the river and " * 40, "length", NO_USAGE)


def copying(text: str) -> Say:
    return "Ines keeps bees behind the mill." if "parts of a book" in text else good(text)


async def test_a_model_that_passes_everything_is_good_for_reading() -> None:
    result = await check_model(FakeEngine(says=good))
    assert (result.trust, result.line) == (Trust.PASSED, "good for reading")
    assert (result.right, result.asked) == (12, 12)
    assert (result.answered, result.questions, result.abstains_reliably) == (6, 6, True)
    assert result.gists == result.passages >= 2
    assert result.faults == ()


async def test_replies_in_any_wording_pass_the_check() -> None:
    result = await check_model(FakeEngine(says=chatty))
    assert (result.trust, result.right, result.answered) == (Trust.PASSED, 10, 6)


async def test_a_model_that_copies_or_loops_fails() -> None:
    assert (await check_model(FakeEngine(says=copying))).line == (
        "its gists are good; it misunderstands what it reads; it cannot tell whether the text "
        "has an answer"
    )
    result = await check_model(FakeEngine(says=looping))
    assert result.trust is Trust.FAILED
    assert result.line == (
        "gists will be extractive; it misunderstands what it reads; "
        "it cannot tell whether the text has an answer; its answers do not end by themselves"
    )
    assert (result.right, result.gists) == (0, 0)
    assert result.faults


async def test_a_check_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(FakeEngine):
        async def complete(self, *_: object) -> Completion:  # type: ignore[override]
            await asyncio.sleep(60)
            raise AssertionError

    monkeypatch.setattr(model_check, "TIME_LIMIT_S", 0.05)
    with pytest.raises(EngineError, match="could not be checked within"):
        await check_model(Slow())


@pytest.mark.parametrize(
    ("gisted", "line"),
    [
        ([OWN, OWN], "good for reading"),
        ([OWN, OWN, OWN, EXTRACT], "some gists will be extractive"),
        ([OWN, EXTRACT], "many gists will be extractive"),
        ([EXTRACT, EXTRACT], "gists will be extractive"),
    ],
)
def test_rejected_gists_do_not_decide_whether_answers_are_trusted(
    gisted: list[GistResult], line: str
) -> None:
    result = assess(PASSED, ANSWERED, ENDED, gisted)
    assert (result.trust, result.line) == (Trust.PASSED, line)
    assert len(result.faults) == (2 if EXTRACT in gisted else 0)


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
    result = assess(PASSED, ANSWERED, said, [OWN, OWN])
    assert not result.ends_turns
    assert "do not end by themselves" in result.line
