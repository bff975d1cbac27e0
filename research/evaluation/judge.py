"""A judge model compares answers with references: LR-1 and LR-2.

As in ReadAgent, section 4.1, Figures 6 and 7. A strict rater says whether they agree; a permissive
one whether they agree, partly agree, or disagree. Either may decide for full agreement, and the
best of several references counts. LR-1 is the share of answers that agree, LR-2 the share that
agree at least partly. Each judge has its own file of ratings, so a run can be judged later, and by
several.
"""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from gistread.engine.protocol import NO_USAGE, Engine, Message, Priority, Usage
from gistread.errors import PromptTooLongError
from gistread.store.journal import Journal, read_records
from research import prompts
from research.evaluation.metrics import Case, scores
from research.evaluation.model import Rating
from research.evaluation.outcomes import AnsweredQuestion, Key

_STRICT = {"yes": Rating.EXACT, "no": Rating.NONE}
_PERMISSIVE = {"yes": Rating.EXACT, "partly": Rating.PARTIAL, "no": Rating.NONE}
# The ratings by answer of the judge, by the prompt's name
_RATERS = {"judge_strict": _STRICT, "judge_permissive": _PERMISSIVE}
_SUFFIX = ".ratings"
_METRICS = ("lr-1", "lr-2")
_NAME_CHARACTERS = 12  # Of a digest


async def rate(
    question: str, answer: str, references: Iterable[str], engine: Engine
) -> tuple[Rating, Usage]:
    """The rating by `engine` and its cost. Raises EngineError, PromptTooLongError."""
    usage = NO_USAGE
    best = Rating.NONE
    answer = answer.strip()
    if not answer:
        return best, usage
    for reference in references:
        for prompt_name, ratings in _RATERS.items():
            text = prompts.load(prompt_name).fill(
                question=question, answer=answer, reference=reference
            )
            prompt = (Message("user", text),)
            choice = await engine.choose(prompt, tuple(ratings), Priority.BACKGROUND)
            usage += choice.usage
            rating = list(ratings.values())[choice.index]
            best = max(best, rating)
            # No other rater can change full agreement.
            if best is Rating.EXACT:
                return best, usage
    return best, usage


async def rate_all(
    folder: Path, outcomes: Iterable[AnsweredQuestion], engine: Engine
) -> AsyncGenerator[tuple[int, int], None]:
    """Rate the answers not rated yet; yields done and total. Raises EngineError, StorageError."""
    path = _path(folder, engine)
    known = _known(path)
    answers = [answered for answered in outcomes if answered.question.references]
    yield len(known), len(answers)
    with Journal(path) as file:
        for answered in answers:
            question = answered.question
            answer = answered.outcome.answer
            _, rated_answer = known.get(answered.key, (None, None))
            if rated_answer == answer:
                continue
            rating = Rating.NONE
            with contextlib.suppress(PromptTooLongError):
                rating, _ = await rate(
                    question.text, answer, question.references, engine
                )
            document, question_id, reader = answered.key
            record = {
                "document": document,
                "question": question_id,
                "reader": reader,
                "answer": answer,
                "rating": rating.name.lower(),
                "judge": engine.info.name,
            }
            await asyncio.to_thread(file.append, record)
            known[answered.key] = rating, answer
            yield len(known), len(answers)


def with_ratings(
    folder: Path, outcomes: Iterable[AnsweredQuestion]
) -> tuple[list[AnsweredQuestion], str]:
    """The outcomes with LR-1 and LR-2 by the latest judge, and its name.

    The name is empty if there was no judge.
    """
    files = list(folder.glob(f"*{_SUFFIX}"))
    if not files:
        return list(outcomes), ""
    latest = max(files, key=lambda file: file.stat().st_mtime)
    known = _known(latest)
    records, _ = read_records(latest)
    judge = str(records[-1]["judge"]) if records else ""
    return [_add_rating(answered, known) for answered in outcomes], judge


def _add_rating(
    answered: AnsweredQuestion, known: Mapping[Key, tuple[Rating, str]]
) -> AnsweredQuestion:
    outcome = answered.outcome
    rating, rated_answer = known.get(answered.key, (None, ""))
    if rating is None or rated_answer != outcome.answer:
        return answered
    judged = scores(Case(answered.question, outcome, rating=rating), _METRICS)
    outcome = replace(outcome, scores=(*outcome.scores, *judged))
    return replace(answered, outcome=outcome)


def _path(folder: Path, engine: Engine) -> Path:
    """The file of a judge's ratings; other prompts make another file."""
    version = prompts.version(*_RATERS)
    key = f"{engine.info.fingerprint}\0{version}"
    digest = hashlib.sha256(key.encode()).hexdigest()
    return folder / f"{digest[:_NAME_CHARACTERS]}{_SUFFIX}"


def _known(path: Path) -> dict[Key, tuple[Rating, str]]:
    """The rating of each question, with the answer that was rated."""
    known: dict[Key, tuple[Rating, str]] = {}
    records, _ = read_records(path)
    for record in records:
        match record:
            case {
                "document": str(document),
                "question": str(question),
                "reader": str(reader),
                "answer": str(answer),
                "rating": str(rating),
            } if rating.upper() in Rating.__members__:
                known[document, question, reader] = Rating[rating.upper()], answer
    return known
