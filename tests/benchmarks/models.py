"""How well a model answers through the program, and how long its user waits.

    python3 -m tests.benchmarks.models MODEL.gguf --out FILE.jsonl [--sets dev,tales]

Nothing of a book is read before its questions are asked. Each answer is a line of FILE, so a
stopped run goes on where it was, and `--show FILE…` prints the tables of finished ones. The sets:

- `dev` and `held`: plain questions of readers about sixteen novels (`questions_dev.tsv`,
  `questions_held.tsv`). An answer is right if it matches every expression of `accepted`, which
  ` & ` separates. Questions of the kind `none` have no answer in their book.
- `sample`: what newcomers ask about the sample story (`questions_sample.tsv`), scored likewise.
  The first ten are the ones a release reports; the second ten show that these are not special.
- `tales`: FairytaleQA (dev), one question in every few, over the whole tale. Scored by ROUGE-L.
- `multihop`: HotpotQA and MuSiQue over their own paragraphs. Right if the answer stands in it.
"""

import argparse
import csv
import json
import re
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path

from gistread import SyncSession, open_book
from gistread.book.builder import BookBuilder
from gistread.book.model import Book
from gistread.errors import GistreadError
from gistread.paths import Paths, default_paths
from gistread.readers.events import AnswerDelta, Answered, ReaderEvent, Shown
from gistread.sample import story_path
from research.evaluation.metrics import rouge
from research.evaluation.table import estimate
from research.evaluation.tasks.registry import TASKS
from tests.benchmarks.figures import Table, Value, as_text
from tests.benchmarks.recall import DATA

HERE = Path(__file__).parent
UNANSWERABLE = "none"
"""The kind of a question that its book does not answer."""
_EVERY_TALE_QUESTION = 12
"""One question in so many: about eighty."""
_HOTPOT_QUESTIONS = 30
_MUSIQUE_QUESTIONS = 20


@dataclass(frozen=True, slots=True)
class PlainQuestion:
    group: str  # Novel, tale or task that it is about: intervals are over groups
    kind: str
    text: str
    accepted: str = ""  # Expressions that a right answer matches, separated by " & "
    references: tuple[str, ...] = ()  # Or answers to compare with, by ROUGE-L
    evidence: str = ""  # Words of the book among those that tell the answer


@dataclass(frozen=True, slots=True)
class Asked:
    """What became of one question."""

    set: str
    group: str
    kind: str
    question: str
    answer: str = ""
    has_answer: bool = False
    score: float = 0.0  # 1: right; ROUGE-L for `tales`
    in_sources: bool = False  # The right words stand in a source
    in_text: bool = False  # … or in the text that the model was shown
    marked: bool = False
    first_word_s: float = 0.0
    last_word_s: float = 0.0
    prefilled: int = 0
    generated: int = 0
    method: str = ""
    sources: tuple[str, ...] = field(default_factory=tuple)


def is_right(answer: str, accepted: str) -> bool:
    """Whether an answer matches every expression, each at the beginning of a word."""
    groups = [group.strip() for group in accepted.split(" & ")]
    return all(re.search(rf"(?i)(?<!\w)(?:{group})", answer) for group in groups)


