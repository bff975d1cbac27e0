"""`gistread completion`: the scripts, in those shells that are installed here."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from gistread.cli.completion import completion_script

_BASH = """
source ./completion
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gistread
printf '%s\\n' "${COMPREPLY[@]}"
"""
_FISH = "source ./completion; complete -C (string join ' ' -- $argv)"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with books, one of them with a space in its name."""
    folder = tmp_path / "here"
    folder.mkdir()
    for name in ("frankenstein.epub", "The Time Machine.txt"):
        (folder / name).touch()
    return folder


def completed(shell: str, folder: Path, *words: str) -> list[str]:
    """What the shell offers for the last word."""
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed")
    (folder / "completion").write_text(completion_script(shell))
    words = ("gistread", *words)
    if shell == "bash":
        run = [path, "--norc", "-c", _BASH, "bash", *words]
    else:
        run = [path, "-c", _FISH, *words]
    environment = {**os.environ, "HOME": str(folder)}
    done = subprocess.run(
        run,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stderr == ""
    (folder / "completion").unlink()
    return [line.split("\t")[0] for line in done.stdout.splitlines() if line]


@pytest.mark.parametrize("shell", ["bash", "fish"])
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("bo",), ["books"]),
        (("index", "--rea"), ["--reading"]),
        (("index", "--reading", ""), ["careful", "single-pass"]),
        (("models", ""), ["catalogue", "check", "get", "list", "rm", "use"]),
        (("index", "--preset", "fic"), ["fiction"]),
        (("models", "get", "qwen3-4b"), ["qwen3-4b-instruct"]),
        (("cache", "clear", "sn"), ["snapshots"]),
        (("docs", "me"), ["methods"]),
        (("completion", ""), ["bash", "fish", "zsh"]),
        (("index", "fra"), ["frankenstein.epub"]),
        (("fra",), ["frankenstein.epub"]),
        (("hel",), ["help"]),
        (("help", "ind"), ["index"]),
        (("books", "--so"), ["--sort"]),
        (("books", ""), ["list", "tag", "untag"]),
        (("frankenstein.epub", "--mod"), ["--model"]),
        (("serve", "--port", ""), []),
    ],
)
def test_completion_offers_commands_and_options(
    shell: str, folder: Path, words: tuple[str, ...], offered: list[str]
) -> None:
    assert sorted(completed(shell, folder, *words)) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_accepts_the_completion_script(shell: str, tmp_path: Path) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    file = tmp_path / "script"
    file.write_text(completion_script(shell))
    done = subprocess.run(
        [program, "-n", str(file)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
