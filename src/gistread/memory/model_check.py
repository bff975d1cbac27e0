"""Checks whether a model is good enough for reading: a bad model does not fail visibly.

It answers questions about a text, freely: some have to be inferred, and some have no answer. A
reply counts by the words that it has, however it is put, and decides about `Trust`. The model also
writes one sentence, and gists passages of the sample story under the usual guard.
"""

import asyncio
import contextlib
import re
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path

from gistread import prompts
from gistread.engine.protocol import Completion, Engine, Message, Priority, Prompt, Sampling, Trust
from gistread.errors import EngineError
from gistread.memory.check_results import CheckResult
from gistread.memory.gisting import GistResult, careful_attempts, gist_page
from gistread.memory.model import GistFocus, GistSource
from gistread.sample import story_path
from gistread.words import count_words

TIME_LIMIT_S = 120.0  # A slower model is not checked
BRIEF_LIMIT_S = 5.0  # For a check before an answer
_BRIEF_QUESTIONS = 6
_GISTING_S = 8.0  # Time for gisting; at least two passages are gisted
_TURN_TOKENS = 160  # Enough for a model that is asked for a sentence and writes a paragraph
_ANSWER_TOKENS = 48
_PASSAGE_WORDS = 150
_MAX_PASSAGES = 6
# Markers of chat templates.
_MARKS = re.compile(
    r"<\|?[a-z_]{2,}\|?>|</s>|\[/?INST\]|<<SYS>>|^\s*(?:user|assistant|system)\s*:?\s*$",
    re.I | re.M,
)

_QUESTIONNAIRE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_TEXT: str = _QUESTIONNAIRE["text"]
QUESTIONS: list[tuple[str, str, str]] = list(map(tuple, _QUESTIONNAIRE["questions"]))
_ANSWERED: list[tuple[str, str]] = list(map(tuple, _QUESTIONNAIRE["answered"]))
_UNANSWERED: list[str] = _QUESTIONNAIRE["unanswered"]
_PASSES = 2 / 3  # Least share of right answers
_DENIES = re.compile(
    r"\b(?:no|not|none|nothing|never|neither|nor|unknown|unclear|cannot|without|\w+n['’]t)\b",
    re.IGNORECASE,
)


class TooSlowError(EngineError):
    """The check did not finish within the time limit."""


async def check_model(engine: Engine, priority: Priority = Priority.BACKGROUND) -> CheckResult:
    """Check a loaded model, in a few seconds or up to `TIME_LIMIT_S`.

    Raises TooSlowError, EngineError.
    """
    began = time.monotonic()
    try:
        async with asyncio.timeout(TIME_LIMIT_S):
            right, answered = await _ask(engine, priority)
            turn = await engine.complete(
                _prompt("check_turn", engine.info.wording, text=_TEXT),
                Sampling(_TURN_TOKENS),
                priority,
            )
            gisted = await _shorten(engine, priority)
    except TimeoutError:
        raise TooSlowError(
            f"{engine.info.name} could not be checked within {TIME_LIMIT_S:.0f} s: it is slow, "
            "or the machine is busy.",
            "It is checked again at its next start, or with `gistread models check`.",
        ) from None
    return assess(
        right,
        answered,
        turn,
        gisted,
        time.monotonic() - began,
        has_template=engine.info.has_template,
    )


async def check_answering(engine: Engine) -> CheckResult | None:
    """Check answers only, within `BRIEF_LIMIT_S`; None if they take longer."""
    with contextlib.suppress(TimeoutError, EngineError):
        async with asyncio.timeout(BRIEF_LIMIT_S):
            right, answered = await _ask(engine, Priority.INTERACTIVE, _BRIEF_QUESTIONS)
            return CheckResult(
                _trust(right),
                "",
                right=sum(right),
                asked=len(right),
                answered=sum(answered),
                questions=len(answered),
            )
    return None


