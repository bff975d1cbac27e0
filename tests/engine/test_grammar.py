"""Text constrained by a grammar can always be parsed."""

import re
from pathlib import Path

import pytest

from gistread.engine.protocol import Message, Sampling
from gistread.errors import EngineError
from tests.engine.conftest import StartEngine

FORM = r"""root ::= line{2,4}
line ::= "- " [a-z ]{3,12} " | " [a-z]{2,6} "\n"
"""
LINE = re.compile(r"- [a-z ]{3,12} \| [a-z]{2,6}\n")


async def test_text_follows_the_grammar(tiny: Path, start: StartEngine) -> None:
    engine = await start(tiny)
    for temperature, seed in ((0.0, 1), (1.5, 2), (1.5, 3), (1.5, 4)):
        sampling = Sampling(
            max_tokens=200,
            temperature=temperature,
            seed=seed,
            repeat_penalty=1.1,
            grammar=FORM,
        )
        completion = await engine.complete((Message("user", f"{seed} " * 9),), sampling)
        assert completion.finish == "end"
        lines = LINE.findall(completion.text.removesuffix("\n") + "\n")
        assert 2 <= len(lines) <= 4
        assert "".join(lines).strip() == completion.text.strip()


async def test_text_that_is_cut_off_follows_the_grammar_so_far(
    tiny: Path, start: StartEngine
) -> None:
    engine = await start(tiny)
    completion = await engine.complete(
        (Message("user", "abc"),), Sampling(max_tokens=7, grammar=FORM)
    )
    assert (completion.finish, completion.usage.generated) == ("length", 7)
    assert re.match(r"- [a-z ]", completion.text)


async def test_an_invalid_grammar_is_an_error_and_the_engine_lives(
    tiny: Path, start: StartEngine
) -> None:
    engine = await start(tiny)
    with pytest.raises(EngineError):
        await engine.complete(
            (Message("user", "abc"),),
            Sampling(max_tokens=7, grammar="this is ::= no ("),
        )
    assert (
        await engine.complete((Message("user", "abc"),), Sampling(max_tokens=2))
    ).usage.generated == 2
