"""No socket is opened unless a person asks for the network.

Held by a trap in every process that gistread starts.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.offline.machine import ELSEWHERE, Machine, machine
from tests.terminal import terminal


@pytest.fixture
def trapped(tmp_path: Path) -> Machine:
    return machine(tmp_path)


def assert_nothing_was_opened(trapped: Machine, processes: int) -> None:
    """And that the trap was there, in at least so many processes."""
    assert len(trapped.lines("began")) >= processes, trapped.lines("began")
    assert trapped.lines("socket") == []
    assert trapped.lines("import") == []


@pytest.mark.parametrize(
    ("words", "heard"),
    [
        ("import socket; socket.socket()", "socket.__new__"),
        ("import socket; socket.getaddrinfo('localhost', 80)", "socket.getaddrinfo"),
        ("import socket; socket.gethostbyname('localhost')", "socket.gethostbyname"),
        (
            "import socket; socket.socket(socket.AF_INET6).bind(('::1', 0))",
            "socket.bind",
        ),
        (
            "import socket; socket.socket(socket.AF_UNIX).connect('/nowhere')",
            "socket.connect",
        ),
        (
            f"import urllib.request; urllib.request.urlopen('{ELSEWHERE}', timeout=1)",
            "socket.getaddrinfo",
        ),
        (
            "import asyncio; asyncio.run(asyncio.open_connection('127.0.0.1', 9))",
            "socket.connect",
        ),
    ],
)
def test_the_trap_hears_whoever_does(trapped: Machine, words: str, heard: str) -> None:
    subprocess.run(
        [sys.executable, "-c", words],
        env=trapped.variables(trapped=True),
        capture_output=True,
        timeout=60,
    )
    assert any(f" {heard} " in line for line in trapped.lines("socket"))


def test_the_trap_hears_it_in_a_process_that_another_one_starts_and_lets_asyncio_wake_itself(
    trapped: Machine,
) -> None:
    inner = "import socket; socket.socket()"
    outer = (
        "import asyncio, sys\n"
        "async def main():\n"
        "    await (await asyncio.create_subprocess_exec(sys.executable, '-c', "
        f"{inner!r})).wait()\n"
        "asyncio.run(main())"
    )
    subprocess.run(
        [sys.executable, "-c", outer],
        env=trapped.variables(trapped=True),
        check=True,
        timeout=60,
    )
    first, second = (line.split()[1] for line in trapped.lines("began"))
    assert {line.split()[1] for line in trapped.lines("socket")} == {second} != {first}


def test_the_trap_hears_clients_that_are_imported(trapped: Machine) -> None:
    script = "import httpx2"
    subprocess.run(
        [sys.executable, "-c", script],
        env=trapped.variables(trapped=True),
        capture_output=True,
        timeout=60,
    )
    assert any(line.endswith(" httpx2") for line in trapped.lines("import"))


def test_a_web_page_that_names_things_elsewhere_fetches_none_of_them(
    trapped: Machine,
) -> None:
    ran = trapped.run("search", trapped.page, "stairs", trapped=True)
    assert ran.returncode == 0, ran.stderr
    assert "stairs" in ran.stdout
    assert_nothing_was_opened(trapped, 1)


@pytest.mark.slow
def test_a_day_on_the_command_line_opens_no_socket(trapped: Machine) -> None:
    for words in trapped.everything():
        ran = trapped.run(*words, trapped=True)
        assert ran.returncode == 0, (words, ran.stderr)
    began = trapped.lines("began")
    assert sum("gistread.engine.llama.worker" in line for line in began) >= 4
    assert_nothing_was_opened(trapped, len(trapped.everything()))


@pytest.mark.slow
def test_a_book_that_is_opened_read_asked_and_left_on_the_screen_opens_no_socket(
    trapped: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(trapped.python))
    variables = {
        name: trapped.variables(trapped=True)[name]
        for name in ("HOME", "PYTHONPATH", "GISTREAD_TRAP")
    }
    with terminal(
        ["--model", str(trapped.model), str(trapped.page)], trapped.home, **variables
    ) as run:
        run.wait_for("The Keeper", "counted the stairs", seconds=60)
        run.wait_for("memory is complete", seconds=200)
        run.press("m")
        run.wait_for("Choose the model", "tiny", seconds=60)
        run.press("\t")
        run.wait_for("The model that reads", seconds=60)
        run.press("\x1b")
        run.wait_until_gone("The model that reads", seconds=60)
        run.press("a")
        run.press("Who counted?\r")
        trapped.wait_for_answer(run, "Who counted?")
        run.press("q")
        assert run.wait_for_end(60) == 0
    assert any(
        "gistread.engine.llama.worker" in line for line in trapped.lines("began")
    )
    assert_nothing_was_opened(trapped, 2)
