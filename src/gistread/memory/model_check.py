"""Checks what a model can do: a bad model does not fail visibly.

The model answers questions about a text, some of which have to be inferred. It should say of three
that the text does not answer them. It chooses between options, writes one sentence, and gists one
or two passages of the sample story under the usual guard. Readers use the result
(`readers/model_class.py`).
"""

import asyncio
import contextlib
import math
import re
import time
import tomllib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from gistread import prompts
from gistread.engine.protocol import (
    Completion,
    Engine,
    Message,
    Priority,
    Prompt,
    Sampling,
)
from gistread.errors import EngineError, NoChoiceError
from gistread.memory.check_results import CheckResult
from gistread.memory.gisting import GistResult, careful_attempts, gist_page
from gistread.memory.model import GistFocus, GistSource
from gistread.sample import story_path
from gistread.words import count_words

TIME_LIMIT_S = 120.0  # A slower model is not checked
BRIEF_LIMIT_S = 5.0  # For a check before an answer
_BRIEF_QUESTIONS = 6
_TURN_TOKENS = 80  # Enough for a model that writes three sentences instead of one
_ANSWER_TOKENS = 24
_PASSAGE_WORDS = 90
_MAX_PASSAGES = 2
# Least share of right answers; a model that copies the nearest sentence has a third.
_LEAST_RIGHT = 0.5
# Least share of the unanswerable questions that the model must notice
_LEAST_REFUSED = 0.6
_PARAGRAPH_WORDS = 20  # A shorter line is a heading, or speech without its context
# Markers of chat templates.
_MARKS = re.compile(
    r"<\|?[a-z_]{2,}\|?>|</s>|\[/?INST\]|<<SYS>>|^\s*(?:user|assistant|system)\s*:?\s*$",
    re.I | re.M,
)
_DENIES = re.compile(
    r"\b(?:no|not|none|nothing|never|neither|nor|unknown|unclear|cannot|without|\w+n['’]t)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question about the text: expressions for a word of a right answer, and of wrong ones."""

    text: str
    right: str
    wrong: str


@dataclass(frozen=True, slots=True)
class Options:
    """A question with three options, and the letter of the right one."""

    text: str
    options: tuple[str, ...]
    right: str


_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
TEXT: str = _TABLES["text"].strip()  # The text that the questions are about
QUESTIONS = tuple(Question(*row) for row in _TABLES["questions"])
UNANSWERED: tuple[str, ...] = tuple(_TABLES["unanswered"])
OPTIONS = tuple(
    Options(text, tuple(options), right) for text, options, right in _TABLES["options"]
)
_LETTERS = "ABC"
_Asked = TypeVar("_Asked", Question, str)


@dataclass(frozen=True, slots=True)
class Findings:
    """What the model did."""

    # For the first of `QUESTIONS`, whether each was answered rightly
    right: tuple[bool, ...]
    # For the first of `UNANSWERED`, whether it said that the text does not answer them
    refused: tuple[bool, ...]
    # For each of `OPTIONS`, whether it chose the right one
    chosen: tuple[bool, ...] = ()
    turn: Completion | None = None  # One sentence of its own
    gisted: tuple[GistResult, ...] = ()


class TooSlowError(EngineError):
    """The check did not finish within the time limit."""


async def check_model(
    engine: Engine, priority: Priority = Priority.BACKGROUND
) -> CheckResult:
    """Check a loaded model, in some twenty seconds or up to `TIME_LIMIT_S`.

    Raises TooSlowError, EngineError.
    """
    began = time.monotonic()
    try:
        async with asyncio.timeout(TIME_LIMIT_S):
            findings = await _find(engine, priority)
    except TimeoutError:
        raise TooSlowError(
            f"{engine.info.name} could not be checked within {TIME_LIMIT_S:.0f} s: it is slow, "
            "or the machine is busy.",
            "It is checked again at its next start, or with `gistread models check`.",
        ) from None
    seconds = time.monotonic() - began
    return assess(findings, seconds, has_template=engine.info.has_template)


async def check_answering(engine: Engine) -> CheckResult | None:
    """Check answers only, within `BRIEF_LIMIT_S`; None if they take longer, or the engine fails."""
    with contextlib.suppress(TimeoutError, EngineError):
        async with asyncio.timeout(BRIEF_LIMIT_S):
            priority = Priority.INTERACTIVE
            first = await _answers(engine, QUESTIONS[0], priority)
            return assess(await _ask(engine, first, priority, _BRIEF_QUESTIONS))
    return None


async def _find(engine: Engine, priority: Priority) -> Findings:
    # After the first question, the others find the text in the cache.
    first = await _answers(engine, QUESTIONS[0], priority)
    prompt = _prompt("check_turn", engine, text=TEXT)
    answers, turn, chosen, gisted = await asyncio.gather(
        _ask(engine, first, priority),
        engine.complete(prompt, Sampling(_TURN_TOKENS), priority),
        asyncio.gather(*(_chooses(engine, question, priority) for question in OPTIONS)),
        _shorten(engine, priority),
    )
    return Findings(answers.right, answers.refused, tuple(chosen), turn, tuple(gisted))


def assess(
    findings: Findings, seconds: float = 0.0, *, has_template: bool = True
) -> CheckResult:
    """Say what the model can do, by what it did; a brief check has neither turn nor gists."""
    right = findings.right
    refused = findings.refused
    turn = findings.turn
    gists = [result.gist.source for result in findings.gisted]
    passed = sum(source is not GistSource.EXTRACTIVE for source in gists)
    answers = sum(right) >= _LEAST_RIGHT * len(right)
    abstains = sum(refused) >= _LEAST_REFUSED * len(refused)
    ends_turns = turn is None or _ends(turn)
    is_usable = turn is None or bool(turn.text.strip()) or passed > 0
    line = "cannot be used: it writes nothing"
    if is_usable:
        remarks = [_remark_on_answers(answers=answers), _remark_on_gists(gists)]
        remarks += _shortcomings(
            abstains=abstains, ends_turns=ends_turns, has_template=has_template
        )
        line = "; ".join(filter(None, remarks))
    return CheckResult(
        answers=answers and is_usable,
        abstains=abstains,
        chooses=all(findings.chosen),
        line=line,
        is_usable=is_usable,
        right=sum(right),
        asked=len(right),
        refused=sum(refused),
        unanswerable=len(refused),
        ends_turns=ends_turns,
        gists=passed,
        passages=len(gists),
        faults=_distinct_faults(findings.gisted),
        seconds=round(seconds, 1),
    )


def _ends(turn: Completion) -> bool:
    """Whether the model ended its turn itself, without text of its chat template."""
    return turn.finish == "end" and _MARKS.search(turn.text) is None


def _shortcomings(
    *, abstains: bool, ends_turns: bool, has_template: bool
) -> Iterator[str]:
    if not abstains:
        yield "does not notice what a book does not tell"
    if not ends_turns:
        yield "its answers may run on"
    if not has_template:
        yield "a base model, without a chat template"


def _distinct_faults(results: Sequence[GistResult]) -> tuple[str, ...]:
    faults = [str(fault) for result in results for fault in result.faults]
    return tuple(dict.fromkeys(faults))


def _remark_on_answers(*, answers: bool) -> str:
    if answers:
        return "answers questions"
    return "often misreads, so its answers come with their sentences"


def _remark_on_gists(gists: Sequence[GistSource]) -> str:
    """What the user will notice in the memory."""
    if not gists:
        return ""
    quotations = (GistSource.EXTRACTIVE, GistSource.QUOTED)
    quoted = sum(source in quotations for source in gists)
    if quoted == 0:
        return "gists in its own words"
    if quoted == len(gists):
        return "gists are quotations"
    return "some gists are quotations"


def is_right(reply: str, right: str, wrong: str) -> bool:
    """Whether a reply names what is right: first, or last after weighing what is wrong.

    >>> is_right("Not the cook but the butler.", right="butler", wrong="cook")
    True
    """
    words = re.findall(r"\w+", reply.lower())
    named = [word for word in words if re.fullmatch(f"{right}|{wrong}", word)]
    if not named:
        return False
    first = named[0]
    last = named[-1]
    return any(re.fullmatch(right, word) for word in (first, last))


async def _ask(
    engine: Engine,
    first: bool,
    priority: Priority,
    most_questions: int = len(QUESTIONS),
) -> Findings:
    """Ask the questions, which share the text, until they decide whether the model passes.

    `first`: the result of the first one. `most_questions`: with an answer; the others have none.
    """

    async def answers(question: Question) -> bool:
        return await _answers(engine, question, priority)

    async def refuses(question: str) -> bool:
        return await _refuses(engine, question, priority)

    right, refused = await asyncio.gather(
        _until_decided(answers, QUESTIONS[:most_questions], _LEAST_RIGHT, [first]),
        _until_decided(refuses, UNANSWERED, _LEAST_REFUSED),
    )
    return Findings(right, refused)


async def _answers(engine: Engine, question: Question, priority: Priority) -> bool:
    """Whether the model answers a question rightly."""
    prompt = _question_prompt(engine, question.text, may_abstain=False)
    reply = await engine.complete(prompt, Sampling(_ANSWER_TOKENS), priority)
    return is_right(reply.text, question.right, question.wrong)


async def _refuses(engine: Engine, question: str, priority: Priority) -> bool:
    """Whether the model says that the text does not tell."""
    prompt = _question_prompt(engine, question, may_abstain=True)
    reply = await engine.complete(prompt, Sampling(_ANSWER_TOKENS), priority)
    return _DENIES.search(reply.text) is not None


async def _until_decided(
    passes: Callable[[_Asked], Awaitable[bool]],
    questions: Sequence[_Asked],
    least: float,
    known: Sequence[bool] = (),
) -> tuple[bool, ...]:
    """Ask until it is decided whether the share `least` of the questions is passed.

    `known`: the results of the first questions. Each round asks as many at once as still must be
    passed. Returns the results of all that were asked.
    """
    needed = math.ceil(least * len(questions))
    results = list(known)
    missing = needed - sum(results)
    while 0 < missing <= len(questions) - len(results):
        start = len(results)
        following = questions[start : start + missing]
        results += await asyncio.gather(*map(passes, following))
        missing = needed - sum(results)
    return tuple(results)


async def _chooses(engine: Engine, question: Options, priority: Priority) -> bool:
    """Whether the model chooses the right option by its letter."""
    pairs = zip(_LETTERS, question.options, strict=True)
    listed = "\n".join(f"{letter}. {option}" for letter, option in pairs)
    text = f"{question.text}\n{listed}"
    prompt = _prompt("check_option", engine, text=TEXT, question=text)
    try:
        choice = await engine.choose(prompt, list(_LETTERS), priority)
    except NoChoiceError:
        return False
    return _LETTERS[choice.index] == question.right


async def _shorten(engine: Engine, priority: Priority) -> list[GistResult]:
    """Gist the passages concurrently."""
    focus = GistFocus(wording=engine.info.wording)

    async def gist_of(text: str) -> GistResult:
        attempts = await careful_attempts(text, engine, focus)
        return await gist_page(text, engine, attempts, priority)

    return await asyncio.gather(*map(gist_of, passages()))


def passages() -> list[str]:
    """The first passages of the sample story, each of whole paragraphs."""
    lines = story_path().read_text(encoding="utf-8").splitlines()
    texts: list[str] = []
    current: list[str] = []
    for line in lines:
        if count_words(line) <= _PARAGRAPH_WORDS:
            continue
        current.append(line)
        if sum(map(count_words, current)) >= _PASSAGE_WORDS:
            texts.append("\n\n".join(current))
            current = []
    return texts[:_MAX_PASSAGES]


def _prompt(name: str, engine: Engine, **values: str) -> Prompt:
    template = prompts.load(name, engine.info.wording)
    return (Message("user", template.fill(**values)),)


def _question_prompt(engine: Engine, question: str, *, may_abstain: bool) -> Prompt:
    """The prompt for a fact over one passage, as readers send it.

    The trained wording always offers "The book does not say."
    """
    wording = engine.info.wording
    task_name = "task_answer" if wording else "task_brief"
    task = prompts.load(task_name, wording).text
    way_out = ""
    if may_abstain:
        way_out = f" {prompts.load('way_out').text}"
    opening = prompts.load("opening_part").text
    values = {"text": TEXT, "opening": opening, "way_out": way_out, "task": task}
    return _prompt("answer_passages", engine, question=question, **values)
