"""Gists: accepted, requested again, or replaced."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from gistread.engine.protocol import (
    NO_USAGE,
    Completion,
    Priority,
    StreamEvent,
    TextDelta,
)
from gistread.memory.gisting import GistResult, careful_attempts, gist_page
from gistread.memory.guard import Fault
from gistread.memory.model import GistSource
from gistread.prompts import TRAINED
from tests.fake_engine import FakeEngine

PAGE = (
    "Mr. Holloway walked down to the harbour before the sun was up, as he had done every morning "
    "for thirty years. "
    "The boats lay still on the grey water, and the ropes creaked. He looked for the Marigold, "
    "his brother's boat, "
    "and did not find her. Where she ought to have lain there was a square of black water and a "
    "loose rope. "
    "He called out to old Tamsin, who mended nets on the wall, and asked whether she had seen "
    "her go. "
    "Tamsin shook her head and said that nobody had gone out in the night, for the wind had been "
    "wrong. "
    "Then Holloway saw that the rope had not been untied. It had been cut, cleanly, with one "
    "stroke of a knife."
)
GOOD = (
    "Holloway walks to the harbour and finds his brother's boat, the Marigold, gone. "
    "Old Tamsin saw nobody go out; the rope was cut."
)


async def gisted_page(text: str, engine: FakeEngine) -> GistResult:
    """As careful reading does it."""
    return await gist_page(
        text, engine, await careful_attempts(text, engine), Priority.BACKGROUND
    )


async def test_a_good_gist_is_kept_as_the_models() -> None:
    engine = FakeEngine(says=[GOOD])
    gisted = await gisted_page(PAGE, engine)
    assert gisted.gist.text == GOOD
    assert gisted.gist.source is GistSource.MODEL
    assert gisted.faults == ()
    assert gisted.usage.generated > 0
    assert engine.calls[0].priority is Priority.BACKGROUND


@pytest.mark.parametrize("wording", ["", TRAINED])
async def test_only_a_draft_whose_words_stay_is_shown(wording: str) -> None:
    engine = FakeEngine(says=[GOOD])
    engine._info = replace(engine.info, wording=wording)
    drafts: list[str] = []
    attempts = await careful_attempts(PAGE, engine)
    await gist_page(PAGE, engine, attempts, Priority.BACKGROUND, on_draft=drafts.append)
    assert bool(drafts) is (wording != TRAINED)


async def test_the_starters_gist_is_what_the_page_says_of_it() -> None:
    page = (
        "Holloway, the keeper, rowed out before dawn. The gulls were loud. Behind the island he "
        "found the Marigold "
        "empty, with her sails set. Tamsin had slept at the inn, and saw nobody go. It was cold "
        "that week, and the "
        "nets hung frozen on the wall of the yard, where the boys had left them on Sunday after "
        "the long service. "
        "“Who was aboard her? Nobody knows,” said the harbour master, and shut his book with a "
        "snap."
    )
    engine = FakeEngine(
        says=[
            "Tamsin, the keeper, found the Marigold empty at the inn. Nobody knows who was aboard."
        ]
    )
    engine._info = replace(engine.info, wording=TRAINED)
    gist = (await gisted_page(page, engine)).gist
    assert gist.source is GistSource.QUOTED
    assert "Tamsin had slept at the inn, and saw nobody go." in gist.text
    assert "Tamsin, the keeper" not in gist.text
    assert "the nets" not in gist.text
    quoted = gist.text.replace("? ", "?|").replace(". ", ".|").split("|")
    assert all(sentence.strip("“”") in page for sentence in quoted)


async def test_a_faulty_gist_is_requested_again_with_another_prompt_and_sampling() -> (
    None
):
    engine = FakeEngine(says=["I'm sorry, I cannot assist with that.", GOOD])
    gisted = await gisted_page(PAGE, engine)
    assert (gisted.gist.text, gisted.faults) == (GOOD, (Fault.REFUSAL,))
    first, second = engine.calls
    assert first.sampling.temperature == 0 < second.sampling.temperature
    assert first.text != second.text
    assert gisted.usage.prefilled > first.sampling.max_tokens


async def test_after_two_faults_sentences_of_the_page_stand_in() -> None:
    gisted = await gisted_page(PAGE, FakeEngine(says=["", "boat boat boat boat " * 20]))
    assert gisted.gist.source is GistSource.EXTRACTIVE
    assert len(gisted.faults) == 2
    assert all(
        sentence.strip(" .") in PAGE for sentence in gisted.gist.text.split(". ")
    )
    assert 0 < gisted.gist.words < 60


async def test_a_gist_that_was_cut_off_ends_with_its_last_whole_sentence() -> None:
    completion = Completion(f"{GOOD} Then he went on to", "length", NO_USAGE)
    gisted = await gisted_page(PAGE, FakeEngine(says=[completion]))
    assert gisted.gist.text == GOOD


class Listening(FakeEngine):
    """Counts the streamed pieces of its answers."""

    heard = 0

    async def stream(  # type: ignore[override]
        self, *arguments: object, **options: Any
    ) -> AsyncIterator[StreamEvent]:
        async for event in super().stream(*arguments, **options):  # type: ignore[arg-type]
            self.heard += isinstance(event, TextDelta)
            yield event


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (" ".join([PAGE] * 6), Fault.COPIED),
        ("the boats and the ropes " * 100, Fault.LOOP),
        (
            "He met Anna and then Boris and then Clara and then David and then Emil by the boats. "
            * 20,
            Fault.FOREIGN_NAMES,
        ),
        (
            "I'm sorry, but as an AI language model I cannot assist. "
            + "Word after word follows. " * 100,
            Fault.REFUSAL,
        ),
    ],
)
async def test_a_hopeless_draft_is_ended_early(words: str, fault: Fault) -> None:
    engine = Listening(says=[words, GOOD])
    gisted = await gisted_page(PAGE, engine)
    assert (gisted.gist.text, gisted.faults) == (GOOD, (fault,))
    assert engine.heard < len(words.split()) / 2
