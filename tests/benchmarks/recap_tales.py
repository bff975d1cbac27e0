"""Whether the story so far of a tale tells what its readers were asked.

FairytaleQA, with gists written once for this (`recap_gists.toml`). By judgement: whether the
sentence of a gist that tells the answer stands in the recap. By words: whether one sentence of the
recap has half of the words of a reference answer.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import Path
from statistics import mean

from gistread.book.sentences import sentence_spans
from gistread.memory.extractive import extract, shared_terms
from gistread.memory.gisting import wanted_words
from gistread.memory.model import Gist, GistMemory, GistSource, MemoryEntry, Page
from gistread.memory.sizes import PAGE_SIZES, unread_memory
from gistread.readers.recap import recap
from gistread.words import count_words
from research.evaluation.model import Document, Question
from research.evaluation.table import Key, estimate
from research.evaluation.tasks.registry import TASKS
from tests.benchmarks.figures import Table
from tests.benchmarks.recall import written

_GISTS = Path(__file__).with_name("recap_gists.toml")
_SHARE_OF_ANSWER = 0.5  # Of its words that one sentence has, if it tells the answer
_SHORTEST = 4  # Letters of a word that says something
_COLUMNS = (
    "drawn from",
    "tales",
    "questions",
    "words",
    "told [%]",
    "told, by words [%]",
)


@dataclass(frozen=True, slots=True)
class _Tale:
    document: Document
    is_afresh: bool
    memory: GistMemory
    # Of the sentence that tells the answer, by question; see the file
    places: Mapping[str, str]

    def questions(self) -> Iterator[Question]:
        return (
            question
            for question in self.document.questions
            if question.id in self.places
        )


@dataclass(frozen=True, slots=True)
class _Coverage:
    """Of one tale and one memory of it."""

    words: int
    judged: Mapping[Key, float]
    by_words: Mapping[Key, float]


def tales_table(file: Path, most: int | None) -> Table:
    """Of the first tales, or of all."""
    tales = list(islice(_tales(file), most))
    drawn = [tale for tale in tales if not tale.is_afresh]
    afresh = [tale for tale in tales if tale.is_afresh]
    rows = [_row("good gists", [_of_recap(tale, tale.memory) for tale in drawn])]
    if afresh:
        rows.append(
            _row(
                "good gists, tales drawn afresh",
                [_of_recap(tale, tale.memory) for tale in afresh],
            )
        )
    whole = [_coverage(tale, _gists_of(tale.memory)) for tale in drawn]
    rows.append(_row("all sentences of these gists", whole))
    extracts = [_of_recap(tale, _extracted(tale.memory)) for tale in drawn]
    rows.append(_row("sentences of the pages", extracts, is_judged=False))
    unread = [_of_recap(tale, unread_memory(tale.document.book)) for tale in drawn]
    rows.append(_row("the tale's own sentences", unread, is_judged=False))
    return Table(
        "What happened, told at the end of a tale (FairytaleQA)", _COLUMNS, tuple(rows)
    )


def _tales(file: Path) -> Iterator[_Tale]:
    documents = {document.id: document for document in TASKS["fairytaleqa"].load(file)}
    for record in tomllib.loads(_GISTS.read_text("utf-8"))["tale"]:
        document = documents[record["name"]]
        pages = pairwise(record["places"])
        entries = [
            _entry(document, number, start, end, gist)
            for number, ((start, end), gist) in enumerate(
                zip(pages, record["gists"], strict=True), start=1
            )
        ]
        memory = GistMemory(document.book, PAGE_SIZES["quality"], "", entries)
        yield _Tale(document, record.get("afresh", False), memory, record["told"])


def _entry(
    document: Document, number: int, start: int, end: int, gist: str
) -> MemoryEntry:
    page = Page(number, start, end, count_words(document.book.text[start:end]))
    return MemoryEntry(page, Gist(gist, count_words(gist), GistSource.MODEL))


def _extracted(memory: GistMemory) -> GistMemory:
    entries = []
    for entry in memory.entries:
        text = extract(memory.text_of(entry.page), wanted_words(entry.page.words))
        gist = Gist(text, count_words(text), GistSource.EXTRACTIVE)
        entries.append(MemoryEntry(entry.page, gist))
    return replace(memory, entries=entries)


def _of_recap(tale: _Tale, memory: GistMemory) -> _Coverage:
    story = recap(memory)
    return _coverage(
        tale, [sentence.text for sentence in (*story.before, *story.chapter)]
    )


def _gists_of(memory: GistMemory) -> list[str]:
    return [text for entry in memory.entries for text in _sentences(entry.gist.text)]


def _sentences(text: str) -> list[str]:
    return [" ".join(text[start:end].split()) for start, end in sentence_spans(text)]


def _coverage(tale: _Tale, sentences: list[str]) -> _Coverage:
    places = {
        f"{entry.page.number}.{at}": text
        for entry in tale.memory.entries
        for at, text in enumerate(_sentences(entry.gist.text), start=1)
    }
    covered = {place for place, text in places.items() if text in sentences}
    judged, by_words = {}, {}
    for question in tale.questions():
        key = (tale.document.id, question.id)
        alternatives = filter(None, tale.places[question.id].split("|"))
        judged[key] = float(
            any(covered.issuperset(both.split("+")) for both in alternatives)
        )
        by_words[key] = float(_has_words(question.references, sentences))
    return _Coverage(sum(map(count_words, sentences)), judged, by_words)


def _has_words(answers: tuple[str, ...], sentences: list[str]) -> bool:
    terms_of_answers = [
        {term for term in shared_terms(answer) if len(term) >= _SHORTEST}
        for answer in answers
    ]
    in_sentences = [set(shared_terms(sentence)) for sentence in sentences]
    return any(
        len(terms & in_sentence) >= _SHARE_OF_ANSWER * len(terms)
        for terms in terms_of_answers
        if terms
        for in_sentence in in_sentences
    )


def _row(
    drawn_from: str, tales: list[_Coverage], *, is_judged: bool = True
) -> tuple[str | float, ...]:
    judged = {key: value for tale in tales for key, value in tale.judged.items()}
    by_words = {key: value for tale in tales for key, value in tale.by_words.items()}
    return (
        drawn_from,
        float(len(tales)),
        float(len(judged)),
        mean(tale.words for tale in tales),
        written(estimate(judged)) if is_judged else "",
        written(estimate(by_words)),
    )
