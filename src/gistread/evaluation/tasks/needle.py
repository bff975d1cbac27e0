"""Needle-in-a-Haystack PLUS: one fact, or two needed together, in a long text (LongAgent, section 3.1).

`needle` hides paragraphs of SQuAD, `needle-2` pairs of HotpotQA or MuSiQue, in the file's other paragraphs or a book.
Answers are swapped (`entities.py`). Each needle has its own text, and the same options make the same texts.
"""

import itertools
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from gistread.errors import GistreadError
from gistread.evaluation.model import Document, Question
from gistread.evaluation.tasks.entities import Entity, contains_name, find_entity, forms_of, swap_entity
from gistread.evaluation.tasks.haystack import Hay, bury, gather, hay_of, hay_of_book
from gistread.evaluation.tasks.passages import PRESET, Passage, Problem
from gistread.evaluation.tasks.records import distinct, json_records, references
from gistread.evaluation.tasks.registry import TaskOptions
from gistread.evaluation.tasks.wikipedia import problem as problem_of
from gistread.evaluation.tasks.wikipedia import squad_articles

_TITLE = "Miscellany"
_CONTENT_WORD = re.compile(r"\w{4,}")
_MOST_NEEDLES = 100  # Needles drawn from a file by the seed; LongAgent has 100 of SQuAD and 60 of HotpotQA
_NOBODY = Entity("…", "")
_TOO_NEAR = 0.5  # A paragraph with this share of a question's words is no hay: it may have the true answer


@dataclass(frozen=True, slots=True)
class Needle:
    """A question and the paragraphs that answer it, with the answer swapped."""

    id: str
    question: str
    answers: tuple[str, ...]
    passages: tuple[Passage, ...]
    related: frozenset[str]  # Titles of paragraphs that must not be used as hay


def load_needle(path: Path, options: TaskOptions) -> Iterator[Document]:
    paragraphs = [paragraph for _, article in squad_articles(path) for paragraph in article]
    problems = [asked for paragraph in paragraphs for asked in paragraph.asked if asked.answerable]
    hay = _hay((Passage(paragraph.title, paragraph.text) for paragraph in paragraphs), options)
    yield from _documents(path, problems, hay, [(depth,) for depth in options.depths], options)


def load_needle_2(path: Path, options: TaskOptions) -> Iterator[Document]:
    """One document for each pair of needles, at every pair of depths. See `Task.load`."""
    problems = [problem_of(record, number) for number, record in enumerate(json_records(path), 1)]
    hay = _hay((passage for problem in problems for passage in problem.passages), options)
    pairs = [problem for problem in problems if problem.answerable and len(problem.supporting) == 2]
    yield from _documents(path, pairs, hay, list(itertools.combinations(sorted(options.depths), 2)), options)


def _hay(passages: Iterable[Passage], options: TaskOptions) -> Hay:
    return hay_of_book(options.haystack) if options.haystack else hay_of(passages)


def _documents(
    path: Path, problems: Sequence[Problem], hay: Hay, depths: Sequence[tuple[float, ...]], options: TaskOptions
) -> Iterator[Document]:
    options = replace(options, count=cache(options.count))
    needles = list(itertools.islice(_needles(problems, options.seed), _MOST_NEEDLES))
    if not needles:
        raise GistreadError(
            f"{path.name}: no question has an answer that can be swapped for another of its kind.",
            "Use the complete file of the benchmark, which has more answers of each kind.",
        )
    if not depths:
        raise GistreadError("Two needles need two depths.", "Give at least two with --depths.")
    # One question for every cell before the second, so that an early map has all cells.
    for turn in range(options.needles):
        for length in options.lengths:
            for at in depths:
                cell = f"{length}-{'-'.join(f'{100 * depth:g}' for depth in at)}"
                drawn = random.Random(f"{options.seed} {cell}").sample(needles, min(options.needles, len(needles)))
                if turn < len(drawn):
                    yield _document(f"{cell}-{turn + 1}", drawn[turn], length, at, hay, options)


