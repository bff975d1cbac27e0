"""Written pages (research/training/data): gists, questions, answers and reasons.

They are about pages of books in `../shared/data`. A line of a file is one page. Where its text
comes from another file, only the place is kept: `at` is its first word in the file, `paragraphs`
the words of each paragraph. Lines of one source that follow one another are consecutive pages.
`question`, `answer` and `quote` are of the question that has a `reason` to look the page up, `more`
of the others.
"""

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from gistread.book.builder import BookBuilder
from gistread.book.model import Book
from gistread.book.open import open_book
from research.evaluation.model import Document, Question

SHARED = Path(
    os.environ.get("GISTREAD_DATA", Path(__file__).parents[3] / "shared" / "data")
)
WRITTEN = Path(__file__).parent / "data"


@dataclass(frozen=True, slots=True)
class WrittenQuestion:
    text: str
    answer: str
    quote: str  # The words of the page that have the answer
    reason: str = ""  # To look the page up


@dataclass(frozen=True, slots=True)
class WrittenPage:
    source: str
    # In `SHARED`, whole books alone; empty if the text is a part of a file or our own
    file: str
    text: str
    gist: str
    questions: tuple[WrittenQuestion, ...]


def read_pages(folder: Path = WRITTEN) -> list[list[WrittenPage]]:
    """The pages of each source, in order."""
    lines = [
        line
        for path in sorted(folder.glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    pages = [_page(json.loads(line)) for line in lines]
    return [list(group) for _, group in groupby(pages, key=lambda page: page.source)]


def as_documents(pages: list[list[WrittenPage]]) -> Iterator[Document]:
    """The pages of each source as a book, with the questions about them."""
    for run in pages:
        builder = BookBuilder()
        for page in run:
            for paragraph in page.text.split("\n\n"):
                builder.add(paragraph)
        yield from _with_questions(
            builder.build(title=run[0].source, source_format="txt", language="en"), run
        )


def whole_books(pages: list[list[WrittenPage]]) -> Iterator[Document]:
    """The books that pages are taken from, with the questions about those pages."""
    by_file: dict[str, list[WrittenPage]] = {}
    for page in chain.from_iterable(pages):
        by_file.setdefault(page.file, []).append(page)
    for file, own in by_file.items():
        if file:
            yield from _with_questions(open_book(SHARED / file), own)


def _with_questions(book: Book, pages: Sequence[WrittenPage]) -> Iterator[Document]:
    """The book with those questions whose quotes stand in it once; nothing if there are none."""
    questions = []
    for written in chain.from_iterable(page.questions for page in pages):
        words = written.quote.replace("_", "").split()
        pattern = r"[\s_*]+".join(map(re.escape, words))
        places = [match.span() for match in re.finditer(pattern, book.text)]
        if len(places) == 1:
            gold = (places[0],)
            question = Question(
                written.text, written.text, (written.answer,), gold_places=gold
            )
            questions.append(question)
    if questions:
        yield Document(book.title, book, tuple(questions))


def _page(kept: dict[str, Any]) -> WrittenPage:
    if "page" in kept:
        text = kept["page"]
    else:
        text = _text(kept["file"], kept["at"], kept["paragraphs"])
    first = [kept] if kept.get("question") else []
    questions = tuple(_question(fields) for fields in [*first, *kept.get("more", [])])
    file = kept.get("file", "")
    return WrittenPage(
        kept["source"],
        "" if ":" in file else file,
        text,
        " ".join(kept["gist"].split()),
        questions,
    )


def _question(kept: dict[str, Any]) -> WrittenQuestion:
    return WrittenQuestion(
        *(
            " ".join(kept.get(key, "").split())
            for key in ("question", "answer", "quote", "reason")
        )
    )


def _text(file: str, at: int, paragraphs: list[int]) -> str:
    words, parts = _words(file), []
    for count in paragraphs:
        parts.append(" ".join(words[at : at + count]))
        at += count
    return "\n\n".join(parts)


@cache
def _words(file: str) -> list[str]:
    """The words of a file, or of one record in it: `FILE:NUMBER`."""
    name, _, number = file.partition(":")
    path = SHARED / name
    if number:
        record = json.loads(path.read_text(encoding="utf-8").splitlines()[int(number)])
        text = (
            record["document"] if "document" in record else " ".join(record["sections"])
        )
    else:
        if path.suffix == ".epub":
            text = open_book(path).text
        else:
            text = path.read_text(encoding="utf-8", errors="replace")
    return str(text).split()
