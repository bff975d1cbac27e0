"""What a preset and a task do to gists: pages of real meetings, shortened as fiction and as a meeting, with a task and
without.

The task is a question that people asked about the meeting, the page one in which its answer stands. How much shorter
gists are, how often they fail the guard, and how many of the telling words of the answer that people gave are in them
(of those that stand on the page at all).
"""

import asyncio
import random
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from gistread.book.normalise import count_words
from gistread.engine.protocol import Engine, Priority
from gistread.evaluation.model import Document, Question
from gistread.evaluation.tasks.registry import TASKS
from gistread.memory.extractive import shared_terms
from gistread.memory.focus import GistFocus
from gistread.memory.gisting import GistResult, careful_attempts, gist_page
from gistread.memory.model import GistSource
from gistread.presets import built_in_presets
from tests.benchmarks.figures import Finding, Skipped, Table, Value
from tests.benchmarks.recall import DATA, FILES, memory_of
from tests.benchmarks.setting import Setting, engine_over

_PAGES = 24
_TELLING = 6
"""Letters at least of a word that tells something."""


@dataclass(frozen=True, slots=True)
class _Sample:
    """A page, a question whose answer stands in it, and the words of that answer that the page has."""

    page: str
    question: str
    telling: frozenset[str]


async def measure(setting: Setting) -> AsyncIterator[Finding]:
    path = DATA / FILES["qmsum"]
    if not path.exists():
        yield Skipped("gists by preset and task", f"{path} is not there")
        return
    documents = islice(TASKS["qmsum"].load(path), 2 if setting.quick else None)
    samples = _samples(documents, 2 if setting.quick else _PAGES)
    rows: list[tuple[Value, ...]] = []
    async with engine_over(setting) as engine:
        for preset in ("fiction", "meeting"):
            for with_task in (False, True):
                made = await asyncio.gather(*(_gist(engine, preset, one, with_task=with_task) for one in samples))
                rows.append((f"{preset}, for the question" if with_task else preset, *_figures(samples, made)))
    yield Table(
        f"Gists of {len(samples)} pages of meetings (QMSum), by what they are made for",
        ("preset", "shorter [%]", "attempts failed [%]", "extractive [%]", "words of the answer kept [%]"),
        tuple(rows),
    )


def _samples(documents: Iterable[Document], most: int) -> list[_Sample]:
    """From all over the task, the same in every run."""
    found = [
        sample
        for document in documents
        for question in document.questions
        if question.gold_places and (sample := _sample(document, question)).telling
    ]
    return random.Random(1).sample(found, min(most, len(found)))


def _sample(document: Document, question: Question) -> _Sample:
    memory = memory_of(document)
    page = memory.page_at(question.gold_places[0][0])
    text = memory.text_of(page) if page is not None else ""
    answer = _telling(" ".join(question.references)) - _telling(question.text)
    return _Sample(text, question.text, answer & _telling(text))


def _telling(text: str) -> frozenset[str]:
    return frozenset(
        term for word in text.split() if len(word.strip(".,;:?!")) >= _TELLING for term in shared_terms(word)
    )


async def _gist(engine: Engine, preset: str, sample: _Sample, *, with_task: bool) -> GistResult:
    focus = GistFocus(built_in_presets()[preset], sample.question if with_task else "")
    attempts = await careful_attempts(sample.page, engine, focus)
    return await gist_page(sample.page, engine, attempts, Priority.BACKGROUND, task=focus.task)


def _figures(samples: Sequence[_Sample], made: Sequence[GistResult]) -> tuple[Value, ...]:
    words = sum(count_words(sample.page) for sample in samples)
    failed = sum(len(one.faults) for one in made)
    kept = sum(len(sample.telling & _telling(one.gist.text)) for sample, one in zip(samples, made, strict=True))
    extractive = [one for one in made if one.gist.source is GistSource.EXTRACTIVE]
    asked = failed + len(made) - len(extractive)
    return (
        100.0 * (1 - sum(one.gist.words for one in made) / words),
        100.0 * failed / asked,
        100.0 * len(extractive) / len(made),
        100.0 * kept / sum(len(sample.telling) for sample in samples),
    )
