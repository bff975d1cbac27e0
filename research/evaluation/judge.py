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
_SUFFIX = ".ratings"
_METRICS = ("lr-1", "lr-2")


async def rate(
    question: str, answer: str, references: Iterable[str], engine: Engine
) -> tuple[Rating, Usage]:
    """The rating by `engine` and its cost. Raises EngineError, PromptTooLongError."""
    usage = NO_USAGE
    best = Rating.NONE
    if not answer.strip():
        return best, usage
    for reference in references:
        # The permissive rater cannot change a strict yes.
        for name, options in (
            ("judge_strict", _STRICT),
            ("judge_permissive", _PERMISSIVE),
        ):
            text = prompts.load(name).fill(
                question=question, answer=answer.strip(), reference=reference
            )
            choice = await engine.choose(
                (Message("user", text),), tuple(options), Priority.BACKGROUND
            )
            usage += choice.usage
            best = max(best, tuple(options.values())[choice.index])
            if best is Rating.EXACT:
                return best, usage
    return best, usage


async def rate_all(
    folder: Path, outcomes: Iterable[AnsweredQuestion], engine: Engine
) -> AsyncGenerator[tuple[int, int], None]:
    """Rate the answers not rated yet; yields done and total. Raises EngineError, StorageError."""
    known = _known(_path(folder, engine))
    answers = [answer for answer in outcomes if answer.question.references]
    yield len(known), len(answers)
    with Journal(_path(folder, engine)) as file:
        for answer in answers:
            if answer.key in known and known[answer.key][1] == answer.outcome.answer:
                continue
            rating = Rating.NONE
            with contextlib.suppress(PromptTooLongError):
                rating, _ = await rate(
                    answer.question.text,
                    answer.outcome.answer,
                    answer.question.references,
                    engine,
                )
            document, question, reader = answer.key
            record = {
                "document": document,
                "question": question,
                "reader": reader,
                "answer": answer.outcome.answer,
                "rating": rating.name.lower(),
                "judge": engine.info.name,
            }
            await asyncio.to_thread(file.append, record)
            known[answer.key] = rating, answer.outcome.answer
            yield len(known), len(answers)


def with_ratings(
    folder: Path, outcomes: Iterable[AnsweredQuestion]
) -> tuple[list[AnsweredQuestion], str]:
    """The outcomes with LR-1 and LR-2 by the latest judge, and its name.

    Empty if there was none.
    """
    files = sorted(folder.glob(f"*{_SUFFIX}"), key=lambda file: file.stat().st_mtime)
    if not files:
        return list(outcomes), ""
    known = _known(files[-1])
    records, _ = read_records(files[-1])
    judge = str(records[-1]["judge"]) if records else ""
    return [_add_rating(answer, known) for answer in outcomes], judge


def _add_rating(
    answered: AnsweredQuestion, known: Mapping[Key, tuple[Rating, str]]
) -> AnsweredQuestion:
    rating, answer = known.get(answered.key, (None, ""))
    if rating is None or answer != answered.outcome.answer:
        return answered
    judged = scores(Case(answered.question, answered.outcome, rating=rating), _METRICS)
    return replace(
        answered,
        outcome=replace(answered.outcome, scores=(*answered.outcome.scores, *judged)),
    )


def _path(folder: Path, engine: Engine) -> Path:
    version = prompts.version("judge_strict", "judge_permissive")
    key = hashlib.sha256(f"{engine.info.fingerprint}\0{version}".encode()).hexdigest()[
        :12
    ]
    return folder / f"{key}{_SUFFIX}"


def _known(path: Path) -> dict[Key, tuple[Rating, str]]:
    known = {}
    for record in read_records(path)[0]:
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