def _rows_of(name: str) -> list[dict[str, str]]:
    with (HERE / f"questions_{name}.tsv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def sample() -> Iterator[tuple[Book, list[PlainQuestion]]]:
    """The sample story with its questions."""
    questions = [
        PlainQuestion(row["part"], row["part"], row["question"], row["accepted"])
        for row in _rows_of("sample")
    ]
    yield open_book(story_path()), questions


def novels_of(name: str) -> Iterator[tuple[Book, list[PlainQuestion]]]:
    """The novels of `questions_NAME.tsv` with their questions."""
    for novel, its_rows in groupby(_rows_of(name), key=lambda row: row["novel"]):
        path = DATA / "novels" / f"{novel}.epub"
        if path.exists():
            yield (
                open_book(path),
                [
                    PlainQuestion(
                        novel,
                        row["kind"],
                        row["question"],
                        row["accepted"],
                        evidence=row["evidence"],
                    )
                    for row in its_rows
                ],
            )


def tales() -> Iterator[tuple[Book, list[PlainQuestion]]]:
    count = 0
    for document in TASKS["fairytaleqa"].load(
        DATA / "fairytaleqa/fairytaleqa_dev.jsonl"
    ):
        chosen = []
        for question in document.questions:
            if count % _EVERY_TALE_QUESTION == 0:
                kind = question.text.split()[0].lower()
                chosen.append(
                    PlainQuestion(
                        document.id, kind, question.text, references=question.references
                    )
                )
            count += 1
        if chosen:
            yield document.book, chosen


def multihop() -> Iterator[tuple[Book, list[PlainQuestion]]]:
    hotpot = json.loads((DATA / "multihop/hotpotqa_dev_120.json").read_text("utf-8"))
    for row in hotpot[:_HOTPOT_QUESTIONS]:
        pairs = row["context"]
        if isinstance(pairs, dict):
            pairs = zip(pairs["title"], pairs["sentences"], strict=True)
        paragraphs = [(title, "".join(sentences)) for title, sentences in pairs]
        answers = (row["answer"],)
        yield (
            _article(paragraphs, row["question"]),
            [_needle("hotpotqa", row["question"], answers)],
        )
    lines = (DATA / "multihop/musique_dev_60.jsonl").read_text("utf-8").splitlines()
    for line in lines[:_MUSIQUE_QUESTIONS]:
        row = json.loads(line)
        paragraphs = [
            (paragraph["title"], paragraph["paragraph_text"])
            for paragraph in row["paragraphs"]
        ]
        answers = (row["answer"], *row["answer_aliases"])
        yield (
            _article(paragraphs, row["question"]),
            [_needle("musique", row["question"], answers)],
        )


def _article(paragraphs: Iterable[tuple[str, str]], title: str) -> Book:
    builder = BookBuilder()
    for heading, text in paragraphs:
        builder.add(f"{heading}. {text}")
    return builder.build(title=title, language="en", source_format="multihop")


def _needle(task: str, question: str, answers: Sequence[str]) -> PlainQuestion:
    return PlainQuestion(task, task, question, "|".join(map(re.escape, answers)))


SETS: dict[str, Callable[[], Iterator[tuple[Book, list[PlainQuestion]]]]] = {
    "dev": lambda: novels_of("dev"),
    "held": lambda: novels_of("held"),
    "sample": sample,
    "tales": tales,
    "multihop": multihop,
}


def ask_all(
    model: str,
    reader: str,
    set_names: Sequence[str],
    out: Path,
    paths: Paths,
    limit: int = 0,
    kinds: Collection[str] = (),
) -> None:
    """Ask what `out` does not have yet, and append each answer to it.

    At most `limit` questions of a book, of these kinds; 0 and none: all.
    """
    known = {
        (outcome.set, outcome.group, outcome.question) for outcome in read_outcomes(out)
    }
    with out.open("a", encoding="utf-8") as lines:
        for name in set_names:
            for book, questions in SETS[name]():
                open_questions = [
                    question
                    for question in questions
                    if (name, question.group, question.text) not in known
                    and (not kinds or question.kind in kinds)
                ]
                chosen = open_questions[: limit or None]
                for outcome in _answers_to(name, book, chosen, model, reader, paths):
                    lines.write(json.dumps(asdict(outcome), ensure_ascii=False) + "\n")
                    lines.flush()
                    sign = "+" if outcome.score >= 0.5 else "-"
                    print(sign, outcome.question, "|", outcome.answer[:120], flush=True)


def _answers_to(
    name: str,
    book: Book,
    questions: Sequence[PlainQuestion],
    model: str,
    reader: str,
    paths: Paths,
) -> Iterator[Asked]:
    if not questions:
        return
    with SyncSession(book, model=model, paths=paths) as session:
        for question in questions:
            began = time.monotonic()
            first_word_s = 0.0
            steps: list[ReaderEvent] = []
            try:
                for event in session.stream_answer(question.text, reader=reader):
                    if isinstance(event, AnswerDelta) and not first_word_s:
                        first_word_s = time.monotonic() - began
                    steps.append(event)
            except GistreadError as error:
                yield Asked(
                    name, question.group, question.kind, question.text, f"({error})"
                )
                continue
            last_word_s = time.monotonic() - began
            yield _outcome(
                name, question, book, steps, first_word_s or last_word_s, last_word_s
            )


def _outcome(
    name: str,
    question: PlainQuestion,
    book: Book,
    steps: Sequence[ReaderEvent],
    first_word_s: float,
    last_word_s: float,
) -> Asked:
    answered = steps[-1]
    assert isinstance(answered, Answered)
    places = {
        place for step in steps if isinstance(step, Shown) for place in step.places
    }
    shown = " ".join(book.text[start:end] for start, end in sorted(places))
    quotes = tuple(citation.quote for citation in answered.citations)
    accepted = question.accepted
    return Asked(
        name,
        question.group,
        question.kind,
        question.text,
        answered.answer,
        has_answer=answered.found,
        score=_score(question, answered),
        in_sources=bool(accepted) and is_right(" ".join(quotes), accepted),
        in_text=bool(accepted) and is_right(shown, accepted),
        marked=bool(answered.marks),
        first_word_s=round(first_word_s, 2),
        last_word_s=round(last_word_s, 2),
        prefilled=answered.usage.prefilled,
        generated=answered.usage.generated,
        method=next((step.reader for step in steps if hasattr(step, "reader")), ""),
        sources=quotes,
    )


def _score(question: PlainQuestion, answered: Answered) -> float:
    if question.kind == UNANSWERABLE:
        return float(not answered.found)
    if question.references:
        return max(
            rouge(answered.answer, text)["rougeL"] for text in question.references
        )
    return float(answered.found and is_right(answered.answer, question.accepted))


def read_outcomes(path: Path) -> list[Asked]:
    if not path.exists():
        return []
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return [Asked(**row | {"sources": tuple(row["sources"])}) for row in rows]


COLUMNS = (
    "kind",
    "questions",
    "right [%]",
    "interval",
    "or in sources [%]",
    "text has it [%]",
    "refused [%]",
    "first word [s]",
    "last word [s]",
    "90% within [s]",
    "prefilled",
    "decoded",
)


def table_of(title: str, outcomes: Sequence[Asked]) -> Table:
    """A row for each kind of question, after one for all that have an answer."""
    kinds: dict[str, list[Asked]] = defaultdict(list)
    for outcome in outcomes:
        kinds[outcome.kind].append(outcome)
    answerable = [outcome for outcome in outcomes if outcome.kind != UNANSWERABLE]
    rows = [_row("all answerable", answerable)] if answerable else []
    rows += [_row(kind, kinds[kind]) for kind in sorted(kinds)]
    return Table(title, COLUMNS, tuple(rows))


def _row(kind: str, outcomes: Sequence[Asked]) -> tuple[Value, ...]:
    keyed = {(outcome.group, outcome.question): outcome.score for outcome in outcomes}
    known = estimate(keyed)
    assert known is not None
    if known.low is None:
        interval = ""
    else:
        interval = f"{100 * known.low:.0f}–{100 * (known.high or 0):.0f}"

    def share(counted: Callable[[Asked], bool]) -> float:
        return 100 * sum(map(counted, outcomes)) / len(outcomes)

    waits = sorted(outcome.last_word_s for outcome in outcomes)
    return (
        kind,
        len(outcomes),
        100 * known.mean,
        interval,
        share(lambda outcome: outcome.score >= 0.5 or outcome.in_sources),
        share(lambda outcome: outcome.in_text),
        share(lambda outcome: not outcome.has_answer),
        statistics.median(outcome.first_word_s for outcome in outcomes),
        statistics.median(waits),
        waits[int(0.9 * (len(waits) - 1))],
        statistics.mean(outcome.prefilled for outcome in outcomes),
        statistics.mean(outcome.generated for outcome in outcomes),
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python3 -m tests.benchmarks.models",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", nargs="?", default="starter")
    parser.add_argument("--out", type=Path, metavar="FILE")
    parser.add_argument("--sets", default=",".join(SETS), help=f"of: {', '.join(SETS)}")
    parser.add_argument("--reader", default="auto")
    parser.add_argument("--limit", type=int, default=0, help="questions of a book; all")
    parser.add_argument(
        "--kinds", default="", help="of questions, such as why,how; all"
    )
    parser.add_argument(
        "--home", type=Path, metavar="FOLDER", help="for caches and checks; usual"
    )
    parser.add_argument(
        "--show", type=Path, nargs="+", metavar="FILE", help="only the tables"
    )
    options = parser.parse_args()
    if not options.show and options.out is None:
        parser.error("--out FILE is missing")
    if not options.show:
        names = ("config", "data", "cache", "state")
        if options.home:
            paths = Paths(*(options.home / name for name in names))
        else:
            paths = default_paths()
        set_names = options.sets.split(",")
        kinds = set(filter(None, options.kinds.split(",")))
        ask_all(
            options.model,
            options.reader,
            set_names,
            options.out,
            paths,
            options.limit,
            kinds,
        )
    for path in options.show or [options.out]:
        outcomes = read_outcomes(path)
        for name, of_set in groupby(outcomes, key=lambda outcome: outcome.set):
            print(as_text(table_of(f"{path.stem}: {name}", list(of_set))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
