"""The sources of an answer whose model cited none: the nearest sentences, the first chosen by the model in doubt."""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import replace

from gistread.engine.protocol import Engine, choose_or
from gistread.errors import EngineError
from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage
from gistread.readers.answering import user_prompt
from gistread.readers.citations import leading, nearest_sentences
from gistread.readers.events import Answered

MOST_OFFERED = 12  # Sentences to choose from; one of them tells 95% of answers (`tests/benchmarks/answers.py`)
_LONGEST_CHARACTERS = 200  # Of a sentence offered


async def with_sources(
    answered: Answered,
    question: str,
    memory: GistMemory,
    engine: Engine,
    places: Sequence[Passage],
    closed: Sequence[Passage],
) -> Answered:
    """The answer with up to three citations. The model is asked for the first if several sentences are as near.

    `places`: what was shown of the book. `closed`: places that may not be cited.
    """
    ranked = await asyncio.to_thread(nearest_sentences, answered.answer, question, memory, places, closed)
    found, offered = leading(ranked), [one for one, _ in ranked[:MOST_OFFERED]]
    if min(len(found), len(offered)) < 2:
        return replace(answered, citations=found)
    prompt = user_prompt(
        "source",
        text="\n".join(f"{n}. {one.quote[:_LONGEST_CHARACTERS]}" for n, one in enumerate(offered, start=1)),
        question=question,
        answer=answered.answer,
    )
    with contextlib.suppress(EngineError):  # The answer is kept if the model fails after it.
        choice = await choose_or(engine, prompt, [str(n) for n in range(1, len(offered) + 1)], 0)
        first, usage = offered[choice.index], answered.usage + choice.usage
        found = (first, *(one for one in found if one != first))[: len(found)]
        return replace(answered, citations=found, usage=usage)
    return replace(answered, citations=found)
