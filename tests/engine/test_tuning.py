"""Tuning: one change after another, each kept only if it clearly pays."""

from collections.abc import Mapping

from gistread.config import Config
from gistread.engine.llama.tuning import Work, tune
from gistread.engine.protocol import Placement
from tests.fake_engine import FakeEngine

PLACEMENT = Placement(0, 31, 16384, "f16", 256, 4, flash_attention=True)


async def trials(
    seconds: Mapping[tuple[str, int | None, int | None], float],
) -> list[tuple[Mapping[str, object], bool]]:
    async def attempt(config: Config) -> tuple[Placement, float]:
        return PLACEMENT, seconds.get((config.flash_attention, config.threads, config.batch_tokens), 9.5)

    found = [trial async for trial in tune(attempt, Config(), (4, 8))]
    return [(trial.change, trial.kept) for trial in found]


async def test_a_change_that_pays_stays_for_those_after_it() -> None:
    found = await trials({("auto", None, None): 10.0, ("off", None, None): 6.0, ("off", None, 128): 5.0})
    assert found == [
        ({}, True),
        ({"flash_attention": "off"}, True),
        ({"threads": 8}, False),
        ({"threads": 3}, False),
        ({"batch_tokens": 512}, False),
        ({"batch_tokens": 128}, True),
    ]


async def test_a_change_that_hardly_pays_is_not_kept() -> None:
    assert [kept for _, kept in await trials({("auto", None, None): 10.0})] == [True] + 5 * [False]


async def test_each_trial_evaluates_one_text_and_decodes_two_gists_and_an_answer() -> None:
    engine, work = FakeEngine(), Work(" ".join(f"word{number}" for number in range(2000)))
    assert await work.seconds(engine) > 0
    assert [call.sampling.max_tokens for call in engine.calls] == [1, 1, 48, 48, 24]
    assert len({call.text.split("\n\n")[0] for call in engine.calls[1:]}) == 1
    again = FakeEngine()
    await work.seconds(again)
    assert [call.text for call in again.calls] == [call.text for call in engine.calls[1:]]
