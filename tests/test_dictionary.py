"""Dictionary lookups: choice of program, safe arguments, time limit."""

import contextlib
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from gistread import dictionary
from gistread.dictionary import (
    DictionaryError,
    Lookup,
    choose_lookup,
    extract_word,
    look_up,
)
from gistread.errors import UsageError


@pytest.mark.parametrize(
    ("selected", "word"),
    [
        ("lamp", "lamp"),
        ("“Lamp,”", "Lamp"),
        ("--help", "help"),
        ("-rf /", "rf"),
        ("mother-in-law’s", "mother-in-law’s"),
        ("a priori\n  reasoning.", "a priori reasoning"),
        ("灯台", "灯台"),
        ("…—!", ""),
        ("word " * 40, ""),
    ],
)
def test_a_selection_becomes_a_word_that_no_program_takes_for_an_option(
    selected: str, word: str
) -> None:
    assert extract_word(selected) == word


def installed(*names: str) -> Callable[[str], str | None]:
    return lambda name: f"/usr/bin/{name}" if name in names else None


def test_the_command_of_the_settings_is_split_as_a_shell_would_and_never_given_to_one() -> (
    None
):
    lookup = choose_lookup(
        "rm; $(reboot) `x`",
        "dict --database 'web 1913' define:{word} {word}",
        installed("dict"),
    )
    word = "rm; $(reboot) `x`"
    assert lookup.argv == (
        "/usr/bin/dict",
        "--database",
        "web 1913",
        f"define:{word}",
        word,
    )
    assert choose_lookup("lamp", "dict", installed("dict")).argv == (
        "/usr/bin/dict",
        "lamp",
    )


@pytest.mark.parametrize(
    "command", ["dict 'unclosed", "nothing-there {word}", "{word}", "''"]
)
def test_a_command_that_cannot_be_run_is_said(command: str) -> None:
    with pytest.raises(UsageError, match="lookup_command"):
        choose_lookup("lamp", command, installed("dict"))


def test_without_a_command_a_known_dictionary_is_taken_that_asks_nobody_on_the_network() -> (
    None
):
    assert choose_lookup("lamp", "", installed("wn", "dict")).argv == (
        "/usr/bin/wn",
        "lamp",
        "-over",
    )
    assert choose_lookup("lamp", "", installed("dict")).argv == (
        "/usr/bin/dict",
        "--host",
        "localhost",
        "lamp",
    )
    assert choose_lookup("lamp", "", installed("evil")).argv == ()


def run(code: str, word: str = "lamp") -> Lookup:
    return Lookup(word, (sys.executable, "-c", code, word))


@pytest.mark.process
async def test_a_program_that_asks_for_input_gets_none() -> None:
    assert await look_up(run("print(repr(input()))")) != ""


@pytest.mark.process
async def test_a_program_that_takes_too_long_is_ended_with_all_it_started(
    tmp_path: Path,
) -> None:
    pids = tmp_path / "pids"
    endless = Lookup(
        "lamp", ("/bin/sh", "-c", 'sleep 600 & echo $$ $! > "$0"; wait', str(pids))
    )
    with pytest.raises(DictionaryError, match="within 2 seconds"):
        await look_up(endless, limit_s=2)
    until = time.monotonic() + 60
    for pid in map(int, pids.read_text().split()):
        with contextlib.suppress(psutil.NoSuchProcess):
            while psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                assert time.monotonic() < until
                time.sleep(0.02)  # noqa: ASYNC251


@pytest.mark.process
async def test_a_program_that_says_without_end_is_cut_and_ended() -> None:
    entry = await look_up(run("while True: print('word ' * 200)"))
    assert 1000 < len(entry) <= dictionary.LIMIT_BYTES


async def test_without_any_dictionary_it_says_how_to_set_one() -> None:
    with pytest.raises(DictionaryError, match="lookup_command"):
        await look_up(Lookup("lamp"))
