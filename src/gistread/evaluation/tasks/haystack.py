"""Builds haystacks of a given length in tokens. The depth of a needle is the share of the tokens before it."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gistread.book.builder import BookBuilder
from gistread.book.model import Book, ParagraphKind
from gistread.book.open import open_book
from gistread.book.sentences import sentence_spans
from gistread.errors import GistreadError
from gistread.evaluation.model import Place, merge_places
from gistread.evaluation.tasks.passages import Passage, add_passage

_PROSE = (ParagraphKind.TEXT, ParagraphKind.QUOTE)
Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Hay:
    passages: tuple[Passage, ...]
    in_order: bool  # True for a book, of which a contiguous part is used; else paragraphs are drawn at random


def hay_of(passages: Iterable[Passage]) -> Hay:
    """Material from paragraphs, without repetitions and support marks."""
    found = {passage.text: replace(passage, support=()) for passage in passages if passage.text.strip()}
    return Hay(tuple(found.values()), in_order=False)


def hay_of_book(path: Path) -> Hay:
    """Material from the prose of a book. Raises GistreadError when it is unreadable or has none."""
    book = open_book(path)
    prose = (book.text[each.start : each.end] for each in book.paragraphs if each.kind in _PROSE)
    passages = tuple(Passage("", text) for text in prose)
    if not passages:
        raise GistreadError(f"{path} has no prose to hide a needle in.", "Name another book.")
    return Hay(passages, in_order=True)


def gather(
    hay: Hay, tokens: int, fits: Callable[[Passage], bool], chance: random.Random, count: Count
) -> list[Passage]:
    """Draw paragraphs that `fits` accepts, with this many tokens in total; repeats them if there are too few."""
    taken: list[Passage] = []
    left = tokens
    while left > 0:
        before = len(taken)
        for passage in _order(hay, chance):
            length = _tokens(passage, count)
            if not length or not fits(passage):
                continue
            if length > left:
                return taken + _beginning(passage, left, count)
            taken.append(passage)
            left -= length
        if len(taken) == before:
            break
    return taken


def _order(hay: Hay, chance: random.Random) -> Sequence[Passage]:
    if not hay.in_order:
        return chance.sample(hay.passages, len(hay.passages))
    first = chance.randrange(len(hay.passages))
    return hay.passages[first:] + hay.passages[:first]


def bury(
    hay: Sequence[Passage], needles: Sequence[tuple[float, Passage]], title: str, count: Count
) -> tuple[Book, tuple[Place, ...]]:
    """The haystack as a book with every needle at its depth, and the places that support the answer."""
    builder = BookBuilder()
    gold: list[Place] = []
    for passage in _insert(list(hay), sorted(needles, key=lambda needle: needle[0]), count):
        gold += add_passage(builder, passage)
    return builder.build(title=title, language="en", source_format="needle"), merge_places(gold)


def _insert(hay: list[Passage], needles: Sequence[tuple[float, Passage]], count: Count) -> list[Passage]:
    total = sum(_tokens(passage, count) for passage in hay)
    for depth, needle in reversed(needles):  # from the end, so that earlier offsets stay valid
        index, before = 0, 0
        wanted = depth * total
        while index < len(hay) and before + (tokens := _tokens(hay[index], count)) <= wanted:
            before += tokens
            index += 1
        around = _split_at(hay[index], wanted - before, count) if index < len(hay) else ([], [])
        hay[index : index + 1] = [*around[0], needle, *around[1]]
    return hay


def _split_at(passage: Passage, tokens: float, count: Count) -> tuple[list[Passage], list[Passage]]:
    if passage.title:
        return ([], [passage]) if tokens < _tokens(passage, count) / 2 else ([passage], [])
    ends = [0, *(end for _, end in sentence_spans(passage.text))]
    nearest = min(ends, key=lambda end: abs(count(passage.text[:end]) - tokens))
    parts = (passage.text[:nearest].strip(), passage.text[nearest:].strip())
    before, behind = ([replace(passage, text=part)] if part else [] for part in parts)
    return before, behind


def _beginning(passage: Passage, tokens: int, count: Count) -> list[Passage]:
    left = tokens - count(passage.title)
    fitting = [end for _, end in sentence_spans(passage.text) if count(passage.text[:end]) <= left]
    return [replace(passage, text=passage.text[: fitting[-1]])] if fitting else []


def _tokens(passage: Passage, count: Count) -> int:
    return count(passage.title) + count(passage.text)
