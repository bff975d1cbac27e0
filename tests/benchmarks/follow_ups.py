"""Follow-ups: is the gold section of a question with a pronoun found, if it is found with the name?

Without a model: pairs of questions about one story, `follow_ups.tsv`. Each line names the story,
the places of the two questions in its list, and what in the second one is replaced by which
pronoun. The thread has the first question and its reference answer.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

from gistread.memory.passages import Passage
from gistread.readers.ranking import Ranked, rank, reusable_passages
from gistread.readers.thread import QuestionAnswer, is_follow_up
from research.evaluation.model import Document, Question, covered_share, pages_with
from research.evaluation.tasks.registry import TASKS
from tests.benchmarks.figures import Finding, Skipped, Table, Target
from tests.benchmarks.recall import DATA, FILES, even_pages, filled, memory_of
from tests.benchmarks.setting import Setting

PAIRS = Path(__file__).with_suffix(".tsv")
_WORDS = 430
"""What an unreliable model is shown: 600 tokens."""
_HALF = 0.5
"""A section counts as shown if at least this much of it is."""


@dataclass(frozen=True, slots=True)
class Pair:
    document: Document
    first: Question
    second: Question
    follow_up: str


def pairs_of(documents: dict[str, Document]) -> Iterator[Pair]:
    for line in PAIRS.read_text("utf-8").splitlines():
        story, first, second, *replaced = line.split("\t")
        questions = documents[story].questions
        text = questions[int(second)].text
        for name, pronoun in (replacement.split("=") for replacement in replaced):
            at = text.lower().index(name.lower())
            text = text[:at] + pronoun + text[at + len(name) :]
        yield Pair(
            documents[story], questions[int(first)], questions[int(second)], text
        )


async def measure(setting: Setting) -> AsyncIterator[Finding]:
    file = DATA / FILES["fairytaleqa"]
    if not file.exists():
        yield Skipped("follow-ups", f"{file} is not there")
        return
    documents = {document.id: document for document in TASKS["fairytaleqa"].load(file)}
    pairs = list(pairs_of(documents))
    results = await asyncio.to_thread(lambda: [_look_for_gold(pair) for pair in pairs])
    rows = []
    for way in ("pronoun alone", "after its question"):
        for measured in results[0]["name"]:
            named = [result for result in results if result["name"][measured]]
            both = sum(result[way][measured] for result in named)
            rows.append(
                (way, measured, str(len(named)), f"{100 * both / len(named):.0f}")
            )
            if way != "pronoun alone":
                yield Target(
                    f"{measured}: found, of those found by name [%]",
                    100 * both / len(named),
                    at_least=90,
                )
    yield Table(
        "follow-ups", ("asked", "gold", "found by name", "of these [%]"), tuple(rows)
    )
    noticed = 100 * sum(is_follow_up(pair.follow_up) for pair in pairs) / len(pairs)
    alone = 100 * sum(is_follow_up(pair.second.text) for pair in pairs) / len(pairs)
    yield Target("follow-ups taken for one [%]", noticed, at_least=85)
    yield Target("questions by name taken for a follow-up [%]", alone, at_most=10)


def _look_for_gold(pair: Pair) -> dict[str, dict[str, bool]]:
    memory, pages = memory_of(pair.document), even_pages(pair.document)
    before = filled(rank(pair.first.text, memory).passages, pair.document, _WORDS)
    thread = (
        QuestionAnswer(pair.first.text, pair.first.references[0], seen=tuple(before)),
    )
    gold = pair.second.gold_places
    gold_pages = pages_with(gold, pages)

    def gold_in(ranked: Ranked, shown: list[Passage]) -> dict[str, bool]:
        return {
            "first page": bool(gold_pages & set(ranked.pages[:1])),
            "three pages": bool(gold_pages & set(ranked.pages[:3])),
            "600 tokens": covered_share(gold, shown) >= _HALF,
        }

    def look(question: str, thread: tuple[QuestionAnswer, ...] = ()) -> dict[str, bool]:
        ranked = rank(question, memory, thread=thread)
        # As the reader does: what the first answer was drawn from is shown again if the nearest
        # passages are there.
        return gold_in(
            ranked,
            reusable_passages(ranked, thread)
            or filled(ranked.passages, pair.document, _WORDS),
        )

    return {
        "name": look(pair.second.text),
        "pronoun alone": look(pair.follow_up),
        "after its question": look(pair.follow_up, thread),
    }