def assess(
    right: Sequence[bool],
    answered: Sequence[bool],
    turn: Completion,
    gisted: Sequence[GistResult],
    seconds: float = 0.0,
    *,
    has_template: bool = True,
) -> CheckResult:
    """Build the result.

    `right`: for each question about the text; `answered`: answered if the text has the answer.
    """
    ends_turns = turn.finish == "end" and not _MARKS.search(turn.text)
    own = sum(one.gist.source is not GistSource.EXTRACTIVE for one in gisted)
    faults = [
        fault for one in gisted if one.gist.source is GistSource.EXTRACTIVE for fault in one.faults
    ]
    is_usable = bool(turn.text.strip() or own)
    trust = _trust(right) if is_usable else Trust.FAILED
    complaints = {
        "it misunderstands what it reads": trust is Trust.FAILED,
        "it cannot tell whether the text has an answer": sum(answered) < len(answered) * _PASSES,
        "its answers do not end by themselves": not ends_turns,
        "it is a base model, without a chat template": not has_template,
    }
    said = [complaint for complaint, is_due in complaints.items() if is_due]
    if own < len(gisted):
        many = "some gists" if 2 * own > len(gisted) else "many gists" if own else "gists"
        said.insert(0, f"{many} will be extractive")
    elif any(one.gist.source is GistSource.QUOTED for one in gisted):
        said.insert(0, "its gists quote the book")
    else:
        said.insert(0, "its gists are good" if said else "good for reading")
    return CheckResult(
        trust,
        "; ".join(said) if is_usable else "cannot be used: it writes nothing",
        is_usable,
        right=sum(right),
        asked=len(right),
        answered=sum(answered),
        questions=len(answered),
        ends_turns=ends_turns,
        gists=own,
        passages=len(gisted),
        faults=tuple(dict.fromkeys(str(fault) for fault in faults)),
        seconds=round(seconds, 1),
    )


def _trust(right: Sequence[bool]) -> Trust:
    return Trust.PASSED if sum(right) >= _PASSES * len(right) else Trust.FAILED


def is_right(reply: str, right: str, wrong: str) -> bool:
    """Whether a reply names what is right: first, or last after weighing what is wrong."""
    words = re.findall(r"\w+", reply.lower())
    named = [
        bool(re.fullmatch(right, word)) for word in words if re.fullmatch(f"{right}|{wrong}", word)
    ]
    return bool(named) and (named[0] or named[-1])


async def _ask(
    engine: Engine, priority: Priority, most: int = len(QUESTIONS)
) -> tuple[list[bool], list[bool]]:
    """Ask all questions at once.

    Returns whether the model answered each question about the text rightly, and whether it answered
    each of the others if, and only if, the text has the answer.
    """
    wording, asked = engine.info.wording, QUESTIONS[:most]
    task = prompts.load("task_answer", wording).text

    async def reply_to(question: str) -> str:
        prompt = _prompt("answer_passages", wording, text=_TEXT, question=question, task=task)
        return (await engine.complete(prompt, Sampling(_ANSWER_TOKENS), priority)).text

    questions = [*(one[0] for one in (*asked, *_ANSWERED)), *_UNANSWERED]
    replies = iter(await asyncio.gather(*map(reply_to, questions)))
    right = [is_right(next(replies), right, wrong) for _, right, wrong in asked]
    answered = [word in next(replies).lower() for _, word in _ANSWERED]
    return right, answered + [bool(_DENIES.search(reply)) for reply in replies]


async def _shorten(engine: Engine, priority: Priority) -> list[GistResult]:
    """Gist passages, two at a time, while time allows."""
    began = time.monotonic()
    gisted: list[GistResult] = []
    found = passages()
    for at in range(0, len(found), 2):
        pair = found[at : at + 2]
        attempts = [
            await careful_attempts(text, engine, GistFocus(wording=engine.info.wording))
            for text in pair
        ]
        tasks = [
            gist_page(text, engine, tried, priority)
            for text, tried in zip(pair, attempts, strict=True)
        ]
        gisted += await asyncio.gather(*tasks)
        if time.monotonic() - began > _GISTING_S / 2:
            break
    return gisted


def passages() -> list[str]:
    """The first passages of the sample story, each of whole paragraphs."""
    paragraphs = [
        line
        for line in story_path().read_text(encoding="utf-8").splitlines()
        if count_words(line) > 20
    ]
    found: list[str] = []
    current: list[str] = []
    for paragraph in paragraphs:
        current.append(paragraph)
        if sum(map(count_words, current)) >= _PASSAGE_WORDS:
            found.append("\n\n".join(current))
            current = []
    return found[:_MAX_PASSAGES]


def _prompt(name: str, wording: str, **values: str) -> Prompt:
    return (Message("user", prompts.load(name, wording).fill(**values)),)
