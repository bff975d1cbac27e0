"""The answers of a run held before a judge, after all are there: LR-1 and LR-2, kept in a file of their own.

A run can be judged later, and by several models: each has its file, named after the judge's weights and prompts. One
that was interrupted goes on. How an answer is judged is in `judge.py`.
"""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from gistread.engine.protocol import Engine
from gistread.errors import PromptTooLongError
from gistread.evaluation import judge
from gistread.evaluation.judge import Rating
from gistread.evaluation.metrics import Case, scores
from gistread.evaluation.outcomes import AnsweredQuestion, Key
from gistread.journal import Journal, read_records

_SUFFIX = ".ratings"
_METRICS = ("lr-1", "lr-2")


async def rate_all(
    folder: Path, asked: Iterable[AnsweredQuestion], engine: Engine
) -> AsyncGenerator[tuple[int, int], None]:
    """Rate what this judge has not rated yet; yields how many of how many are done.

    Raises EngineError, StorageError. An answer that does not fit the judge's window agrees with nothing.
    """
    known = _known(_path(folder, engine))
    answers = [one for one in asked if one.question.references]
    yield len(known), len(answers)
    with Journal(_path(folder, engine), independent=True) as file:
        for one in answers:
            if known.get(one.key, (None, ""))[1] == one.outcome.answer and one.key in known:
                continue
            rating = Rating.NONE
            with contextlib.suppress(PromptTooLongError):
                verdict = await judge.rate(one.question.text, one.outcome.answer, one.question.references, engine)
                rating = verdict.rating
            document, question, reader = one.key
            record = {
                "document": document,
                "question": question,
                "reader": reader,
                "answer": one.outcome.answer,
                "rating": rating.name.lower(),
                "judge": engine.info.name,
            }
            await asyncio.to_thread(file.append, record)
            known[one.key] = rating, one.outcome.answer
            yield len(known), len(answers)


def with_ratings(folder: Path, asked: Iterable[AnsweredQuestion]) -> tuple[list[AnsweredQuestion], str]:
    """The outcomes with LR-1 and LR-2 by the judge who was asked last, and that judge's name; empty where none was."""
    files = sorted(folder.glob(f"*{_SUFFIX}"), key=lambda file: file.stat().st_mtime)
    if not files:
        return list(asked), ""
    known = _known(files[-1])
    records, _ = read_records(files[-1], independent=True)
    return [_rated(one, known) for one in asked], str(records[-1]["judge"]) if records else ""


def _rated(asked: AnsweredQuestion, known: Mapping[Key, tuple[Rating, str]]) -> AnsweredQuestion:
    rating, answer = known.get(asked.key, (None, ""))
    if rating is None or answer != asked.outcome.answer:
        return asked
    judged = scores(Case(asked.question, asked.outcome, rating=rating), _METRICS)
    return replace(asked, outcome=replace(asked.outcome, scores=(*asked.outcome.scores, *judged)))


def _path(folder: Path, engine: Engine) -> Path:
    key = hashlib.sha256(f"{engine.info.fingerprint}\0{judge.version()}".encode()).hexdigest()[:12]
    return folder / f"{key}{_SUFFIX}"


def _known(path: Path) -> dict[Key, tuple[Rating, str]]:
    """Ratings and the answers that they are of."""
    known = {}
    for record in read_records(path, independent=True)[0]:
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
