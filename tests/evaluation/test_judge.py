"""LR-1 and LR-2: the rule of the two raters, and a judge that can only say what is offered."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from gistread.engine.llama.client import LlamaEngine
from gistread.engine.protocol import Priority
from gistread.evaluation.judge import rate
from gistread.evaluation.model import Rating
from tests.fake_engine import FakeEngine
from tests.tiny_gguf import write_tiny_gguf

STRICT, PERMISSIVE = ("yes", "no"), ("yes", "partly", "no")


@pytest.mark.parametrize(
    ("said", "rating"),
    [
        (["yes"], Rating.EXACT),
        (["no", "yes"], Rating.EXACT),
        (["no", "partly"], Rating.PARTIAL),
        (["no", "no"], Rating.NONE),
    ],
)
async def test_either_rater_can_find_agreement(said: list[str], rating: Rating) -> None:
    engine = FakeEngine(chooses=list(said))
    found, usage = await rate("Who?", "Ann", ["Ann Lee"], engine)
    assert found is rating
    assert [call.options for call in engine.calls] == [STRICT, PERMISSIVE][: len(said)]
    assert all(call.priority is Priority.BACKGROUND for call in engine.calls)
    assert usage.generated == len(said)


async def test_the_best_rated_reference_counts() -> None:
    def chooses(prompt: str, options: Sequence[str]) -> str:
        return "partly" if "should say: second" in prompt and "partly" in options else "no"

    engine = FakeEngine(chooses=chooses)
    assert (await rate("Who?", "Ann", ["first", "second", "third"], engine))[0] is Rating.PARTIAL
    assert len(engine.calls) == 6
    engine = FakeEngine(chooses=["no", "partly", "yes"])
    assert (await rate("Who?", "Ann", ["first", "second", "third"], engine))[0] is Rating.EXACT
    assert len(engine.calls) == 3, "nothing is rated higher, so the third is not asked about"


async def test_an_empty_answer_disagrees_without_a_request() -> None:
    engine = FakeEngine(chooses=["yes"])
    assert (await rate("Who?", " \n", ["Ann"], engine))[0] is Rating.NONE
    assert not engine.calls


async def test_the_second_rater_reuses_the_evaluated_prompt() -> None:
    engine = FakeEngine(chooses=["no", "no"])
    _, usage = await rate("Who?", "a {answer} with braces", ["{reference}"], engine)
    assert usage.reused > 10
    assert "a {answer} with braces" in engine.calls[0].text


async def test_a_real_model_can_only_choose_an_offered_rating(tmp_path: Path) -> None:
    engine = LlamaEngine(write_tiny_gguf(tmp_path / "tiny.gguf"), log=tmp_path / "worker.log")
    try:
        await engine.start()
        ratings = {(await rate(f"Who {n}?", f"answer {n}", ["one", "two"], engine))[0] for n in range(5)}
    finally:
        await engine.close()
    assert ratings <= set(Rating)
