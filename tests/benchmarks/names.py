"""How many names are found, and how many joined rightly.

In LitBank's excerpts of a hundred novels, and the main people of ten novels. LitBank (Bamman et
al., CC BY 4.0) has each mention of a person, and which are the same. Ours are only the proper
names.
"""

import itertools
import re
import time
import tomllib
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from gistread.book.model import Book
from gistread.book.open import open_book
from gistread.memory.sizes import unread_memory
from gistread.people.index import Index
from gistread.people.kinds import Kind
from gistread.people.mentions import find_names, plain
from gistread.readers.introductions import introducing_sentences, introductions
from tests.benchmarks.figures import Finding, Skipped, Table, Target
from tests.benchmarks.setting import Setting

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
PEOPLE = Path(__file__).with_name("people.toml")
MAIN_CHARACTERS = Path(__file__).parents[1] / "people" / "main_characters.toml"
_SKIPPED = 200  # Characters within which the next word of an excerpt stands in the book
_QUICK = 5


@dataclass(frozen=True, slots=True)
class MainPeople:
    """What became of the main people of a novel."""

    count: int
    joined: int  # With all names joined
    wrong: int  # Pairs of two people that are joined


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int

    def overlaps(self, other: Self) -> bool:
        return self.start < other.end and other.start < self.end

    def overlaps_any(self, others: Iterable[Self]) -> bool:
        return any(map(self.overlaps, others))


@dataclass(frozen=True, slots=True)
class _Mention:
    """Where gistread sees an entity."""

    span: _Span
    entity: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class _Annotations:
    """What LitBank has of an excerpt."""

    people: list[_Span]
    names: dict[str, _Span]  # Proper names of people, by mention
    person_of: dict[str, str]  # By mention


@dataclass(slots=True)
class _Counts:
    recognized: int = 0
    names: int = 0
    right: int = 0
    people: int = 0
    joined: int = 0  # Pairs of mentions of one person that are joined
    same: int = 0
    together: int = 0  # Pairs that are joined


async def measure(setting: Setting) -> AsyncIterator[Finding]:
    if not (DATA / "litbank").is_dir():
        yield Skipped("names and people", f"{DATA / 'litbank'} is not there")
        return
    novels = tomllib.loads(MAIN_CHARACTERS.read_text("utf-8"))
    yield _names_table(_QUICK if setting.quick else None)
    most = 2 if setting.quick else None
    for target in itertools.chain(
        _main_people_targets(novels, most),
        _introduction_targets(most),
        _time_targets(DATA / next(path for path in novels if "War" in path)),
    ):
        yield target


def _names_table(most: int | None) -> Table:
    counts = _Counts()
    excerpts = sorted((DATA / "litbank" / "coref").glob("*.ann"))
    for annotations in excerpts[:most]:
        _count(annotations, counts)
    return Table(
        "Names of people in LitBank",
        ("", "[%]", "of"),
        (
            (
                "names found",
                100 * counts.recognized / counts.names,
                float(counts.names),
            ),
            (
                "taken for people that are people",
                100 * counts.right / counts.people,
                float(counts.people),
            ),
            (
                "pairs of one person joined",
                100 * counts.joined / counts.same,
                float(counts.same),
            ),
            (
                "pairs joined that are one person",
                100 * counts.joined / counts.together,
                float(counts.together),
            ),
        ),
    )


def _main_people_targets(novels: dict[str, Any], most: int | None) -> Iterator[Target]:
    results = [
        main_people(DATA / path, novel["people"])
        for path, novel in itertools.islice(novels.items(), most)
    ]
    count = sum(result.count for result in results)
    joined = sum(result.joined for result in results)
    wrong = sum(result.wrong for result in results)
    yield Target(
        f"of {count} main people of {len(results)} novels, all names joined [%]",
        100 * joined / count,
        at_least=90.0,
    )
    yield Target("two of them joined [%]", 100 * wrong / count, at_most=5.0)


def _introduction_targets(most: int | None) -> Iterator[Target]:
    parts = tomllib.loads(PEOPLE.read_text("utf-8"))
    for part, books in parts.items():
        answers = [
            answer
            for path, lines in itertools.islice(books.items(), most)
            for answer in _introduced(path, lines)
        ]
        yield Target(
            f"of {len(answers)} people ({part}), told who they are [%]",
            100 * sum(answers) / len(answers),
            at_least=80.0,
        )


