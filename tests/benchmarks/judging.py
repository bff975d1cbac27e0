"""What a model adds to a ranking when it judges passages by how likely the question is after each.

Query likelihood (Sachan et al. 2022, "Improving Passage Retrieval with Zero-Shot Question Generation"), over the first
passages that `gistread` finds, alone and joined with their order by reciprocal ranks (Cormack et al. 2009). A sample of
questions: every one costs about a thousand tokens of prefill. What is found without a model, `recall.py` tells.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from itertools import islice

from gistread.engine.protocol import Engine, Message
from gistread.evaluation.bootstrap import Key, difference, estimate
from gistread.evaluation.model import Document, Question
from gistread.evaluation.places import covered
from gistread.evaluation.tasks.registry import TASKS
from gistread.memory.passages import Passage
from gistread.readers.gistread import rank
from tests.benchmarks.figures import Finding, Skipped, Table
from tests.benchmarks.recall import AIMED, DATA, FILES, filled, memory_of, written
from tests.benchmarks.setting import Setting, engine_over

_TASK = "{text}\n\n---\nWrite a question that the text above answers."
_CANDIDATES = 8
_QUESTIONS = 24
"""Of each task."""
_SHOWN_WORDS = 200
"""Of the candidates' 700 or so: what is put first is what counts."""
_RANKS = 60
"""Added to every rank before it is turned over, as in the paper."""


async def measure(setting: Setting) -> AsyncIterator[Finding]:
    for task in AIMED:
        path = DATA / FILES[task]
        if not path.exists():
            yield Skipped(f"passages judged, {task}", f"{path} is not there")
            continue
        documents = list(islice(TASKS[task].load(path), 2 if setting.quick else None))
        shown: dict[str, dict[Key, float]] = {}
        tokens, seconds = 0, 0.0
        async with engine_over(setting) as engine:
            for document, question in _sample(documents, 2 if setting.quick else _QUESTIONS):
                candidates = rank(question.text, memory_of(document)).passages[:_CANDIDATES]
                likely, prefilled, took = await _likelihoods(engine, document, question, candidates)
                tokens, seconds = tokens + prefilled, seconds + took
                for way, order in _orders(likely).items():
                    seen = filled([candidates[index] for index in order], document, _SHOWN_WORDS)
                    share = covered(question.gold_places, seen)
                    shown.setdefault(way, {})[document.id, question.id] = share
        yield _table(task, shown, tokens, seconds)


def _sample(documents: Sequence[Document], most: int) -> list[tuple[Document, Question]]:
    """Questions from all over the task, the same in every run."""
    asked = [(document, question) for document in documents for question in document.questions if question.gold_places]
    return random.Random(1).sample(asked, min(most, len(asked)))


async def _likelihoods(
    engine: Engine, document: Document, question: Question, candidates: Sequence[Passage]
) -> tuple[list[float], int, float]:
    """Of the question after each candidate; tokens and seconds that it took."""
    texts = [document.book.text[start:end].strip() for start, end in candidates]
    prompts = [(Message("user", _TASK.format(text=text)),) for text in texts]
    judged = await asyncio.gather(*(engine.likelihood(prompt, question.text) for prompt in prompts))
    told = [found for found in judged if found is not None]
    assert len(told) == len(candidates), "the local engine can tell"
    usages = [found.usage for found in told]
    return [found.mean for found in told], sum(u.prefilled for u in usages), sum(u.seconds for u in usages)


def _orders(likely: Sequence[float]) -> dict[str, list[int]]:
    """Positions of the candidates, which come in the order of words, by each way of ranking them."""
    by_words = list(range(len(likely)))
    by_likelihood = sorted(by_words, key=lambda index: -likely[index])
    places = {index: place for place, index in enumerate(by_likelihood)}
    joined = sorted(by_words, key=lambda index: -(1 / (_RANKS + index) + 1 / (_RANKS + places[index])))
    return {"words": by_words, "likelihood": by_likelihood, "both": joined}


def _table(task: str, shown: Mapping[str, Mapping[Key, float]], tokens: int, seconds: float) -> Table:
    questions = max(1, len(shown.get("words", ())))
    rows = tuple(
        (
            way,
            written(estimate(found)),
            "" if way == "words" else written(difference(found, shown["words"])),
            0.0 if way == "words" else tokens / questions,
            0.0 if way == "words" else seconds / questions,
        )
        for way, found in shown.items()
    )
    title = f"gold text in {_SHOWN_WORDS} words of {_CANDIDATES} passages, by who put them in order, {task}"
    return Table(title, ("by", "found [%]", "over words [points]", "tokens", "[s]"), rows)
