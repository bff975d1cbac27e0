"""`python3 -m tests.reliability [PART…] [--kills N]`: the tables of docs/reliability.md."""

import argparse
import sys
import tempfile
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

from tests.reliability import (
    device,
    epub_words,
    evenings,
    faults,
    full_disks,
    hostile_books,
    hostile_models,
    pdf_words,
    records,
    screens,
    system_calls,
)

_FAULT = ("fault", "times", "lost", "doubled", "unlike undisturbed")
_HEADINGS = {
    "pdf": ("PDF", "words", "found", "in order", "words that are in neither source"),
    "epub": ("EPUBs", "books", "letters and digits", "not read", "without a notice"),
    "kills": _FAULT,
    "screens": (
        "fault",
        "times",
        "pages, marks and questions lost",
        "pages doubled",
        "orphans",
        "longest wait in s",
    ),
    "damage": _FAULT,
    "processes": _FAULT,
    "disks": _FAULT,
    "books": (
        "hostile files",
        "files",
        "opened",
        "refused in words",
        "over a limit or failed",
    ),
    "models": (
        "broken files",
        "files",
        "used",
        "refused in words",
        "crash, hang or traceback",
    ),
    "evening": (
        "screens",
        "searches",
        "questions",
        "MiB after a quarter",
        "at the end",
        "grown by",
    ),
    "sockets": ("command", "processes", "sockets"),
    "device": (
        "asked for",
        "device",
        "KV cache",
        "MiB on it: estimated, used",
        "notice",
        "letters alike",
    ),
}


def _rows(
    part: str, folder: Path, arguments: argparse.Namespace
) -> Iterable[Sequence[str]]:
    match part:
        case "pdf":
            return pdf_words.rows(folder)
        case "epub":
            return epub_words.rows(folder)
        case "kills":
            return faults.rows(folder, kills=arguments.kills)
        case "screens":
            return screens.rows(folder, kills=max(1, arguments.kills // 3))
        case "damage":
            return records.damage_rows(folder)
        case "processes":
            return records.shared_rows(folder)
        case "disks":
            return full_disks.rows(folder)
        case "books":
            return hostile_books.rows(arguments.files)
        case "models":
            return hostile_models.rows(
                arguments.headers, max(1, arguments.headers // 1000)
            )
        case "evening":
            return evenings.rows(folder, arguments.screens)
        case "device":
            return device.rows(folder)
    return system_calls.rows(folder)


def _print_table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    for row in chain((heading, ["---"] * len(heading)), rows):
        sys.stdout.write(f"| {' | '.join(row)} |\n")
        sys.stdout.flush()
    sys.stdout.write("\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python3 -m tests.reliability", description=__doc__
    )
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="PART",
        help=f"which tables: {', '.join(_HEADINGS)} (all)",
    )
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--screens", type=int, default=2000)
    parser.add_argument("--headers", type=int, default=2000)
    arguments = parser.parse_args()
    for part in arguments.parts or _HEADINGS:
        with tempfile.TemporaryDirectory() as name:
            _print_table(_HEADINGS[part], _rows(part, Path(name), arguments))


if __name__ == "__main__":
    main()
