"""`python3 -m tests.fuzzing FORMAT --count N --seed S`.

Says what failed, and how to see one such file again.
"""

import argparse
import sys
import time
from pathlib import Path

from tests.fuzzing.headers import AdapterCases, HeaderCases
from tests.fuzzing.run import Cases, Tally, run
from tests.fuzzing.seeds import formats

# Beside the formats of books
_HEADERS = {cases.name: cases for cases in (HeaderCases, AdapterCases)}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python3 -m tests.fuzzing", description=__doc__
    )
    parser.add_argument("format", choices=[*formats(), *_HEADERS, "all"])
    parser.add_argument(
        "--count", type=int, default=20_000, help="how many files (of each format)"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--first", type=int, default=0, help="the number of the first file"
    )
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="where files that fail are kept"
    )
    chosen = parser.parse_args()
    failed = 0
    for name in (*formats(), *_HEADERS) if chosen.format == "all" else (chosen.format,):
        failed += _one_format(
            name, chosen.seed, chosen.first, chosen.count, chosen.keep
        )
    return 1 if failed else 0


def _one_format(name: str, seed: int, first: int, count: int, keep: Path | None) -> int:
    cases = _HEADERS[name](seed) if name in _HEADERS else Cases(name, seed)
    tally, failed = Tally(), 0
    began = time.monotonic()
    for failure in run(cases, first, count, tally):
        failed += 1
        sys.stdout.write(f"{name} {failure.index}: {failure.what.strip()}\n")
        sys.stdout.write(
            f"  again: python3 -m tests.fuzzing {name} --seed {seed} --first {failure.index} "
            "--count 1\n"
        )
        if keep:
            keep.mkdir(parents=True, exist_ok=True)
            path = keep / f"{seed}-{failure.index}-{cases.suffix(failure.index)}"
            path.write_bytes(cases.file(failure.index))
        sys.stdout.flush()
    took = time.monotonic() - began
    sys.stdout.write(
        f"{name}: {count} files, {tally.read} read, {tally.refused} refused, {failed} failed; "
        f"{took:.0f} s, the slowest {tally.slowest_s:.2f} s\n"
    )
    return failed


if __name__ == "__main__":
    sys.exit(main())
