"""LR-1 and LR-2: the rule of the two raters, and a judge that can only say what is offered."""

from pathlib import Path

import pytest

from gistread.engine.llama.client import LlamaEngine
from gistread.engine.protocol import Priority
from research.evaluation.judge import rate
from research.evaluation.model import Rating
from tests.fake_engine import FakeEngine
from tests.tiny_gguf import write_tiny_gguf

STRICT, PERMISSIVE = ("yes", "no"), ("yes", "partly", "no")


@pytest.mark.parametrize(
    ("choices", "rating"),
    [
        (["yes"], Rating.EXACT),
        (["no", "yes"], Rating.EXACT),
        (["no", "partly"], Rating.PARTIAL),
        (["no", "no"], Rating.NONE),
    ],
)
async def test_either_rater_can_find_agreement(
    choices: list[str], rating: Rating
) -> None:
    engine = FakeEngine(chooses=list(choices))
    best, usage = await rate("Who?", "Ann", ["Ann Lee"], engine)
    assert best is rating
    assert [call.options for call in engine.calls] == [STRICT, PERMISSIVE][
        : len(choices)
    ]
    assert all(call.priority is Priority.BACKGROUND for call in engine.calls)
    assert usage.generated == len(choices)


async def test_a_real_model_can_only_choose_an_offered_rating(tmp_path: Path) -> None:
    engine = LlamaEngine(
        write_tiny_gguf(tmp_path / "tiny.gguf"), log=tmp_path / "worker.log"
    )
    try:
        await engine.start()
        ratings = {
            (await rate(f"Who {n}?", f"answer {n}", ["one", "two"], engine))[0]
            for n in range(5)
        }
    finally:
        await engine.close()
    assert ratings <= set(Rating)
