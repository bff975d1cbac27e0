"""The manual page: it is what the parser says, and it can be shown."""

import shutil
import subprocess
from pathlib import Path

import pytest

from gistread.cli.manual import manual
from gistread.cli.parser import parsers

PAGE = Path(__file__).parents[2] / "docs" / "gistread.1"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == manual(), "run: python3 -m gistread.cli.manual > docs/gistread.1"


def test_man_shows_every_command_and_option_without_a_complaint() -> None:
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
    for name, parser in parsers().items():
        assert f"gistread {name}".strip() in done.stdout
        for action in parser._actions:
            for option in action.option_strings:
                assert option in done.stdout or option in ("-h", "--help")
    assert 'gistread ask frankenstein.epub "What happened so far?" --upto 40%' in done.stdout
