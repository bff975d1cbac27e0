"""`python3 -m tests.reliability [PART…] [--kills N]`: the tables of docs/reliability.md."""

import argparse
import sys
import tempfile
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

from tests.reliability import epub_words, faults, pdf_words

PARTS = ("pdf", "epub", "faults")


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    for row in chain((heading, ["---"] * len(heading)), rows):
        sys.stdout.write(f"| {' | '.join(row)} |\n")
        sys.stdout.flush()
    sys.stdout.write("\n")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python3 -m tests.reliability", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"which tables: {', '.join(PARTS)} (all)")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--damages", type=int, default=2000)
    arguments = parser.parse_args()
    for part in arguments.parts or PARTS:
        with tempfile.TemporaryDirectory() as name:
            if part == "pdf":
                heading = ("PDF", "words", "found", "in order", "words that are in neither source")
                table(heading, pdf_words.rows(Path(name)))
            elif part == "epub":
                heading = ("EPUBs", "books", "letters and digits", "not read", "without a notice")
                table(heading, epub_words.rows(Path(name)))
            else:
                heading = ("fault", "times", "pages lost", "pages doubled", "pages unlike those of an undisturbed run")
                found = faults.rows(Path(name), kills=arguments.kills, damages=arguments.damages)
                table(heading, found)


if __name__ == "__main__":
    main()
