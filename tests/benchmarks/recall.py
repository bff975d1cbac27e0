"""How much of what holds the answer is found: pages looked up, and text shown at an equal budget.

Without a model: questions whose gold places are known, over pages of one length. Passages and pages
are those that the readers take. `--quick` takes two documents of each task.
"""

import asyncio
import itertools
import random
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gistread.memory.model import (
    Gist,
    GistMemory,
    GistSource,
    MemoryEntry,
    Page,
    PageSize,
)
from gistread.memory.passages import Passage, split_into_passages
from gistread.readers.ranking import rank
from gistread.search.ranked import Ranker
from gistread.words import count_words
from research.evaluation.model import Document, Question, covered_share, pages_with
from research.evaluation.table import Estimate, Key, difference, estimate
from research.evaluation.tasks.registry import TASKS
from tests.benchmarks.figures import Finding, Skipped, Table, Target
from tests.benchmarks.setting import Setting

DATA = Path(__file__).parents[2].parent / "shared" / "data"
FILES = {
    "fairytaleqa": "fairytaleqa/fairytaleqa_dev.jsonl",
    "qmsum": "qmsum/qmsum_val.jsonl",
}
NOVELS = "whole novels"
"""The questions of `research/training/data`.

The order is not trained, but its parameters were chosen on them too.
"""
_MOST_QUESTIONS = 60
"""Of one novel."""
AIMED = ("fairytaleqa", "qmsum")
"""Whose gold places are long enough to make pages of."""
_PAGE_WORDS = 440
"""The middle of the usual page size."""
_AT = (1, 3, 5)
_BUDGETS = (350, 700, 1400, 2900)
"""Words: 500 to 4,000 tokens of most vocabularies."""
_MOST_SHOWN = 0.8
"""A budget that takes more of a document than this says nothing of what is chosen."""

Values = dict[Key, float]


@dataclass(frozen=True, slots=True)
class _Found:
    """Of one question: what each way of looking finds, the best first."""

    pages: Callable[[], Mapping[str, Sequence[int]]]
    passages: Mapping[str, Sequence[Passage]]


async def measure(setting: Setting) -> AsyncIterator[Finding]:
    for task in (*FILES, NOVELS):
        if not (DATA / FILES.get(task, "")).exists():
            yield Skipped(
                f"gold places of {task}", f"{DATA / FILES.get(task, '')} is not there"
            )
            continue
        documents = list(
            itertools.islice(_documents(task), 2 if setting.quick else None)
        )
        recalls, coverage = await asyncio.to_thread(
            _measured, documents, with_pages=task in AIMED
        )
        if task in AIMED:
            yield table_of(
                f"gold pages among the first pages, {task}",
                "pages",
                "bm25",
                recalls,
                documents,
            )
            better = difference(recalls["gistread", 3], recalls["bm25", 3])
            assert better is not None
            if not setting.quick:
                low = 100 * (better.low or 0.0)
                yield Target(
                    f"{task}: gold pages at 3, gistread over bm25, low end [points]",
                    low,
                    at_least=0.0,
                )
        yield table_of(
            f"gold text shown at an equal budget, {task}",
            "words",
            "dos",
            coverage,
            documents,
        )


def _documents(task: str) -> Iterator[Document]:
    if task in FILES:
        yield from TASKS[task].load(DATA / FILES[task])
        return
    from research.training.pages import read_pages, whole_books

    for document in whole_books(read_pages()):
        sample = random.Random(document.id).sample(
            document.questions, min(_MOST_QUESTIONS, len(document.questions))
        )
        yield replace(document, questions=tuple(sample))


def _measured(
    documents: Sequence[Document], *, with_pages: bool
) -> tuple[dict[tuple[str, int], Values], dict[tuple[str, int], Values]]:
    recalls: dict[tuple[str, int], Values] = {}
    coverage: dict[tuple[str, int], Values] = {}
    for document in documents:
        look = _looking(document)
        for question in document.questions:
            if not question.gold_places:
                continue
            key = (document.id, question.id)
            looked_up = look(question)
            if with_pages:
                gold = pages_with(question.gold_places, even_pages(document))
                for (way, pages), most in itertools.product(
                    looked_up.pages().items(), _AT
                ):
                    recalls.setdefault((way, most), {})[key] = len(
                        gold & set(pages[:most])
                    ) / len(gold)
            for (way, passages), words in itertools.product(
                looked_up.passages.items(), _BUDGETS
            ):
                if words <= _MOST_SHOWN * document.book.words:
                    seen = filled(passages, document, words)
                    coverage.setdefault((way, words), {})[key] = covered_share(
                        question.gold_places, seen
                    )
    return recalls, coverage


