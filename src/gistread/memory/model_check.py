"""Checks whether a model is good enough for reading: a bad model does not fail visibly (D3, D6).

The model chooses among options by letter and, if that fails, by the likelihood of their words. It answers questions,
some of them without an answer in the text, writes one sentence, and gists passages of the sample story under the usual
guard.
"""

import asyncio
import contextlib
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from gistread import prompts
from gistread.book.normalise import count_words
from gistread.engine.protocol import Completion, Engine, Message, Priority, Prompt, Sampling
from gistread.errors import EngineError
from gistread.memory.check_results import RIGHT, CheckResult, Worth
from gistread.memory.gisting import GistResult, careful_attempts, gist_page
from gistread.memory.model import GistSource
from gistread.sample import story_path

TIME_LIMIT_S = 120.0  # A slower model is not checked
BRIEF_LIMIT_S = 5.0  # For a check before an answer
_BRIEF_CHOICES = 6
_GISTING_S = 8.0  # Time for gisting; at least two passages are gisted
_TURN_TOKENS = 48
_ANSWER_TOKENS = 16  # Enough to see whether it is an answer
_PASSAGE_WORDS = 150
_MAX_PASSAGES = 6
_LETTERS = "ABC"
_SAME_POSITION = 0.8  # Share of choices at one position that shows a model which ignores content
# Markers of chat templates.
_MARKS = re.compile(r"<\|?[a-z_]{2,}\|?>|</s>|\[/?INST\]|<<SYS>>|^\s*(?:user|assistant|system)\s*:?\s*$", re.I | re.M)

_TEXT = (
    "Ines keeps bees behind the mill. On Monday she sold two jars of honey to the doctor and put the money into a blue "
    "tin. On Tuesday it rained, and she mended the roof of the shed with her brother Karl. The key of the shed hangs "
    "beside the kitchen window."
)


# Each with its answer and two wrong ones.
_QUESTIONS = (
    ("What did Ines sell?", "two jars of honey", "a blue tin", "the roof of the shed"),
    ("Who helped her on Tuesday?", "her brother Karl", "the doctor", "nobody at all"),
    ("Where does the key hang?", "beside the kitchen window", "behind the mill", "on the roof"),
    ("Where does Ines keep her bees?", "behind the mill", "in the kitchen", "in a blue tin"),
    ("What was the weather on Tuesday?", "it rained", "it snowed", "the sun shone"),
    ("Who bought the honey?", "the doctor", "the miller", "her brother Karl"),
    ("What did Ines mend?", "the roof of the shed", "the kitchen window", "the mill"),
    ("Into what did she put the money?", "a blue tin", "a jar of honey", "the shed"),
    ("What does Ines keep behind the mill?", "bees", "hens", "jars"),
    ("What is Karl to Ines?", "her brother", "her doctor", "her son"),
    ("On which day did she sell honey?", "on Monday", "on Tuesday", "on Sunday"),
    ("What was the colour of the tin?", "blue", "green", "white"),
)
_UNANSWERED = ("What did the king eat?", "Why did the giant run away?", "What was the name of the ship?")
_NOT_SAID = re.compile(r"\b(?:does|do|did)(?: not|n['’]t) (?:\w+ly )?(?:say|tell|mention|state|specify)", re.I)


class TooSlowError(EngineError):
    """The check did not finish within the time limit."""


async def check_model(engine: Engine, priority: Priority = Priority.BACKGROUND) -> CheckResult:
    """Check a loaded model, in a few seconds or up to `TIME_LIMIT_S`. Raises TooSlowError, EngineError."""
    began = time.monotonic()
    try:
        async with asyncio.timeout(TIME_LIMIT_S):
            chosen = await _choose_by_letter(engine, priority)
            by_words = 0 if _passes(_right(chosen), len(chosen)) else await _choose_by_words(engine, priority)
            answered = await _answer(engine, priority)
            turn = await engine.complete(_prompt("check_turn", text=_TEXT), Sampling(_TURN_TOKENS), priority)
            gisted = await _shorten(engine, priority)
    except TimeoutError:
        raise TooSlowError(
            f"{engine.info.name} could not be checked within {TIME_LIMIT_S:.0f} s: it is slow, or the machine is busy.",
            "It is checked again at its next start, or with `gistread models check`.",
        ) from None
    seconds = time.monotonic() - began
    return assess(chosen, answered, turn, gisted, seconds, by_words=by_words, has_template=engine.info.has_template)


async def check_answering(engine: Engine) -> CheckResult | None:
    """Check choices and answers only, within `BRIEF_LIMIT_S`; None if the choices do not finish."""
    chosen, answered = list[tuple[int, int]](), list[bool]()
    with contextlib.suppress(TimeoutError, EngineError):
        async with asyncio.timeout(BRIEF_LIMIT_S):
            chosen = await _choose_by_letter(engine, Priority.INTERACTIVE, _BRIEF_CHOICES)
            answered = await _answer(engine, Priority.INTERACTIVE)
    counts = CheckResult(Worth.SOME, "", _right(chosen), len(chosen), answered=sum(answered), questions=len(answered))
    return counts if chosen else None


