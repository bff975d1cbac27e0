"""A run asks every reader every question once, and always comes to its end."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gistread.errors import EngineError
from gistread.memory.model import PageSize
from gistread.memory.store import MemoryStore
from gistread.readers.answering import ReaderOptions
from research.evaluation.model import Document
from research.evaluation.outcomes import OutcomeFile, read_outcomes
from research.evaluation.running import (
    FAILURES_IN_A_ROW,
    Plan,
    QuestionMeasured,
    RunConfig,
    run,
)
from tests.fake_engine import FakeEngine
from tests.research.evaluation.runs import make_document, make_task

DOCUMENTS = (make_document("one"), make_document("two"))
READERS = ("readagent-s", "bm25", "dos", "closed-book")
SIZE = PageSize(40, 80)


def make_plan(
    documents: Sequence[Document] = DOCUMENTS,
    readers: Sequence[str] = READERS,
    **options: Any,
) -> Plan:
    manner = options.pop("manner", RunConfig(size=SIZE))
    return Plan(
        make_task(*documents),
        documents,
        readers,
        ReaderOptions(),
        manner,
        **options,
    )


async def follow(plan: Plan, engine: FakeEngine, folder: Path) -> list[object]:
    with OutcomeFile(folder / "outcomes.jsonl") as outcomes:
        return [
            event
            async for event in run(
                plan, engine, MemoryStore(folder / "memories"), outcomes
            )
        ]


async def test_every_reader_is_asked_every_question_once(tmp_path: Path) -> None:
    plan = make_plan()
    events = await follow(plan, FakeEngine(), tmp_path)
    keys = [
        event.answered.key for event in events if isinstance(event, QuestionMeasured)
    ]
    assert len(keys) == len(set(keys)) == plan.questions == 16
    assert set(read_outcomes(tmp_path / "outcomes.jsonl")) == set(keys)
    assert plan.todo(read_outcomes(tmp_path / "outcomes.jsonl")) == []


async def test_a_question_with_an_outcome_is_not_asked_again(tmp_path: Path) -> None:
    await follow(make_plan(readers=("dos",)), FakeEngine(), tmp_path)
    engine = FakeEngine()
    assert await follow(make_plan(readers=("dos",)), engine, tmp_path) == []
    assert engine.calls == []


async def test_a_failed_question_is_an_outcome_and_the_run_continues(
    tmp_path: Path,
) -> None:
    failing = DOCUMENTS[0].questions[1].text
    engine = FakeEngine(
        says=lambda prompt: (
            EngineError("The model is gone.") if failing in prompt else "Ann."
        )
    )
    await follow(make_plan(readers=("dos", "closed-book")), engine, tmp_path)
    outcomes = read_outcomes(tmp_path / "outcomes.jsonl")
    unended = {
        key: answered.outcome
        for key, answered in outcomes.items()
        if not answered.outcome.ended
    }
    assert set(unended) == {("one", "q1", "dos"), ("one", "q1", "closed-book")}
    assert {outcome.error for outcome in unended.values()} == {"The model is gone."}
    assert {dict(outcome.scores)["ended"] for outcome in unended.values()} == {0.0}
    assert {dict(outcome.scores)["f1"] for outcome in unended.values()} == {0.0}
    assert len(outcomes) == 8


async def test_repeated_engine_failures_end_the_run(tmp_path: Path) -> None:
    documents = [make_document("one", 20)]
    with pytest.raises(EngineError, match=r"Gone\."):
        await follow(
            make_plan(documents, ("dos",)),
            FakeEngine(says=lambda _: EngineError("Gone.")),
            tmp_path,
        )
    assert len(read_outcomes(tmp_path / "outcomes.jsonl")) == FAILURES_IN_A_ROW


async def test_a_question_has_a_timeout(tmp_path: Path) -> None:
    class Slow(FakeEngine):
        async def measure(self, prompt: object) -> int:
            await asyncio.sleep(5)
            return 1

    await follow(
        make_plan(DOCUMENTS[:1], ("closed-book",), timeout_s=0.05), Slow(), tmp_path
    )
    errors = [
        kept.outcome.error
        for kept in read_outcomes(tmp_path / "outcomes.jsonl").values()
    ]
    assert errors == ["It took longer than 0.05 s."] * 2


@pytest.mark.parametrize(
    "after",
    [
        n if n in (1, 9, 21) else pytest.param(n, marks=pytest.mark.slow)
        for n in range(1, 30, 4)
    ],
)
async def test_a_stopped_run_resumes_to_the_same_outcomes(
    tmp_path: Path, after: int
) -> None:
    def results_in(folder: Path) -> dict[object, object]:
        outcomes = read_outcomes(folder / "outcomes.jsonl")
        return {
            key: (
                answered.outcome.answer,
                answered.outcome.lookups,
                answered.outcome.seen,
            )
            for key, answered in outcomes.items()
        }

    whole, parted = tmp_path / "whole", tmp_path / "parted"
    whole.mkdir()
    parted.mkdir()
    await follow(make_plan(), FakeEngine(), whole)
    with OutcomeFile(parted / "outcomes.jsonl") as outcomes:
        events = run(
            make_plan(), FakeEngine(), MemoryStore(parted / "memories"), outcomes
        )
        for _ in range(after):
            await anext(events)
        await events.aclose()
    await follow(make_plan(), FakeEngine(), parted)
    assert results_in(parted) == results_in(whole)
    lines = (parted / "outcomes.jsonl").read_bytes().count(b"\n")
    assert lines == 16