def _looking(document: Document) -> Callable[[Question], _Found]:
    """Ready to look for the answers of this document."""
    book = document.book
    pages, passages = even_pages(document), split_into_passages(book)
    by_page = Ranker([book.text[start:end] for start, end in pages], book.language)
    by_passage = Ranker(
        [book.text[start:end] for start, end in passages], book.language
    )
    memory = memory_of(document)

    def look(question: Question) -> _Found:
        nearest = by_passage.scores(question.text)
        alone = [
            passages[index]
            for index in sorted(range(len(passages)), key=lambda index: -nearest[index])
        ]
        ranked = rank(question.text, memory)

        def found_pages() -> Mapping[str, Sequence[int]]:
            return {
                "chance": random.Random(question.text).sample(
                    range(1, len(pages) + 1), len(pages)
                ),
                "bm25": [index + 1 for index in by_page.top(question.text, len(pages))],
                "dos": _pages_of(alone, pages),
                "gistread": ranked.pages,
            }

        return _Found(found_pages, {"dos": alone, "gistread": ranked.passages})

    return look


def even_pages(document: Document) -> list[Passage]:
    """Of one length each, as far as passages allow."""
    pages: list[Passage] = []
    words = 0
    for start, end in split_into_passages(document.book):
        size = count_words(document.book.text[start:end])
        if pages and words + size <= _PAGE_WORDS:
            pages[-1] = pages[-1][0], end
            words += size
        else:
            pages.append((start, end))
            words = size
    # Between two pages there is nothing: each begins where the one before it ends.
    ends = [*(start for start, _ in pages[1:]), len(document.book.text)]
    return [(start, end) for (start, _), end in zip(pages, ends, strict=True)]


def memory_of(document: Document) -> GistMemory:
    """Of a document, as it would be after reading, without a word in its gists.

    Nothing here looks at them.
    """
    book = document.book
    entries = [
        MemoryEntry(
            Page(number, start, end, count_words(book.text[start:end])),
            Gist("", 0, GistSource.VERBATIM),
        )
        for number, (start, end) in enumerate(even_pages(document), start=1)
    ]
    return GistMemory(book, PageSize(_PAGE_WORDS, _PAGE_WORDS), "none", entries)


def _pages_of(passages: Sequence[Passage], pages: Sequence[Passage]) -> list[int]:
    """Numbers of the pages in which the passages begin, in the order of the passages."""
    starts = [
        next(n for n, (start, end) in enumerate(pages, 1) if start <= at < end)
        for at, _ in passages
    ]
    return list(dict.fromkeys(starts))


def filled(
    passages: Sequence[Passage], document: Document, words: int
) -> list[Passage]:
    """The first passages, as many as so many words take."""
    taken: list[Passage] = []
    for start, end in passages:
        words -= count_words(document.book.text[start:end])
        if words < 0:
            break
        taken.append((start, end))
    return taken


def table_of(
    title: str,
    unit: str,
    base: str,
    values: Mapping[tuple[str, int], Values],
    documents: Sequence[Document],
) -> Table:
    """Shares in per cent with their intervals, by documents.

    Differences to the base on all, and on each half.
    """
    halves = [{document.id for document in documents[half::2]} for half in (0, 1)]
    columns = (
        "reader",
        unit,
        "found [%]",
        f"over {base} [points]",
        "even documents",
        "odd documents",
    )

    def rows() -> Iterator[tuple[str, ...]]:
        for (way, at), shares in values.items():
            gained = {
                key: value - values[base, at][key] for key, value in shares.items()
            }
            parts = [
                {key: value for key, value in gained.items() if key[0] in half}
                for half in halves
            ]
            over = [
                "" if way == base else written(estimate(part))
                for part in (gained, *parts)
            ]
            yield way, str(at), written(estimate(shares)), *over

    return Table(title, columns, tuple(rows()))


def written(share: Estimate | None) -> str:
    """In per cent, with its interval where there is one."""
    if share is None:
        return ""
    if share.low is not None and share.high is not None:
        bounds = f" [{100 * share.low:.1f}, {100 * share.high:.1f}]"
    else:
        bounds = ""
    return f"{100 * share.mean:.1f}{bounds}"
