"""Written questions about whole novels (research/training/data/questions).

A file is about one book, and a line of it is one JSON object. `question`, `answer` and `kind` are
as written; `quote` is the sentence or clause of the book that tells the answer, word for word, and
stands in the book once. A question without `quote` is not answered by the book.

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
from dataclasses import asdict, dataclass
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
# The title page and the like come first, notes of the publisher last.
_SKIPPED_FIRST = 100  # One in so many paragraphs
_SKIPPED_LAST = 200
_LEAST_QUESTION_WORDS = 4
_LEAST_QUOTE_WORDS = 4
_MOST_QUOTE_WORDS = 60
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
        NovelQuestion(
            *(" ".join(str(json.loads(line).get(key, "")).split()) for key in fields)
        )
        for line in lines
    ]


def places(book: Book, count: int) -> list[tuple[int, int]]:
    """Spans of about 280 words of whole paragraphs, spread evenly over the body of a book."""
    body = [
        paragraph
        for paragraph in book.paragraphs
        if paragraph.kind is not ParagraphKind.HEADING
        and paragraph.end - paragraph.start > 1
    ]
    body = body[len(body) // _SKIPPED_FIRST : -max(1, len(body) // _SKIPPED_LAST)]
    starts = [body[round(at * (len(body) - 1) / count)] for at in range(count)]
    spans: list[tuple[int, int]] = []
    for first in starts:
        if spans and first.start < spans[-1][1]:
            continue
        end = first.end
        while (
            count_words(book.text[first.start : end]) < _PLACE_WORDS
            and end < body[-1].end
        ):
            end = next(paragraph.end for paragraph in body if paragraph.end > end)
        spans.append((first.start, end))
    return spans


def find_quote(quote: str, text: str) -> list[tuple[int, int]]:
    """Where these words stand in a text; quotation marks, dashes and line breaks may differ."""
    words = _fold(quote).split()
    if not words:
        return []
    pattern = r"\s+".join(map(re.escape, words))
    return [match.span() for match in re.finditer(pattern, _folded(text))]


def faults(novel_question: NovelQuestion, book: Book) -> list[str]:
    """The rules that a question breaks."""
    question = novel_question.question
    answer = novel_question.answer
    quote = novel_question.quote
    broken = []
    if novel_question.kind not in KINDS:
        broken.append(f"unknown kind {novel_question.kind!r}")
    if not question.endswith("?") or count_words(question) < _LEAST_QUESTION_WORDS:
        broken.append("no question")
    if novel_question.kind == "unanswerable":
        return [*broken, "unanswerable with an answer"] if answer or quote else broken
    if not answer or count_words(answer) > MOST_ANSWER_WORDS:
        broken.append(f"the answer is empty or over {MOST_ANSWER_WORDS} words")
    if not _LEAST_QUOTE_WORDS <= count_words(quote) <= _MOST_QUOTE_WORDS:
        bounds = f"under {_LEAST_QUOTE_WORDS} or over {_MOST_QUOTE_WORDS}"
        broken.append(f"the quote has {bounds} words")
    if (times := len(find_quote(quote, book.text))) != 1:
        broken.append(f"the quote stands in the book {times} times")
    if _fold(answer).strip(".").lower() in _fold(question).lower():
        broken.append("the question has the answer")
    return broken


def documents(paths: Sequence[Path]) -> Iterator[Document]:
    """Each book with its questions; those that the book does not answer have no gold place."""
    for path in paths:
        book = open_book(_book_path(path.stem))
        questions = [
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
        yield Document(book.title, book, tuple(questions))


def training_files() -> list[Path]:
    return [
        path for path in sorted(FOLDER.glob("*.jsonl")) if path.stem not in DEVELOPMENT
    ]


def _book_path(name: str) -> Path:
    paths = [
        *(SHARED / "novels").glob(f"{name}.epub"),
        *(SHARED / "litbank" / "novels").glob(f"{name}.txt"),
    ]
    if not paths:
        raise FileNotFoundError(f"No novel {name!r} in {SHARED}")
    return paths[0]


def _fold(text: str) -> str:
    return text.translate(_FOLD)


@cache
def _folded(text: str) -> str:
    return _fold(text)


def _print_places(file: str, count: int) -> None:
    book = open_book(SHARED / file)
    for number, (start, end) in enumerate(places(book, count), 1):
        begun = [chapter.title for chapter in book.chapters if chapter.start <= start]
        title = begun[-1] if begun else ""
        print(f"### {number} ({title})\n{book.text[start:end].strip()}\n")


def _check(path: Path, *, repair: bool) -> int:
    book = open_book(_book_path(path.stem))
    lines = [
        line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()
    ]
    good: list[str] = []
    counts: Counter[str] = Counter()
    for number, line in enumerate(lines, 1):
        try:
            kept = json.loads(line)
            novel_question = NovelQuestion(
                *(
                    " ".join(str(kept.get(key, "")).split())
                    for key in NovelQuestion.__slots__
                )
            )
            wrong = faults(novel_question, book)
        except (json.JSONDecodeError, AttributeError) as error:
            wrong = [str(error)]
        else:
            counts[novel_question.question.lower()] += 1
            if counts[novel_question.question.lower()] > 1:
                wrong.append("asked before")
        if wrong:
            print(f"{number}: {'; '.join(wrong)}: {line[:160]}")
        else:
            good.append(json.dumps(asdict(novel_question), ensure_ascii=False))
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
    test.add_argument(
        "--repair", action="store_true", help="drop the lines that break a rule"
    )
    arguments = parser.parse_args()
    if arguments.command == "check":
        return _check(arguments.file, repair=arguments.repair)
    _print_places(arguments.file, arguments.count)
    return 0


if __name__ == "__main__":
    sys.exit(main())