def assess(
    chosen: Sequence[tuple[int, int]],
    answered: Sequence[bool],
    turn: Completion,
    gisted: Sequence[GistResult],
    seconds: float = 0.0,
    *,
    by_words: int = 0,
    has_template: bool = True,
) -> CheckResult:
    """Build the result. `chosen`: pairs of chosen and right position. `by_words`: right choices by likelihood."""
    right = _right(chosen)
    commonest = Counter(place for place, _ in chosen).most_common(1)[0][1]
    ends_turns = turn.finish == "end" and not _MARKS.search(turn.text)
    own = sum(one.gist.source is GistSource.MODEL for one in gisted)
    faults = [fault for one in gisted if one.gist.source is not GistSource.MODEL for fault in one.faults]
    chooses = _passes(right, len(chosen))
    chooses_by_words = _passes(by_words, len(chosen))
    by_place = not chooses and commonest >= _SAME_POSITION * len(chosen)
    if not turn.text.strip() and not own:
        worth, said = Worth.NONE, ["cannot be used: it writes nothing"]
    elif 2 * own <= len(gisted):
        many = "many gists" if own else "gists"
        worth, said = Worth.EXTRACTIVE, [f"{many} will be extractive"]
    elif own < len(gisted):
        worth, said = Worth.SOME, ["some gists will be extractive"]
    else:
        worth, said = Worth.READING, ["good for reading"]
    if worth is not Worth.NONE:
        if chooses_by_words:
            said.append("it chooses by the words of an option, not by its letter")
        elif by_place:
            said.append("it chooses by the position of an option, not by its content")
        elif not chooses:
            said.append("it chooses little better than by chance")
        if not _passes(sum(answered), len(answered)):
            said.append("it cannot tell whether the text has an answer")
        if not ends_turns:
            said.append("its answers do not end by themselves")
        if not has_template:
            said.append("it is a base model, without a chat template")
        if worth is Worth.READING and len(said) > 1:
            worth, said[0] = Worth.SOME, "its gists are good"
    return CheckResult(
        worth,
        "; ".join(said),
        chosen=right,
        choices=len(chosen),
        answered=sum(answered),
        questions=len(answered),
        by_place=by_place,
        by_words=by_words,
        ends_turns=ends_turns,
        gists=own,
        passages=len(gisted),
        faults=tuple(dict.fromkeys(str(fault) for fault in faults)),
        seconds=round(seconds, 1),
    )


def _right(chosen: Sequence[tuple[int, int]]) -> int:
    return sum(place == wanted for place, wanted in chosen)


def _passes(right: int, asked: int) -> bool:
    return right >= RIGHT * asked


def _questions() -> Iterator[tuple[str, list[str], int]]:
    """Each question, its options, and the index of the right one, which is equally often at each position."""
    for number, (question, answer, *lines) in enumerate(_QUESTIONS):
        right = number % len(_LETTERS)
        lines.insert(right, answer)
        yield question, lines, right


async def _choose_by_letter(engine: Engine, priority: Priority, most: int = len(_QUESTIONS)) -> list[tuple[int, int]]:
    """The position chosen and the right position, for each question."""
    chosen: list[tuple[int, int]] = []
    for question, lines, right in islice(_questions(), most):
        options = "\n".join(f"{letter}. {line}" for letter, line in zip(_LETTERS, lines, strict=True))
        prompt = _prompt("check_choice", text=_TEXT, question=question, options=options)
        choice = await engine.choose(prompt, list(_LETTERS), priority)
        chosen.append((choice.index, right))
    return chosen


async def _choose_by_words(engine: Engine, priority: Priority) -> int:
    """The number of questions whose right option is the likeliest answer."""
    task = prompts.load("task_answer_always").text
    count = 0
    for question, lines, right in _questions():
        prompt, without = (_prompt("answer_passages", text=text, question=question, task=task) for text in (_TEXT, ""))
        options = [f"{line[0].upper()}{line[1:]}." for line in lines]
        choice = await engine.choose_likeliest(prompt, options, without, priority)
        count += choice.index == right
    return count


async def _answer(engine: Engine, priority: Priority) -> list[bool]:
    """Whether each question was answered if, and only if, the text has the answer."""
    asked = [(question, True) for question, *_ in _QUESTIONS[: len(_UNANSWERED)]] + [
        (question, False) for question in _UNANSWERED
    ]
    task = prompts.load("task_answer").text
    said = await asyncio.gather(
        *(
            engine.complete(
                _prompt("answer_passages", text=_TEXT, question=question, task=task), Sampling(_ANSWER_TOKENS), priority
            )
            for question, _ in asked
        )
    )
    return [
        bool(one.text.strip()) and bool(_NOT_SAID.search(one.text)) is not has_answer
        for one, (_, has_answer) in zip(said, asked, strict=True)
    ]


async def _shorten(engine: Engine, priority: Priority) -> list[GistResult]:
    """Gist passages, two at a time, while time allows."""
    began = time.monotonic()
    gisted: list[GistResult] = []
    found = passages(_MAX_PASSAGES)
    for at in range(0, len(found), 2):
        pair = found[at : at + 2]
        attempts = [await careful_attempts(text, engine) for text in pair]
        tasks = [gist_page(text, engine, tried, priority) for text, tried in zip(pair, attempts, strict=True)]
        gisted += await asyncio.gather(*tasks)
        if time.monotonic() - began > _GISTING_S / 2:
            break
    return gisted


def passages(count: int) -> list[str]:
    """The first passages of the sample story, each of whole paragraphs."""
    paragraphs = [line for line in story_path().read_text(encoding="utf-8").splitlines() if count_words(line) > 20]
    found: list[str] = []
    current: list[str] = []
    for paragraph in paragraphs:
        current.append(paragraph)
        if sum(map(count_words, current)) >= _PASSAGE_WORDS:
            found.append("\n\n".join(current))
            current = []
        if len(found) == count:
            break
    return found


def _prompt(name: str, **values: str) -> Prompt:
    return (Message("user", prompts.load(name).fill(**values)),)
