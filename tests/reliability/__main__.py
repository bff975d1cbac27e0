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
    faults,
    full_disks,
    hostile_models,
    pdf_words,
    records,
    sessions,
    system_calls,
)

_FAULT = ("fault", "times", "lost", "doubled", "unlike undisturbed")
_HEADINGS = {
    "pdf": ("PDF", "words", "found", "in order", "words that are in neither source"),
    "epub": ("EPUBs", "books", "letters and digits", "not read", "without a notice"),
    "kills": _FAULT,
    "starter": _FAULT,
    "session": _FAULT,
    "damage": _FAULT,
    "processes": _FAULT,
    "disks": _FAULT,
    "models": ("broken files", "files", "used", "refused in words", "crash, hang or traceback"),
    "sockets": ("command", "processes", "sockets"),
    "device": ("asked for", "device", "KV cache", "MiB on it: estimated, used", "notice", "letters alike"),
}


def _rows(part: str, folder: Path, arguments: argparse.Namespace) -> Iterable[Sequence[str]]:
    match part:
        case "pdf":
            return pdf_words.rows(folder)
        case "epub":
            return epub_words.rows(folder)
        case "kills":
            return faults.rows(folder, kills=arguments.kills)
        case "starter":
            return faults.starter_rows(folder, kills=max(1, arguments.kills // 10))
        case "session":
            return sessions.rows(folder, kills=max(1, arguments.kills // 5))
        case "damage":
            return records.damage_rows(folder)
        case "processes":
            return records.shared_rows(folder)
        case "disks":
            return full_disks.rows(folder)
        case "models":
            return hostile_models.rows(arguments.headers, max(1, arguments.headers // 1000))
        case "device":
            return device.rows(folder)
    return system_calls.rows(folder)


def _print_table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    for row in chain((heading, ["---"] * len(heading)), rows):
        sys.stdout.write(f"| {' | '.join(row)} |\n")
        sys.stdout.flush()
    sys.stdout.write("\n")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python3 -m tests.reliability", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"which tables: {', '.join(_HEADINGS)} (all)")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--headers", type=int, default=2000)
    arguments = parser.parse_args()
    for part in arguments.parts or _HEADINGS:
        with tempfile.TemporaryDirectory() as name:
            _print_table(_HEADINGS[part], _rows(part, Path(name), arguments))


if __name__ == "__main__":
    main()
