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
    for pages_of_source in pages:
        title = pages_of_source[0].source
        builder = BookBuilder()
        for page in pages_of_source:
            for paragraph in page.text.split("\n\n"):
                builder.add(paragraph)
        book = builder.build(title=title, source_format="txt", language="en")
        yield from _with_questions(book, pages_of_source)


def whole_books(pages: list[list[WrittenPage]]) -> Iterator[Document]:
    """The books that pages are taken from, with the questions about those pages."""
    by_file: dict[str, list[WrittenPage]] = {}
    for page in chain.from_iterable(pages):
        by_file.setdefault(page.file, []).append(page)
    for file, pages_of_file in by_file.items():
        if file:
            yield from _with_questions(open_book(SHARED / file), pages_of_file)


def _with_questions(book: Book, pages: Sequence[WrittenPage]) -> Iterator[Document]:
    """The book with the questions whose quotes are in it exactly once; nothing without any."""
    questions: list[Question] = []
    for written in chain.from_iterable(page.questions for page in pages):
        words = written.quote.replace("_", "").split()
        pattern = r"[\s_*]+".join(map(re.escape, words))
        places = [match.span() for match in re.finditer(pattern, book.text)]
        if len(places) == 1:
            question = Question(
                id=written.text,
                text=written.text,
                references=(written.answer,),
                gold_places=tuple(places),
            )
            questions.append(question)
    if questions:
        yield Document(book.title, book, tuple(questions))


def _page(fields: dict[str, Any]) -> WrittenPage:
    """The page of a line."""
    if "page" in fields:
        text = fields["page"]
    else:
        text = _text(fields["file"], fields["at"], fields["paragraphs"])
    questions = [_question(more) for more in fields.get("more", [])]
    if fields.get("question"):
        questions.insert(0, _question(fields))
    file = fields.get("file", "")
    is_part = ":" in file
    return WrittenPage(
        source=fields["source"],
        file="" if is_part else file,
        text=text,
        gist=" ".join(fields["gist"].split()),
        questions=tuple(questions),
    )


def _question(fields: dict[str, Any]) -> WrittenQuestion:
    def text(name: str) -> str:
        return " ".join(fields.get(name, "").split())

    return WrittenQuestion(
        text("question"), text("answer"), text("quote"), text("reason")
    )


def _text(file: str, start: int, paragraphs: list[int]) -> str:
    """The paragraphs from a word of a file on, given the number of words of each."""
    words = _words(file)
    texts: list[str] = []
    for count in paragraphs:
        texts.append(" ".join(words[start : start + count]))
        start += count
    return "\n\n".join(texts)


@cache
def _words(file: str) -> list[str]:
    """The words of a file, or of one record in it: `FILE:NUMBER`."""
    name, _, number = file.partition(":")
    path = SHARED / name
    if number:
        lines = path.read_text(encoding="utf-8").splitlines()
        record = json.loads(lines[int(number)])
        if "document" in record:
            text = record["document"]
        else:
            text = " ".join(record["sections"])
    elif path.suffix == ".epub":
        text = open_book(path).text
    else:
        text = path.read_text(encoding="utf-8", errors="replace")
    return str(text).split()
