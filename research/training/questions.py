"""Written questions about whole novels (research/training/data/questions).

A file is about one book, and a line of it is one JSON object. `question`, `answer` and `kind` are
as written; `quote` is the sentence or clause of the book that gives the answer, word for word, and
is in the book once. A question without `quote` is not answered by the book.

Print numbered places to ask about:

    python -m research.training.questions places novels/austen_emma.epub

Name or drop the lines that break a rule:

    python -m research.training.questions check FILE.jsonl [--repair]
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

from gistread.book.model import Book, Paragraph, ParagraphKind
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
    return [_question_in(line) for line in lines]


def _question_in(line: str) -> NovelQuestion:
    """The question in a line. Raises json.JSONDecodeError, AttributeError."""
    fields = json.loads(line)

    def text(name: str) -> str:
        return " ".join(str(fields.get(name, "")).split())

    return NovelQuestion(text("question"), text("answer"), text("quote"), text("kind"))


def places(book: Book, count: int) -> list[tuple[int, int]]:
    """Spans of about 280 words of whole paragraphs, spread evenly over the body of a book."""
    paragraphs = [
        paragraph
        for paragraph in book.paragraphs
        if paragraph.kind is not ParagraphKind.HEADING
        and paragraph.end - paragraph.start > 1
    ]
    skipped_first = len(paragraphs) // _SKIPPED_FIRST
    skipped_last = max(1, len(paragraphs) // _SKIPPED_LAST)
    body = paragraphs[skipped_first:-skipped_last]
    last = len(body) - 1
    spans: list[tuple[int, int]] = []
    last_end = 0
    for number in range(count):
        first = body[round(number * last / count)]
        if spans and first.start < last_end:
            continue
        last_end = _end_of_place(book, body, first)
        spans.append((first.start, last_end))
    return spans


def _end_of_place(book: Book, body: Sequence[Paragraph], first: Paragraph) -> int:
    """The end of the paragraph with which a place from `first` on has enough words."""
    for paragraph in body:
        if paragraph.end < first.end:
            continue
        if count_words(book.text[first.start : paragraph.end]) >= _PLACE_WORDS:
            return paragraph.end
    return body[-1].end


def find_quote(quote: str, text: str) -> list[tuple[int, int]]:
    """Where these words are in a text; quotation marks, dashes and line breaks may differ."""
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
    broken: list[str] = []
    if novel_question.kind not in KINDS:
        broken.append(f"unknown kind {novel_question.kind!r}")
    if not question.endswith("?") or count_words(question) < _LEAST_QUESTION_WORDS:
        broken.append("no question")
    if novel_question.kind == "unanswerable":
        if answer or quote:
            broken.append("unanswerable with an answer")
        return broken
    if not answer or count_words(answer) > MOST_ANSWER_WORDS:
        broken.append(f"the answer is empty or over {MOST_ANSWER_WORDS} words")
    if not _LEAST_QUOTE_WORDS <= count_words(quote) <= _MOST_QUOTE_WORDS:
        bounds = f"under {_LEAST_QUOTE_WORDS} or over {_MOST_QUOTE_WORDS}"
        broken.append(f"the quote has {bounds} words")
    times = len(find_quote(quote, book.text))
    if times != 1:
        broken.append(f"the quote is in the book {times} times")
    if _fold(answer).strip(".").lower() in _fold(question).lower():
        broken.append("the question has the answer")
    return broken


def documents(paths: Sequence[Path]) -> Iterator[Document]:
    """Each book with its questions; those that the book does not answer have no gold place."""
    for path in paths:
        book = open_book(_book_path(path.stem))
        questions: list[Question] = []
        for written in read_questions(path):
            spans = find_quote(written.quote, book.text)
            expected = 1 if written.quote else 0
            if len(spans) != expected:
                continue
            question = Question(
                id=written.question,
                text=written.question,
                references=(written.answer,) if written.answer else (),
                gold_places=tuple(spans),
            )
            questions.append(question)
        yield Document(book.title, book, tuple(questions))


def training_files() -> list[Path]:
    """The files about books that may be trained on."""
    paths = sorted(FOLDER.glob("*.jsonl"))
    return [path for path in paths if path.stem not in DEVELOPMENT]


def _book_path(name: str) -> Path:
    """The file of a novel. Raises FileNotFoundError."""
    paths = [
        *(SHARED / "novels").glob(f"{name}.epub"),
        *(SHARED / "litbank" / "novels").glob(f"{name}.txt"),
    ]
    if not paths:
        raise FileNotFoundError(f"No novel {name!r} in {SHARED}")
    return paths[0]


def _fold(text: str) -> str:
    """A text with plain quotation marks, dashes and spaces; its length stays."""
    return text.translate(_FOLD)


@cache
def _folded(text: str) -> str:
    return _fold(text)


def _print_places(file: str, count: int) -> None:
    book = open_book(SHARED / file)
    for number, (start, end) in enumerate(places(book, count), 1):
        titles = [chapter.title for chapter in book.chapters if chapter.start <= start]
        title = titles[-1] if titles else ""
        print(f"### {number} ({title})\n{book.text[start:end].strip()}\n")


def _check(path: Path, *, repair: bool) -> int:
    """Print the faults of each line; with `repair`, keep only lines without any."""
    book = open_book(_book_path(path.stem))
    every_line = path.read_text(encoding="utf-8").splitlines()
    lines = [line for line in every_line if line.strip()]
    good: list[NovelQuestion] = []
    questions: set[str] = set()
    for number, line in enumerate(lines, 1):
        try:
            novel_question = _question_in(line)
        except (json.JSONDecodeError, AttributeError) as error:
            print(f"{number}: {error}: {line[:160]}")
            continue
        broken = faults(novel_question, book)
        question = novel_question.question.lower()
        if question in questions:
            broken.append("asked before")
        questions.add(question)
        if broken:
            print(f"{number}: {'; '.join(broken)}: {line[:160]}")
        else:
            good.append(novel_question)
    if repair:
        rows = [json.dumps(asdict(question), ensure_ascii=False) for question in good]
        path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    kinds = Counter(question.kind for question in good)
    print(f"{path.name}: {len(good)} of {len(lines)} questions hold; by kind:", end=" ")
    print(kinds.most_common())
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
