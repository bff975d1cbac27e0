"""Answers are rated after all are there, each once by each judge."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gistread.errors import EngineError
from research.evaluation.judge import rate_all, with_ratings
from tests.fake_engine import FakeEngine
from tests.research.evaluation.runs import make_asked

ASKED = [make_asked("a", str(number), "bm25", f1=10) for number in range(4)]


async def rate(
    folder: Path, judge: FakeEngine, outcomes: object = ASKED
) -> list[tuple[int, int]]:
    return [done async for done in rate_all(folder, outcomes, judge)]  # type: ignore[arg-type]


def rated(folder: Path) -> list[float]:
    return [
        dict(rating.outcome.scores)["lr-1"] for rating in with_ratings(folder, ASKED)[0]
    ]


async def test_rated_answers_are_not_rated_again(tmp_path: Path) -> None:
    answers: Iterator[str | Exception] = iter(
        ["yes", "no", "partly", EngineError("Gone.")]
    )

    def chooses(text: str, options: object) -> str:
        reply = next(answers)
        if isinstance(reply, Exception):
            raise reply
        return reply

    with pytest.raises(EngineError):
        await rate(tmp_path, FakeEngine(chooses=chooses))
    judge = FakeEngine(chooses=lambda _, options: "no")
    await rate(tmp_path, judge)
    # The same words, strict and permissive.
    assert len({call.text for call in judge.calls if "yes" in call.options}) == 2
    assert len(judge.calls) == 4
    assert rated(tmp_path) == [100, 0, 0, 0]
