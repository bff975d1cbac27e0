"""Answers are rated after all are there, each once by each judge."""

from pathlib import Path

import pytest

from gistread.errors import EngineError
from gistread.evaluation.judge import rate_all, with_ratings
from tests.evaluation.runs import make_asked, unended
from tests.fake_engine import FakeEngine

ASKED = [make_asked("a", str(number), "bm25", f1=10) for number in range(4)]


async def rate(folder: Path, judge: FakeEngine, asked: object = ASKED) -> list[tuple[int, int]]:
    return [done async for done in rate_all(folder, asked, judge)]  # type: ignore[arg-type]


def rated(folder: Path) -> list[float]:
    return [dict(one.outcome.scores)["lr-1"] for one in with_ratings(folder, ASKED)[0]]


async def test_ratings_join_the_scores_with_the_name_of_the_judge(tmp_path: Path) -> None:
    assert with_ratings(tmp_path, ASKED) == (ASKED, "")
    assert (await rate(tmp_path, FakeEngine(chooses=lambda _, options: "yes")))[-1] == (4, 4)
    found, judge = with_ratings(tmp_path, ASKED)
    assert judge == "fake"
    assert dict(found[0].outcome.scores) == {"f1": 10.0, "lr-1": 100.0, "lr-2": 100.0}


async def test_rated_answers_are_not_rated_again(tmp_path: Path) -> None:
    answers = iter(["yes", "no", "partly", EngineError("Gone.")])

    def chooses(text: str, options: object) -> str:
        said = next(answers)
        if isinstance(said, Exception):
            raise said
        return said

    with pytest.raises(EngineError):
        await rate(tmp_path, FakeEngine(chooses=chooses))
    judge = FakeEngine(chooses=lambda _, options: "no")
    await rate(tmp_path, judge)
    assert (
        len({call.text for call in judge.calls if "yes" in call.options}) == 2
    )  # The same words, strict and permissive.
    assert len(judge.calls) == 4
    assert rated(tmp_path) == [100, 0, 0, 0]


async def test_another_judge_has_its_own_ratings(tmp_path: Path) -> None:
    await rate(tmp_path, FakeEngine(chooses=lambda _, options: "yes"))
    await rate(tmp_path, FakeEngine(chooses=lambda _, options: "no", fingerprint="other"))
    assert len(list(tmp_path.glob("*.ratings"))) == 2


async def test_a_new_answer_is_rated_anew(tmp_path: Path) -> None:
    await rate(tmp_path, FakeEngine(chooses=lambda _, options: "yes"))
    changed = [unended(ASKED[0]), *ASKED[1:]]
    assert "lr-1" not in dict(with_ratings(tmp_path, changed)[0][0].outcome.scores)
    await rate(tmp_path, FakeEngine(chooses=lambda _, options: "yes"), changed)
    assert dict(with_ratings(tmp_path, changed)[0][0].outcome.scores)["lr-1"] == 0
