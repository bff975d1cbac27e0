"""Written questions about whole novels (research/training/data/questions), one JSON object a line,
one file a book.

`question`, `answer` and `kind` are as written; `quote` is the sentence or clause of the book that
tells the answer, word for word, and stands in the book once. A question without `quote` is not
answered by the book.

    python -m research.training.questions places novels/austen_emma.epub   prints numbered places to
    ask about
    python -m research.training.questions check FILE.jsonl [--repair]      names or drops lines that
    break a rule
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gistread.book.model import Book, ParagraphKind
from gistread.book.open import open_book
from gistread.words import count_words
from research.evaluation.model import Document, Question
from research.training.pages import SHARED

FOLDER = Path(__file__).parent / "data" / "questions"
KINDS = (
    "who",
    "relation",
    "role",
    "name",
    "where",
    "when",
    "number",
    "object",
    "why",
    "how",
    "feeling",
    "said",
    "outcome",
    "near miss",
    "next sentence",
    "reworded",
    "unanswerable",
)
DEVELOPMENT = (
    "austen_emma",
    "burnett_the-secret-garden",
    "christie_the-murder-on-the-links",
    "forster_howards-end",
    "hardy_the-mayor-of-casterbridge",
    "london_the-sea-wolf",
    "stevenson_kidnapped",
    "wells_the-invisible-man",
)
"""Novels of `../shared/data/novels` that are never trained on."""
MOST_ANSWER_WORDS = 16
_PLACE_WORDS = 280
_FOLD = str.maketrans("‘’“”—–\u00a0\u2060", "''\"\"--  ")


@dataclass(frozen=True, slots=True)
class NovelQuestion:
    question: str
    answer: str
    quote: str
    kind: str


def read_questions(path: Path) -> list[NovelQuestion]:
    """The questions of a file, as written."""
    lines = path.read_text(encoding="utf-8").splitlines()
    fields = ("question", "answer", "quote", "kind")
    return [
        NovelQuestion(*(" ".join(str(json.loads(line).get(key, "")).split()) for key in fields))
        for line in lines
    ]


def places(book: Book, count: int) -> list[tuple[int, int]]:
    """Spans of about 280 words of whole paragraphs, spread evenly over the body of a book."""
    body = [
        paragraph
        for paragraph in book.paragraphs
        if paragraph.kind is not ParagraphKind.HEADING and paragraph.end - paragraph.start > 1
    ]
    body = body[len(body) // 100 : -max(1, len(body) // 200)]
    starts = [body[round(at * (len(body) - 1) / count)] for at in range(count)]
    found: list[tuple[int, int]] = []
    for first in starts:
        if found and first.start < found[-1][1]:
            continue
        end = first.end
        while count_words(book.text[first.start : end]) < _PLACE_WORDS and end < body[-1].end:
            end = next(one.end for one in body if one.end > end)
        found.append((first.start, end))
    return found


def find_quote(quote: str, text: str) -> list[tuple[int, int]]:
    """Where these words stand in a text; quotation marks, dashes and line breaks may differ."""
    words = _fold(quote).split()
    if not words:
        return []
    return [
        found.span() for found in re.finditer(r"\s+".join(map(re.escape, words)), _folded(text))
    ]


def faults(one: NovelQuestion, book: Book) -> list[str]:
    """The rules that a question breaks."""
    found = []
    if one.kind not in KINDS:
        found.append(f"unknown kind {one.kind!r}")
    if not one.question.endswith("?") or count_words(one.question) < 4:
        found.append("no question")
    if one.kind == "unanswerable":
        return [*found, "unanswerable with an answer"] if one.answer or one.quote else found
    if not one.answer or count_words(one.answer) > MOST_ANSWER_WORDS:
        found.append(f"the answer is empty or over {MOST_ANSWER_WORDS} words")
    if not 4 <= count_words(one.quote) <= 60:
        found.append("the quote has under 4 or over 60 words")
    if (times := len(find_quote(one.quote, book.text))) != 1:
        found.append(f"the quote stands in the book {times} times")
    if _fold(one.answer).strip(".").lower() in _fold(one.question).lower():
        found.append("the question has the answer")
    return found


def documents(paths: Sequence[Path]) -> Iterator[Document]:
    """Each book with its questions; those that the book does not answer have no gold place."""
    for path in paths:
        book = open_book(_book_path(path.stem))
        asked = [
            Question(
                question.question,
                question.question,
                (question.answer,) if question.answer else (),
                gold_places=tuple(spans),
            )
            for question in read_questions(path)
            for spans in [find_quote(question.quote, book.text)]
            if len(spans) == bool(question.quote)
        ]
        yield Document(book.title, book, tuple(asked))


def training_files() -> list[Path]:
    return [path for path in sorted(FOLDER.glob("*.jsonl")) if path.stem not in DEVELOPMENT]


def _book_path(name: str) -> Path:
    found = [
        *(SHARED / "novels").glob(f"{name}.epub"),
        *(SHARED / "litbank" / "novels").glob(f"{name}.txt"),
    ]
    if not found:
        raise FileNotFoundError(f"No novel {name!r} in {SHARED}")
    return found[0]


def _fold(text: str) -> str:
    return text.translate(_FOLD)


@cache
def _folded(text: str) -> str:
    return _fold(text)


def _print_places(file: str, count: int) -> None:
    book = open_book(SHARED / file)
    for number, (start, end) in enumerate(places(book, count), 1):
        chapter = next((one.title for one in reversed(book.chapters) if one.start <= start), "")
        print(f"### {number} ({chapter})\n{book.text[start:end].strip()}\n")


def _check(path: Path, *, repair: bool) -> int:
    book = open_book(_book_path(path.stem))
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    good: list[str] = []
    asked: Counter[str] = Counter()
    for number, line in enumerate(lines, 1):
        try:
            kept = json.loads(line)
            one = NovelQuestion(
                *(" ".join(str(kept.get(key, "")).split()) for key in NovelQuestion.__slots__)
            )
            wrong = faults(one, book)
        except (json.JSONDecodeError, AttributeError) as error:
            wrong = [str(error)]
        else:
            asked[one.question.lower()] += 1
            if asked[one.question.lower()] > 1:
                wrong.append("asked before")
        if wrong:
            print(f"{number}: {'; '.join(wrong)}: {line[:160]}")
        else:
            good.append(
                json.dumps(
                    {key: getattr(one, key) for key in NovelQuestion.__slots__}, ensure_ascii=False
                )
            )
    if repair:
        path.write_text("".join(f"{line}\n" for line in good), encoding="utf-8")
    print(f"{path.name}: {len(good)} of {len(lines)} questions hold; by kind:", end=" ")
    print(Counter(json.loads(line)["kind"] for line in good).most_common())
    return int(len(good) < len(lines))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    show = commands.add_parser("places")
    show.add_argument("file", help="a book in the data folder")
    show.add_argument("--count", type=int, default=37)
    test = commands.add_parser("check")
    test.add_argument("file", type=Path)
    test.add_argument("--repair", action="store_true", help="drop the lines that break a rule")
    arguments = parser.parse_args()
    if arguments.command == "check":
        return _check(arguments.file, repair=arguments.repair)
    _print_places(arguments.file, arguments.count)
    return 0


if __name__ == "__main__":
    sys.exit(main())