def _time_targets(war_and_peace: Path) -> Iterator[Target]:
    book = open_book(war_and_peace)
    began = time.perf_counter()
    index = Index.from_book(book)
    people = index.entities
    yield Target(
        "War and Peace: names, mentions, who is who [s]",
        time.perf_counter() - began,
        at_most=10.0,
    )
    began = time.perf_counter()
    introductions(f"Who is {people[0].name}?", unread_memory(book))
    yield Target(
        "War and Peace: the first answer to who is who [s]",
        time.perf_counter() - began,
        at_most=3.0,
    )
    began = time.perf_counter()
    index.card(people[1])
    introducing_sentences(people[1], book)
    yield Target("a card [s]", time.perf_counter() - began, at_most=0.2)


def _introduced(path: str, lines: str) -> Iterator[bool]:
    """For each person of a book: does the sentence that answers "Who is …?" say what they are?"""
    memory = unread_memory(open_book(DATA / path))
    for line in filter(None, lines.split("\n")):
        name, _, words = line.partition(" = ")
        introduction = introductions(f"Who is {name}?", memory)
        sentences = introduction.sentences if introduction else ()
        yield any(
            re.search(words, memory.book.text[start:end], re.IGNORECASE)
            for start, end in sentences
        )


def main_people(path: Path, lines: str) -> MainPeople:
    """Whether the names of these people are joined: a line of names, between bars, for each."""
    entities = [
        {_bare(form.text) for form in entity.forms} | {_bare(entity.name)}
        for entity in Index.from_book(open_book(path)).entities
    ]
    people = [
        {_bare(name) for name in line.split("|")} for line in lines.split("\n") if line
    ]
    joined = sum(any(person <= names for names in entities) for person in people)
    wrong = sum(
        any(first & names and second & names for names in entities)
        for first, second in itertools.combinations(people, 2)
    )
    return MainPeople(len(people), joined, wrong)


def _bare(name: str) -> str:
    return plain(name).replace(".", "").removeprefix("the ")


def _count(annotations: Path, counts: _Counts) -> None:
    excerpt = annotations.with_suffix(".txt")
    book = open_book(excerpt)
    annotated = _read_annotations(annotations, _words(excerpt.read_text("utf-8"), book))
    forms = [
        _Span(at, at + len(form.text))
        for form in find_names(book)
        for at in form.starts
    ]
    counts.names += len(annotated.names)
    counts.recognized += sum(
        name.overlaps_any(forms) for name in annotated.names.values()
    )
    mentions = _mentions(Index.from_book(book))
    people = [mention.span for mention in mentions if mention.kind is Kind.PERSON]
    counts.people += len(people)
    counts.right += sum(person.overlaps_any(annotated.people) for person in people)
    _count_pairs(annotated, mentions, counts)


def _count_pairs(
    annotated: _Annotations, mentions: list[_Mention], counts: _Counts
) -> None:
    entity_of: dict[str, int] = {}
    for name, span in annotated.names.items():
        entity = next(
            (each.entity for each in mentions if span.overlaps(each.span)), None
        )
        if entity is not None and name in annotated.person_of:
            entity_of[name] = entity
    for first, second in itertools.combinations(entity_of, 2):
        is_same = annotated.person_of[first] == annotated.person_of[second]
        is_together = entity_of[first] == entity_of[second]
        counts.same += is_same
        counts.together += is_together
        counts.joined += is_same and is_together


def _mentions(index: Index) -> list[_Mention]:
    return [
        _Mention(_Span(start, start + len(form.text)), number, entity.kind)
        for number, entity in enumerate(index.entities)
        for form in entity.forms
        for start in form.starts
    ]


def _read_annotations(path: Path, words: dict[tuple[int, int], _Span]) -> _Annotations:
    annotations = _Annotations([], {}, {})
    for line in path.read_text("utf-8").split("\n"):
        match line.split("\t"):
            case ["COREF", mention, person, *_]:
                annotations.person_of[mention] = person
            case ["MENTION", mention, first, at, last, until, _, "PER", category, *_]:
                begin = words.get((int(first), int(at)))
                end = words.get((int(last), int(until)))
                if begin and end:
                    span = _Span(begin.start, end.end)
                    annotations.people.append(span)
                    if category == "PROP":
                        annotations.names[mention] = span
    return annotations


def _words(text: str, book: Book) -> dict[tuple[int, int], _Span]:
    """Where the word of this line and number stands in the book."""
    return dict(_places(text, book))


def _places(text: str, book: Book) -> Iterator[tuple[tuple[int, int], _Span]]:
    at = 0
    for line, words in enumerate(text.split("\n")):
        for number, word in enumerate(words.split()):
            start = book.text.find(word, at, at + _SKIPPED)
            if start >= 0:
                at = start + len(word)
                yield (line, number), _Span(start, at)
