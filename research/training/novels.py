"""Plain questions about the development novels, asked through the program.

    python -m research.training.novels

A line of `data/plain_questions.tsv` has a novel, a question, and the words that a right answer has,
separated by "|". The model has not read the book before. The program prints the share of questions
whose words are in the answer, in the answer or its sources, and in the text shown to the model.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from pathlib import Path

from gistread import Answer, Book, SyncSession, open_book
from gistread.readers.events import Shown
from research.training.pages import SHARED

QUESTIONS = Path(__file__).parent / "data" / "plain_questions.tsv"


@dataclass(frozen=True, slots=True)
class Outcome:
    question: str
    answer: str
    right: bool
    in_sources: bool
    in_text: bool
    seconds: float


def outcomes(model: str, reader: str) -> Iterator[Outcome]:
    """Ask every question, book by book."""
    lines = QUESTIONS.read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    for novel, rows_of_novel in groupby(rows, key=lambda row: row[0]):
        book = open_book(SHARED / "novels" / f"{novel}.epub")
        with SyncSession(book, model=model) as session:
            for _, question, words in rows_of_novel:
                began = time.monotonic()
                answer = session.ask(question, reader=reader)
                seconds = time.monotonic() - began
                yield _outcome(question, answer, words.split("|"), book, seconds)


def _outcome(
    question: str,
    answer: Answer,
    right_words: Sequence[str],
    book: Book,
    seconds: float,
) -> Outcome:
    shown = [step for step in answer.steps if isinstance(step, Shown)]
    places = chain.from_iterable(step.places for step in shown)
    text = " ".join(book.text[start:end] for start, end in places)
    sources = " ".join(citation.quote for citation in answer.citations)

    def has_right_words(text: str) -> bool:
        return any(words in text.lower() for words in right_words)

    return Outcome(
        question,
        answer.text,
        right=has_right_words(answer.text),
        in_sources=has_right_words(sources),
        in_text=has_right_words(text),
        seconds=seconds,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="starter")
    parser.add_argument("--reader", default="gistread")
    arguments = parser.parse_args()
    all_outcomes = []
    for outcome in outcomes(arguments.model, arguments.reader):
        all_outcomes.append(outcome)
        sign = "+" if outcome.right else "-"
        print(f"{sign} {outcome.question} | {outcome.answer}", flush=True)
    count = max(1, len(all_outcomes))
    right = sum(outcome.right for outcome in all_outcomes)
    in_sources = sum(outcome.right or outcome.in_sources for outcome in all_outcomes)
    in_text = sum(outcome.in_text for outcome in all_outcomes)
    seconds = sum(outcome.seconds for outcome in all_outcomes)
    print(
        f"answer right {right / count:.0%}",
        f"in answer or sources {in_sources / count:.0%}",
        f"in the text shown {in_text / count:.0%}",
        f"{seconds / count:.1f} s a question",
        sep=", ",
    )


if __name__ == "__main__":
    main()
