"""A run asks every reader every question once, and always comes to its end."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from gistread.engine.protocol import Sampling
from gistread.errors import EngineError
from gistread.evaluation.model import Document
from gistread.evaluation.outcomes import OutcomeFile, read_outcomes
from gistread.evaluation.running import (
    FAILURES_IN_A_ROW,
    ArtifactBuilt,
    MemoryProgress,
    Plan,
    QuestionMeasured,
    QuestionStarted,
    RunConfig,
    run,
)
from gistread.memory.model import PageSize, Pauses, ReadingMethod
from gistread.memory.store import MemoryStore
from gistread.readers.protocol import ReaderOptions
from tests.evaluation.runs import make_document, make_task
from tests.fake_engine import FakeEngine

DOCUMENTS = (make_document("one"), make_document("two"))
READERS = ("readagent-s", "bm25", "dos", "closed-book")
SIZE = PageSize(40, 80)


def make_plan(documents: Sequence[Document] = DOCUMENTS, readers: Sequence[str] = READERS, **options: object) -> Plan:
    manner = options.pop("manner", RunConfig(size=SIZE))
    return Plan(
        make_task(*documents),
        documents,
        readers,
        ReaderOptions(),
        manner,
        **options,  # type: ignore[arg-type]
    )


async def follow(plan: Plan, engine: FakeEngine, folder: Path) -> list[object]:
    with OutcomeFile(folder / "outcomes.jsonl") as outcomes:
        return [event async for event in run(plan, engine, MemoryStore(folder / "memories"), outcomes)]


async def test_every_reader_is_asked_every_question_once(tmp_path: Path) -> None:
    plan = make_plan()
    events = await follow(plan, FakeEngine(), tmp_path)
    keys = [event.asked.key for event in events if isinstance(event, QuestionMeasured)]
    assert len(keys) == len(set(keys)) == plan.questions == 16
    assert set(read_outcomes(tmp_path / "outcomes.jsonl")) == set(keys)
    assert plan.todo(read_outcomes(tmp_path / "outcomes.jsonl")) == []


async def test_readers_without_a_memory_do_not_wait_for_one(tmp_path: Path) -> None:
    events = await follow(make_plan(DOCUMENTS[:1]), FakeEngine(), tmp_path)
    order = [
        event.reader if isinstance(event, QuestionStarted) else "memory"
        for event in events
        if not isinstance(event, QuestionMeasured)
    ]
    assert list(dict.fromkeys(order)) == ["dos", "closed-book", "memory", "readagent-s", "bm25"]


async def test_no_memory_is_built_if_no_reader_needs_it(tmp_path: Path) -> None:
    await follow(make_plan(readers=("dos",)), FakeEngine(), tmp_path)
    assert not (tmp_path / "memories").exists()


async def test_a_reader_that_needs_no_memory_reports_pages_of_an_existing_one(tmp_path: Path) -> None:
    await follow(make_plan(readers=("gistread", "dos")), FakeEngine(), tmp_path)
    scores = {key[2]: dict(asked.outcome.scores) for key, asked in read_outcomes(tmp_path / "outcomes.jsonl").items()}
    assert "page-recall" in scores["gistread"]
    assert "page-recall" not in scores["dos"]


async def test_a_memory_is_built_once_for_all_readers_and_runs(tmp_path: Path) -> None:
    events = await follow(make_plan(), FakeEngine(), tmp_path)
    memories = {id(event.memory) for event in events if isinstance(event, MemoryProgress)}
    assert len(memories) == 2
    other = FakeEngine()
    (tmp_path / "outcomes.jsonl").unlink()
    events = await follow(make_plan(), other, tmp_path)
    assert all(event.memory.complete for event in events if isinstance(event, MemoryProgress))
    assert not [call for call in other.calls if call.priority]  # A memory is read in the background.


async def test_a_question_with_an_outcome_is_not_asked_again(tmp_path: Path) -> None:
    await follow(make_plan(readers=("dos",)), FakeEngine(), tmp_path)
    engine = FakeEngine()
    assert await follow(make_plan(readers=("dos",)), engine, tmp_path) == []
    assert engine.calls == []


async def test_a_reader_may_join_later(tmp_path: Path) -> None:
    await follow(make_plan(readers=("dos",)), FakeEngine(), tmp_path)
    events = await follow(make_plan(readers=("dos", "closed-book")), FakeEngine(), tmp_path)
    assert {event.asked.outcome.reader for event in events if isinstance(event, QuestionMeasured)} == {"closed-book"}


async def test_a_failed_question_is_an_outcome_and_the_run_continues(tmp_path: Path) -> None:
    asked = DOCUMENTS[0].questions[1].text
    engine = FakeEngine(says=lambda prompt: EngineError("The model is gone.") if asked in prompt else "Ann.")
    await follow(make_plan(readers=("dos", "closed-book")), engine, tmp_path)
    outcomes = read_outcomes(tmp_path / "outcomes.jsonl")
    unended = {key: one.outcome for key, one in outcomes.items() if not one.outcome.ended}
    assert set(unended) == {("one", "q1", "dos"), ("one", "q1", "closed-book")}
    assert {outcome.error for outcome in unended.values()} == {"The model is gone."}
    assert {dict(outcome.scores)["ended"] for outcome in unended.values()} == {0.0}
    assert {dict(outcome.scores)["f1"] for outcome in unended.values()} == {0.0}
    assert len(outcomes) == 8


async def test_failed_questions_are_asked_again_with_retry(tmp_path: Path) -> None:
    await follow(make_plan(readers=("dos",)), FakeEngine(says=lambda _: EngineError("Gone.")), tmp_path)
    events = await follow(make_plan(readers=("dos",), retry=True), FakeEngine(), tmp_path)
    assert sum(isinstance(event, QuestionMeasured) for event in events) == 4
    assert all(one.outcome.ended for one in read_outcomes(tmp_path / "outcomes.jsonl").values())


async def test_repeated_engine_failures_end_the_run(tmp_path: Path) -> None:
    documents = [make_document("one", 20)]
    with pytest.raises(EngineError, match=r"Gone\."):
        await follow(make_plan(documents, ("dos",)), FakeEngine(says=lambda _: EngineError("Gone.")), tmp_path)
    assert len(read_outcomes(tmp_path / "outcomes.jsonl")) == FAILURES_IN_A_ROW


async def test_prompts_that_are_too_long_do_not_end_the_run(tmp_path: Path) -> None:
    documents = [make_document("one", 20)]
    await follow(make_plan(documents, ("dos", "readagent-s")), FakeEngine(context_tokens=300), tmp_path)
    outcomes = read_outcomes(tmp_path / "outcomes.jsonl").values()
    assert len(outcomes) == 40
    assert all("has 300" in one.outcome.error for one in outcomes)


async def test_a_question_has_a_timeout(tmp_path: Path) -> None:
    class Slow(FakeEngine):
        async def measure(self, prompt: object) -> int:
            await asyncio.sleep(5)
            return 1

    await follow(make_plan(DOCUMENTS[:1], ("closed-book",), timeout_s=0.05), Slow(), tmp_path)
    errors = [one.outcome.error for one in read_outcomes(tmp_path / "outcomes.jsonl").values()]
    assert errors == ["It took longer than 0.05 s."] * 2


async def test_an_unexpected_exception_of_a_reader_is_an_outcome(tmp_path: Path) -> None:
    class Broken(FakeEngine):
        async def stream(self, prompt: object, sampling: Sampling = Sampling(), priority: object = None):  # type: ignore[no-untyped-def,override]  # noqa: B008
            raise ZeroDivisionError("by zero")
            yield

    await follow(make_plan(DOCUMENTS[:1], ("closed-book",)), Broken(), tmp_path)
    assert {one.outcome.error for one in read_outcomes(tmp_path / "outcomes.jsonl").values()} == {
        "Internal error of the reader: ZeroDivisionError: by zero"
    }


@pytest.mark.parametrize(
    "after", [n if n in (1, 9, 21) else pytest.param(n, marks=pytest.mark.slow) for n in range(1, 30, 4)]
)
async def test_a_stopped_run_resumes_to_the_same_outcomes(tmp_path: Path, after: int) -> None:
    def told(folder: Path) -> dict[object, object]:
        outcomes = read_outcomes(folder / "outcomes.jsonl")
        return {key: (one.outcome.answer, one.outcome.lookups, one.outcome.seen) for key, one in outcomes.items()}

    whole, parted = tmp_path / "whole", tmp_path / "parted"
    whole.mkdir()
    parted.mkdir()
    await follow(make_plan(), FakeEngine(), whole)
    with OutcomeFile(parted / "outcomes.jsonl") as outcomes:
        events = run(make_plan(), FakeEngine(), MemoryStore(parted / "memories"), outcomes)
        for _ in range(after):
            await anext(events)
        await events.aclose()
    await follow(make_plan(), FakeEngine(), parted)
    assert told(parted) == told(whole)
    lines = (parted / "outcomes.jsonl").read_bytes().count(b"\n")
    assert lines == 16


async def test_another_run_config_has_its_own_memories(tmp_path: Path) -> None:
    for manner in (
        RunConfig(size=SIZE),
        RunConfig(ReadingMethod(pauses=Pauses.UNIFORM), SIZE),
        RunConfig(ReadingMethod(guarded=False), SIZE),
        RunConfig(size=SIZE, task="the boat"),
    ):
        (tmp_path / "outcomes.jsonl").unlink(missing_ok=True)
        await follow(make_plan(DOCUMENTS[:1], ("gists",), manner=manner), FakeEngine(), tmp_path)
    assert len(list((tmp_path / "memories").glob("*.memory"))) == 4


@pytest.mark.parametrize(("budget", "made"), [(0, False), (400, True)])
async def test_a_memory_that_outgrows_the_window_is_summarised_before_the_first_question(
    tmp_path: Path, budget: int, made: bool
) -> None:
    documents = [make_document("one", 1, words=1200)]
    options = ReaderOptions(budget_tokens=budget)
    plan = Plan(make_task(*documents), documents, ("gists",), options, RunConfig(size=SIZE))
    events = await follow(plan, FakeEngine(), tmp_path)
    prepared = [event for event in events if isinstance(event, ArtifactBuilt)]
    assert {event.artifact for event in prepared} == ({"chapter summaries"} if made else set())
    assert not made or isinstance(events[events.index(prepared[-1]) + 1], QuestionStarted)
