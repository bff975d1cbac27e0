"""Plain questions about the development novels, asked through the program: python -m
research.training.novels.

A line of `data/plain_questions.tsv` has a novel, a question, and the words that a right answer has,
separated by "|". Nothing of the book is read before. Printed is the share of questions whose words
are in the answer, in the answer or its sources, and in the text that the model was shown.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from gistread import SyncSession, open_book
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
    rows = [line.split("\t") for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    for novel, asked in groupby(rows, key=lambda row: row[0]):
        book = open_book(SHARED / "novels" / f"{novel}.epub")
        with SyncSession(book, model=model) as session:
            for _, question, words in asked:
                began = time.monotonic()
                answer = session.ask(question, reader=reader)
                places = [
                    place
                    for step in answer.steps
                    if isinstance(step, Shown)
                    for place in step.places
                ]
                shown = " ".join(book.text[start:end] for start, end in places)
                sources = " ".join(citation.quote for citation in answer.citations)
                right, in_sources, in_text = (
                    any(word in text.lower() for word in words.split("|"))
                    for text in (answer.text, sources, shown)
                )
                yield Outcome(
                    question, answer.text, right, in_sources, in_text, time.monotonic() - began
                )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="starter")
    parser.add_argument("--reader", default="gistread")
    arguments = parser.parse_args()
    found = []
    for one in outcomes(arguments.model, arguments.reader):
        found.append(one)
        print(f"{'+' if one.right else '-'} {one.question} | {one.answer}", flush=True)
    count = max(1, len(found))
    print(f"answer right {sum(one.right for one in found) / count:.0%}", end=", ")
    print(
        f"in answer or sources {sum(one.right or one.in_sources for one in found) / count:.0%}",
        end=", ",
    )
    print(f"in the text shown {sum(one.in_text for one in found) / count:.0%}", end=", ")
    print(f"{sum(one.seconds for one in found) / count:.1f} s a question")


if __name__ == "__main__":
    main()
