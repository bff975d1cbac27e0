"""How many names are found, and how many joined rightly: LitBank's excerpts of a hundred novels,
main people of ten.

LitBank (Bamman et al., CC BY 4.0) has each mention of a person, and which are the same. Ours are
only the proper names.
"""

import itertools
import re
import time
import tomllib
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

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


@dataclass(slots=True)
class _Counts:
    found: int = 0
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
    counts = _Counts()
    for annotations in itertools.islice(
        sorted((DATA / "litbank" / "coref").glob("*.ann")), _QUICK if setting.quick else None
    ):
        _count(annotations, counts)
    yield Table(
        "Names of people in LitBank",
        ("", "[%]", "of"),
        (
            ("names found", 100 * counts.found / counts.names, float(counts.names)),
            (
                "taken for people that are people",
                100 * counts.right / counts.people,
                float(counts.people),
            ),
            ("pairs of one person joined", 100 * counts.joined / counts.same, float(counts.same)),
            (
                "pairs joined that are one person",
                100 * counts.joined / counts.together,
                float(counts.together),
            ),
        ),
    )
    novels = tomllib.loads(MAIN_CHARACTERS.read_text("utf-8"))
    results = [
        main_people(DATA / path, one["people"])
        for path, one in list(novels.items())[: 2 if setting.quick else None]
    ]
    joined, wanted, wrong = (sum(counts) for counts in zip(*results, strict=True))
    yield Target(
        f"of {wanted} main people of {len(results)} novels, all names joined [%]",
        100 * joined / wanted,
        at_least=90.0,
    )
    yield Target("two of them joined [%]", 100 * wrong / wanted, at_most=5.0)
    parts = tomllib.loads(PEOPLE.read_text("utf-8"))
    for part, books in parts.items():
        told = [
            one
            for path, lines in list(books.items())[: 2 if setting.quick else None]
            for one in _told(path, lines)
        ]
        yield Target(
            f"of {len(told)} people ({part}), told who they are [%]",
            100 * sum(told) / len(told),
            at_least=80.0,
        )
    path = DATA / next(path for path in novels if "War" in path)
    book, began = open_book(path), time.perf_counter()
    index = Index.from_book(book)
    people = index.entities
    yield Target(
        "War and Peace: names, mentions, who is who [s]", time.perf_counter() - began, at_most=10.0
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


def _told(path: str, lines: str) -> Iterator[bool]:
    """For each person of a book: does the sentence that answers "Who is …?" say what they are?"""
    memory = unread_memory(open_book(DATA / path))
    for line in filter(None, lines.split("\n")):
        name, _, words = line.partition(" = ")
        asked = introductions(f"Who is {name}?", memory)
        sentences = asked.sentences if asked else ()
        yield any(
            re.search(words, memory.book.text[start:end], re.IGNORECASE) for start, end in sentences
        )


def main_people(path: Path, lines: str) -> tuple[int, int, int]:
    """How many of these people have all names joined, of how many, and how many pairs of them are
    one.
    """
    found = [
        {_bare(form.text) for form in entity.forms} | {_bare(entity.name)}
        for entity in Index.from_book(open_book(path)).entities
    ]
    people = [{_bare(name) for name in line.split("|")} for line in lines.split("\n") if line]
    joined = sum(any(person <= names for names in found) for person in people)
    pairs = itertools.combinations(people, 2)
    wrong = sum(any(one & names and other & names for names in found) for one, other in pairs)
    return joined, len(people), wrong


def _bare(name: str) -> str:
    return plain(name).replace(".", "").removeprefix("the ")


def _count(annotations: Path, counts: _Counts) -> None:
    book = open_book(annotations.with_suffix(".txt"))
    index = Index.from_book(book)
    words = _words(annotations.with_suffix(".txt").read_text("utf-8"), book)
    people: list[tuple[int, int]] = []
    names: list[tuple[str, int, int]] = []
    person_of: dict[str, str] = {}
    for line in annotations.read_text("utf-8").split("\n"):
        match line.split("\t"):
            case ["COREF", mention, person, *_]:
                person_of[mention] = person
            case ["MENTION", mention, first, at, last, until, _, "PER", category, *_]:
                start, end = words.get((int(first), int(at))), words.get((int(last), int(until)))
                if start and end:
                    people.append((start[0], end[1]))
                    if category == "PROP":
                        names.append((mention, start[0], end[1]))
    mentions = [
        (start, start + len(form.text), number, entity.kind)
        for number, entity in enumerate(index.entities)
        for form in entity.forms
        for start in form.starts
    ]
    forms = [(at, at + len(form.text)) for form in find_names(book) for at in form.starts]
    owners: dict[str, int] = {}
    for mention, begin, stop in names:
        counts.names += 1
        owner = next(
            (each for since, limit, each, _ in mentions if since < stop and begin < limit), None
        )
        if owner is not None:
            owners[mention] = owner
        counts.found += any(since < stop and begin < limit for since, limit in forms)
    for since, limit, _, kind in mentions:
        if kind is Kind.PERSON:
            counts.people += 1
            counts.right += any(since < stop and begin < limit for begin, stop in people)
    for one, other in itertools.combinations(
        [mention for mention in owners if mention in person_of], 2
    ):
        same, together = person_of[one] == person_of[other], owners[one] == owners[other]
        counts.same += same
        counts.together += together
        counts.joined += same and together


def _words(text: str, book: Book) -> dict[tuple[int, int], tuple[int, int]]:
    """Where the word of this line and number stands in the book."""
    return dict(_places(text, book))


def _places(text: str, book: Book) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    at = 0
    for line, words in enumerate(text.split("\n")):
        for number, word in enumerate(words.split()):
            found = book.text.find(word, at, at + _SKIPPED)
            if found >= 0:
                at = found + len(word)
                yield (line, number), (found, at)
