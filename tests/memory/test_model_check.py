"""The check whether a model is good enough for reading."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from gistread.engine.llama.client import LlamaEngine
from gistread.engine.protocol import (
    GREEDY,
    NO_USAGE,
    Completion,
    Priority,
    Prompt,
    Sampling,
    Usage,
)
from gistread.errors import EngineError
from gistread.memory import model_check
from gistread.memory.gisting import GistResult
from gistread.memory.guard import Fault
from gistread.memory.model import Gist, GistSource
from gistread.memory.model_check import (
    OPTIONS,
    QUESTIONS,
    Findings,
    assess,
    check_model,
)
from tests.fake_engine import FakeEngine, Say

OWN = GistResult(Gist("Short.", 1, GistSource.MODEL), (), NO_USAGE)
EXTRACT = GistResult(
    Gist("Short.", 1, GistSource.EXTRACTIVE), (Fault.LOOP, Fault.COPIED), NO_USAGE
)
ENDED = Completion("It is about Ines.", "end", NO_USAGE)
PASSED = Findings((True,) * 12, (True,) * 3, (True,) * 2, ENDED, (OWN, OWN))
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
    "king": "I'm sorry, but there is no king in the text above.",
    "giant": "The provided text doesn't contain any information about a giant.",
    "ship": "Not mentioned.",
}


def replied(text: str) -> str:
    """The plausible reply to the question of a prompt."""
    question = text.rpartition("Question: ")[2]
    return next(reply for words, reply in PLAUSIBLE.items() if words in question)


def good(text: str) -> Say:
    """Right answers; own words about a passage: every seventh word of it, in its order."""
    if "Who is the text above about" in text:
        return "It is about Ines, who keeps bees."
    if "Question: " in text:
        answers = (question.right for question in QUESTIONS if question.text in text)
        right = next(answers, None)
        return right.partition("|")[0] if right else replied(text)
    passage = text.partition("Passage:")[2].partition("---")[0]
    words = [word.strip("“”‘’(),.;:?!").lower() for word in passage.split()]
    return " ".join(words[::7][:25]).capitalize() + "."


def rightly(text: str, options: Sequence[str]) -> int:
    """The index of the right option."""
    return next("ABC".index(option.right) for option in OPTIONS if option.text in text)


def chatty(text: str) -> Say:
    return replied(text) if "Question: " in text else good(text)


def looping(text: str) -> Say:
    return Completion("the water and the river and " * 40, "length", NO_USAGE)


def copying(text: str) -> Say:
    return "Ines keeps bees behind the mill." if "Question: " in text else good(text)


async def test_a_model_that_passes_everything_answers_abstains_chooses_and_gists() -> (
    None
):
    result = await check_model(FakeEngine(says=good, chooses=rightly))
    assert (result.answers, result.abstains, result.chooses) == (True, True, True)
    assert result.line == "answers questions; gists in its own words"
    assert (result.right, result.asked) == (6, 6)
    assert (result.refused, result.unanswerable) == (2, 2)
    assert result.gists == result.passages >= 1
    assert result.faults == ()


async def test_replies_in_any_wording_count() -> None:
    result = await check_model(FakeEngine(says=chatty))
    assert (result.answers, result.right, result.refused) == (True, 6, 2)


@pytest.mark.parametrize(
    ("right", "question_count"),
    [
        (range(6), 6),
        (range(1, 7), 7),
        (range(6, 12), 12),
        (range(5), 12),
        ((0, 2, 4, 6), 11),
        ((), 7),
    ],
)
async def test_no_question_is_asked_that_decides_nothing(
    right: Sequence[int], question_count: int
) -> None:
    answered = [QUESTIONS[number].text for number in right]

    def says(text: str) -> Say:
        question = text.rpartition("Question: ")[2]
        is_known = any(words in question for words in answered)
        return good(text) if is_known or not question else "I wonder."

    result = await check_model(FakeEngine(says=says, chooses=rightly))
    assert (result.right, result.asked) == (len(right), question_count)
    assert result.answers == (len(right) == 6)


async def test_a_model_that_copies_or_loops_does_not_answer() -> None:
    copies = await check_model(FakeEngine(says=copying))
    assert copies.line == (
        "often misreads, so its answers come with their sentences; gists in its own words; "
        "does not notice what a book does not tell"
    )
    loops = await check_model(FakeEngine(says=looping))
    assert not loops.answers
    assert loops.line == (
        "often misreads, so its answers come with their sentences; gists are quotations; "
        "does not notice what a book does not tell; its answers may run on"
    )
    assert (loops.right, loops.gists) == (0, 0)
    assert loops.faults


async def test_a_model_that_always_names_the_first_option_does_not_choose() -> None:
    result = await check_model(FakeEngine(says=good, chooses=lambda _, options: 0))
    assert not result.chooses


async def test_the_text_is_evaluated_for_the_first_question_only(
    tiny: Path, tmp_path: Path
) -> None:
    questions: list[Usage] = []

    class Counting(LlamaEngine):
        async def complete(
            self,
            prompt: Prompt,
            sampling: Sampling = GREEDY,
            priority: Priority = Priority.INTERACTIVE,
        ) -> Completion:
            completion = await super().complete(prompt, sampling, priority)
            if "Question: " in prompt[-1].content:
                questions.append(completion.usage)
            return completion

    engine = Counting(tiny, log=tmp_path / "worker.log")
    try:
        await engine.start()
        await check_model(engine)
        text_tokens = await engine.count(model_check.TEXT)
    finally:
        await engine.close()
    first, *others = questions
    assert first.prefilled > text_tokens
    assert [usage for usage in others if usage.prefilled >= text_tokens] == []
    assert len(others) >= len(QUESTIONS) // 2


async def test_a_check_that_takes_too_long_is_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Slow(FakeEngine):
        async def complete(self, *_: object) -> Completion:
            await asyncio.sleep(60)
            raise AssertionError

    monkeypatch.setattr(model_check, "TIME_LIMIT_S", 0.05)
    with pytest.raises(EngineError, match="could not be checked within"):
        await check_model(Slow())


@pytest.mark.parametrize(
    ("gisted", "line"),
    [
        ((OWN, OWN), "answers questions; gists in its own words"),
        ((OWN, EXTRACT), "answers questions; some gists are quotations"),
        ((EXTRACT, EXTRACT), "answers questions; gists are quotations"),
    ],
)
def test_rejected_gists_do_not_decide_whether_a_model_answers(
    gisted: tuple[GistResult, ...], line: str
) -> None:
    result = assess(replace(PASSED, gisted=gisted))
    assert (result.answers, result.line) == (True, line)
    assert len(result.faults) == (2 if EXTRACT in gisted else 0)


@pytest.mark.parametrize(
    "turn",
    [
        Completion("It is about Ines.", "length", NO_USAGE),
        Completion("It is about Ines.<|im_end|>\n<|im_start|>user", "end", NO_USAGE),
        Completion("It is about Ines.\nuser\nAnd who else?", "end", NO_USAGE),
        Completion("It is about Ines. [/INST]", "end", NO_USAGE),
    ],
)
def test_an_endless_turn_or_template_markers_are_noticed(turn: Completion) -> None:
    result = assess(replace(PASSED, turn=turn))
    assert not result.ends_turns
    assert "may run on" in result.line
