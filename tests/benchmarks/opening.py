"""Processor time and memory for opening books, in this tree and in others.

`python3 -m tests.benchmarks.opening BOOK… [--tree PATH]… [--times N]`, where each PATH is a
checkout, as `git worktree add` makes one. Each book is opened in fresh processes, one tree after
the other, and the least of N measurements counts: other processes can only add to it.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).parents[2]
_OPEN = """
import sys, time
start = time.process_time()
from gistread.book.open import open_book
imported = time.process_time()
open_book(sys.argv[1])
opened = time.process_time()
import resource
children = resource.getrusage(resource.RUSAGE_CHILDREN)
own = resource.getrusage(resource.RUSAGE_SELF)
reading = opened - imported + children.ru_utime + children.ru_stime
print(imported - start, reading, max(own.ru_maxrss, children.ru_maxrss) / 1024)
"""


@dataclass(frozen=True, slots=True)
class Cost:
    import_s: float
    open_s: float  # With the processes that read a PDF
    peak_mib: float  # Of the largest process


def measure(tree: Path, book: Path) -> Cost:
    """The cost of opening a book once. Raises subprocess.CalledProcessError."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONHASHSEED": "0"}
    # Compiling would count as importing
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    process = subprocess.run(
        [sys.executable, "-c", _OPEN, book],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return Cost(*map(float, process.stdout.split()))


def least(costs: Sequence[Cost]) -> Cost:
    """The least of each figure."""
    return Cost(
        min(cost.import_s for cost in costs),
        min(cost.open_s for cost in costs),
        min(cost.peak_mib for cost in costs),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("books", nargs="+", type=Path)
    parser.add_argument("--tree", action="append", default=[], type=Path)
    parser.add_argument("--times", default=10, type=int)
    options = parser.parse_args()
    trees = [_HERE, *options.tree]
    for book in options.books:
        print(book.name)
        runs = [[measure(tree, book) for tree in trees] for _ in range(options.times)]
        for tree, costs in zip(trees, zip(*runs, strict=True), strict=True):
            cost = least(costs)
            times = f"import {cost.import_s:.3f} s, open {cost.open_s:.3f} s"
            print(f"  {times}, peak {cost.peak_mib:.1f} MiB: {tree}")


if __name__ == "__main__":
    main()
