"""Where there is no network at all, not even this machine's own, everything works."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.offline.machine import Machine, machine, without_network
from tests.terminal import terminal

pytestmark = pytest.mark.skipif(
    not without_network(),
    reason="no process without network may be made here (unshare)",
)


@pytest.fixture
def alone(tmp_path: Path) -> Machine:
    return machine(tmp_path)


def test_there_is_none(alone: Machine) -> None:
    connect = "import socket; socket.create_connection(('127.0.0.1', 9), 2)"
    ran = subprocess.run(
        [*without_network(), sys.executable, "-c", connect],
        capture_output=True,
        text=True,
    )
    assert "Network is unreachable" in ran.stderr


@pytest.mark.slow
def test_a_day_on_the_command_line_ends_well(alone: Machine) -> None:
    for words in alone.everything():
        ran = alone.run(*words, before=without_network())
        assert ran.returncode == 0, (words, ran.stderr)
        assert "Traceback" not in ran.stderr


@pytest.mark.slow
def test_what_needs_the_network_says_so_and_loses_nothing(alone: Machine) -> None:
    for words in (
        ("models", "get", "hf:nobody/nothing:x.gguf", "--yes"),
        (
            "ask",
            alone.page,
            "Who?",
            "--reader",
            "gistread",
            "--model",
            "http://127.0.0.1:9/v1#x",
        ),
    ):
        ran = alone.run(*words, before=without_network())
        assert ran.returncode != 0
        assert ran.stderr.strip()
        assert "Traceback" not in ran.stderr


@pytest.mark.slow
def test_the_screen_lives_without_it(alone: Machine) -> None:
    variables = {"HOME": str(alone.home)}
    arguments = ["--model", str(alone.model), str(alone.text)]
    with terminal(arguments, alone.home, before=without_network(), **variables) as run:
        run.wait_for("counted the stairs", seconds=60)
        run.wait_for("memory is complete", seconds=200)
        run.press("a")
        run.press("Who counted?\r")
        alone.wait_for_answer(run, "Who counted?")
        run.press("q")
        assert run.wait_for_end(60) == 0
    ran = alone.run("export", alone.text, "--json", before=without_network())
    assert [
        question["question"] for question in json.loads(ran.stdout)["questions"]
    ] == ["Who counted?"]
