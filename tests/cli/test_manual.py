"""The manual page matches the parser, and man shows it without a warning."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "gistread.1"
ARGUMENTS = [
    *("--module", "gistread.cli.parser", "--function", "whole_parser", "--prog", "gistread"),
    *("--project-name", "gistread", "--manual-title", "User Commands"),
    *("--description", "read long books in the terminal beside a local language model"),
    *("--include", "docs/gistread.1.inc", "--output"),
]


def test_the_manual_page_is_up_to_date(tmp_path: Path) -> None:
    made = tmp_path / "gistread.1"
    program = str(Path(sys.executable).with_name("argparse-manpage"))
    subprocess.run([program, *ARGUMENTS, str(made)], cwd=DOCS.parent, check=True, env={"COLUMNS": "100"})
    command = shlex.join(["argparse-manpage", *ARGUMENTS, "docs/gistread.1"])
    assert without_date(PAGE) == without_date(made), f"run: COLUMNS=100 {command}"


def test_man_shows_the_manual_page_without_a_warning() -> None:
    man = shutil.which("man")
    if man is None:
        pytest.skip("man is not installed")
    done = subprocess.run(
        [man, "-l", "--warnings", str(PAGE)],
        capture_output=True,
        text=True,
        check=False,
        env={"MANWIDTH": "300", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
    )
    if done.returncode != 0:
        pytest.skip(f"this man cannot show a file: {done.stderr}")
    assert done.stderr == ""
    assert 'gistread ask frankenstein.epub "Who is Justine?"' in done.stdout
    assert "--upto PLACE" in done.stdout


def without_date(page: Path) -> str:
    return re.sub(r"^\.TH .*$", "", page.read_text(encoding="utf-8"), count=1, flags=re.M)