def _document(
    id_: str, needle: Needle, length: int, depths: tuple[float, ...], hay: Hay, options: TaskOptions
) -> Document:
    chance = random.Random(f"{options.seed} {id_}")
    count = options.count
    tokens = sum(count(passage.title) + count(passage.text) for passage in needle.passages)
    if not any(_is_hay(passage, needle) for passage in hay.passages):
        raise GistreadError(
            f"No haystack for {needle.id}: every other paragraph of the file is related to it.",
            "Give a book with --haystack FILE.",
        )
    around = gather(hay, length - tokens, lambda passage: _is_hay(passage, needle), chance, count)
    passages = list(needle.passages)
    chance.shuffle(passages)
    book, gold = bury(around, list(zip(depths, passages, strict=True)), _TITLE, count)
    question = Question(
        needle.id, needle.question, references=needle.answers, gold_places=gold, cell=(float(length), min(depths))
    )
    return Document(id_, book, (question,), preset="fiction" if hay.in_order else PRESET)


def _is_hay(passage: Passage, needle: Needle) -> bool:
    if passage.title and passage.title in needle.related:
        return False
    asked = set(_CONTENT_WORD.findall(needle.question.lower()))
    return len(asked.intersection(_CONTENT_WORD.findall(passage.text.lower()))) < max(1.0, _TOO_NEAR * len(asked))


def _needles(problems: Sequence[Problem], seed: int) -> Iterator[Needle]:
    entities = [_entity(problem) for problem in problems]
    pools: dict[str, set[str]] = defaultdict(set)
    for one in filter(None, entities):
        pools[one.kind].add(one.name)
    named = list(zip(distinct(problem.id for problem in problems), problems, entities, strict=True))
    for id_, problem, old in random.Random(f"{seed} needles").sample(named, len(named)):
        if old is None or not _can_be_swapped(problem, old):
            continue
        others = sorted(pools[old.kind])
        first = random.Random(f"{seed} {id_}").randrange(len(others))
        around = (Entity(name, old.kind) for name in itertools.chain(others[first:], others[:first]))
        new = next((other for other in around if _is_new(other, problem, old)), None)
        if new:
            yield _needle(id_, problem, old, new)


def _entity(problem: Problem) -> Entity | None:
    text = "\n".join(passage.text for passage in problem.supporting)
    return next(filter(None, (find_entity(answer, problem.question, text) for answer in problem.answers)), None)


def _can_be_swapped(problem: Problem, old: Entity) -> bool:
    texts = [f"{passage.title}\n{passage.text}" for passage in problem.supporting]
    if any(contains_name(problem.question, name) for name in forms_of(old)) or not any(
        contains_name(text, old.name) for text in texts
    ):
        return False
    others = [answer for answer in problem.answers if not contains_name(answer, old.name)]
    return not any(contains_name(swap_entity(text, old, _NOBODY), other) for text in texts for other in others)


def _is_new(new: Entity, problem: Problem, old: Entity) -> bool:
    if contains_name(new.name, old.name) or contains_name(old.name, new.name):
        return False
    told = [problem.question, *(f"{passage.title}\n{passage.text}" for passage in problem.supporting)]
    return not any(contains_name(text, name) for text in told for name in forms_of(new))


def _needle(id_: str, problem: Problem, old: Entity, new: Entity) -> Needle:
    def swap(text: str) -> str:
        return swap_entity(text, old, new)

    passages = tuple(
        Passage(swap(passage.title), swap(passage.text), tuple(map(swap, passage.support)))
        for passage in problem.supporting
    )
    answers = references(swap(answer) for answer in problem.answers if contains_name(answer, old.name))
    return Needle(id_, problem.question.strip(), answers, passages, frozenset(each.title for each in problem.passages))
