"""Reports what is hard to read.

`python -m tests.readability` prints a row per room, `python -m tests.readability ROOM …` each
finding of these rooms, and `--lower` records lower counts in `allowed.toml`.
"""

import argparse
import sys

from tests.readability.rooms import ROOT, count, findings_of, lower, measure, rooms

_COLUMNS = (
    "room",
    "lines",
    "findings",
    "characters",
    "expressions",
    "conditionals",
    "complex",
)


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.readability", description=__doc__
    )
    parser.add_argument(
        "rooms", metavar="ROOM", nargs="*", help="a folder, such as `tests/cli`"
    )
    parser.add_argument("--lower", action="store_true", help="record lower counts")
    options = parser.parse_args(words)
    if options.lower:
        lower()
    elif options.rooms:
        for room in options.rooms:
            _list_findings(room.rstrip("/"))
    else:
        _print_table()
    return 0


def _list_findings(prefix: str) -> None:
    for room, paths in rooms().items():
        for path in paths:
            name = path.relative_to(ROOT).as_posix()
            if room == prefix or f"{name}/".startswith(f"{prefix}/"):
                for finding in findings_of(path):
                    print(f"{name}:{finding.line}: {finding.rule}")


def _print_table() -> None:
    """Characters and expressions a line, conditional expressions a thousand lines."""
    print("{:26} {:>8} {:>9} {:>10} {:>11} {:>12} {:>8}".format(*_COLUMNS))
    for room, paths in rooms().items():
        measures = measure(paths)
        print(
            f"{room:26} {measures.lines:8} {count(paths).total():9}"
            f" {measures.characters_a_line:10.1f} {measures.expressions_a_line:11.2f}"
            f" {measures.conditionals_a_thousand:12.0f} {measures.complex_functions:8}"
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
