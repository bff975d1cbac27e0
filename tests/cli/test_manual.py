"""The manual page matches the parser, and man shows it without a warning."""

import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from gistread import __version__

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "man" / "gistread.1"
_NO_BREAK = "\u00a0"
ARGUMENTS = [
    "--module=gistread.cli.parser",
    "--function=whole_parser",
    "--prog=gistread",
    "--project-name=gistread",
    f"--version={__version__}",
    "--manual-title=User Commands",
    "--description=read long books in the terminal beside a local language model",
    "--include=man/gistread.1.inc",
]


def manual() -> str:
    """The page as argparse-manpage writes it, with lines and a date as mandoc wants them."""
    program = str(Path(sys.executable).with_name("argparse-manpage"))
    environment = {"COLUMNS": "80", "PYTHONPATH": str(ROOT / "src")}
    made = subprocess.run(
        [program, *ARGUMENTS],
        cwd=ROOT,
        check=True,
        env=environment,
        capture_output=True,
    )
    lines, fills = [], True
    for line in made.stdout.decode().splitlines():
        fills = line == ".fi" or (fills and line != ".nf")
        if fills and not line.startswith((".", "'")):
            together = line.replace(" ...", f"{_NO_BREAK}...")  # A point begins a macro
            wrapped = textwrap.wrap(
                together, 78, break_long_words=False, break_on_hyphens=False
            )
            lines += [row.replace(_NO_BREAK, " ") for row in wrapped]
        else:
            lines.append(line.replace(r"\-", "-") if line.startswith(".TH") else line)
    lines.insert(1, ".ad l")  # Long options cannot be justified.
    return "\n".join(lines) + "\n"


def test_the_manual_page_is_up_to_date() -> None:
    assert _words(PAGE.read_text()) == _words(manual()), (
        "run: python -m tests.cli.test_manual"
    )


def test_mandoc_finds_nothing_wrong() -> None:
    mandoc = shutil.which("mandoc")
    if mandoc is None:
        pytest.skip("mandoc is not installed")
    assert (
        subprocess.run(
            [mandoc, "-Tlint", str(PAGE)], capture_output=True, text=True, check=False
        ).stdout
        == ""
    )


def test_man_shows_the_manual_page_without_a_warning() -> None:
    man = shutil.which("man")
    if man is None:
        pytest.skip("man is not installed")
    done = subprocess.run(
        [man, "-l", "--warnings", str(PAGE)],
        capture_output=True,
        text=True,
        check=False,
        env={"MANWIDTH": "80", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
    )
    if done.returncode != 0:
        pytest.skip(f"this man cannot show a file: {done.stderr}")
    assert done.stderr == ""
    assert 'gistread ask frankenstein.epub "Who is Justine?"' in done.stdout
    assert "--upto PLACE" in done.stdout


def _words(page: str) -> list[str]:
    """Without the date, and without line ends: Python 3.13 wraps long usages elsewhere."""
    return re.sub(r"^\.TH .*$", "", page, count=1, flags=re.M).split()


if __name__ == "__main__":
    PAGE.write_text(manual())
