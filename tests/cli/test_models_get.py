"""`gistread models catalogue` and `gistread models get`."""

import hashlib
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gistread.engine.catalogue import CatalogueEntry, Machine, read_catalogue
from gistread.errors import ExitStatus
from gistread.paths import default_paths
from tests.cli.conftest import Run
from tests.engine.fetching.server import (
    FaultyServer,
    faulty_server,
    serve_repository,
    sha256,
    throttled,
    without_environment,
)
from tests.tiny_gguf import write_tiny_gguf

GB = 10**9
_OWN: list[CatalogueEntry] = []


@pytest.fixture
def hub(
    home: Path, gguf: bytes, monkeypatch: pytest.MonkeyPatch
) -> Iterator[FaultyServer]:
    """The hub of this test, with one model that the catalogue knows."""
    without_environment(monkeypatch)
    known = read_catalogue()
    monkeypatch.setattr(
        "gistread.cli.model_download.read_catalogue",
        lambda: replace(known, entries=(*known.entries, *_OWN)),
    )
    with faulty_server() as server:
        serve_repository(
            server, "owner/tiny-GGUF", {"tiny.gguf": gguf}, licence="cc0-1.0"
        )
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        write_catalogue(gguf)
        yield server


def write_catalogue(gguf: bytes, **changes: Any) -> None:
    values = {
        "name": "tiny",
        "repository": "owner/tiny-GGUF",
        "file": "tiny.gguf",
        "licence": "cc0-1.0",
        "size_bytes": len(gguf),
        "sha256": sha256(gguf),
        "parameters": 10,
    } | changes
    _OWN[:] = [CatalogueEntry(**values)]  # type: ignore[arg-type]


def machine(
    monkeypatch: pytest.MonkeyPatch, free_gb: float, gpu_gb: float = 0, cores: int = 4
) -> None:
    here = Machine(round(free_gb * GB), round(gpu_gb * GB), cores)
    monkeypatch.setattr("gistread.cli.model_download.this_machine", lambda: here)


@pytest.fixture
def nobody_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)


def test_the_recommended_model_is_listed_first_with_the_reason(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(monkeypatch, 6)
    lines = run("models", "catalogue").out.splitlines()
    assert re.match(
        r"qwen3-4b-instruct +recommended: the largest that fits 6\.0 GB", lines[0]
    )
    assert "too large for now: it needs" in "\n".join(lines)


def test_the_catalogue_as_json(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(monkeypatch, 6)
    document = run("models", "catalogue", "--json").json
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", document["dated"])
    first, *others = document["models"]
    assert first["recommended"]
    assert first["reason"]
    assert first["fits"]
    assert len(first["sha256"]) == 64
    assert first["here"] is False
    assert not any(other["recommended"] for other in others)
    assert {False, True} == {other["fits"] for other in others}


def test_get_shows_the_plan_and_stores_the_model(
    run: Run, hub: FaultyServer, gguf: bytes
) -> None:
    ran = run("models", "get", "tiny", "--yes")
    assert ran.status == ExitStatus.DONE, ran.err
    path = default_paths().models / "tiny.gguf"
    assert path.read_bytes() == gguf
    for fact in (
        "cc0-1.0",
        "owner/tiny-GGUF",
        str(path.parent),
        sha256(gguf),
        "the catalogue's",
        "models use tiny",
    ):
        assert fact in ran.err
    assert ran.out == ""
    assert "tiny" in run("models", "list").out
    assert "already here" in run("models", "get", "tiny", "--yes").err


def test_get_as_json(run: Run, hub: FaultyServer, gguf: bytes) -> None:
    assert run("models", "get", "hf:owner/tiny-GGUF", "--yes", "--json").json == {
        "name": "tiny",
        "path": str(default_paths().models / "tiny.gguf"),
        "size": len(gguf),
        "sha256": [sha256(gguf)],
        "checked_against": "hub",
        "from": f"{hub.url.removeprefix('http://')}/owner/tiny-GGUF",
        "licence": "cc0-1.0",
        "was_here": False,
        "used": False,
    }


def test_nothing_is_fetched_without_a_terminal_or_yes(
    run: Run, hub: FaultyServer, nobody_asked: None
) -> None:
    ran = run("models", "get", "tiny")
    assert ran.status == ExitStatus.USAGE
    assert "--yes" in ran.err
    assert not hub.requests
    assert not default_paths().models.exists()


@pytest.mark.parametrize(
    ("answer", "fetched"),
    [("y\n", True), ("Yes\n", True), ("\n", False), ("no\n", False), ("", False)],
)
def test_the_licence_is_asked_about(
    run: Run,
    hub: FaultyServer,
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
    fetched: bool,
) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

        def readline(self) -> str:
            return answer

    monkeypatch.setattr("sys.stdin", Terminal())
    ran = run("models", "get", "tiny")
    assert ran.status == (ExitStatus.DONE if fetched else ExitStatus.INTERRUPTED)
    assert (default_paths().models / "tiny.gguf").exists() is fetched
    assert bool(hub.requests) is fetched


def test_no_other_command_imports_the_network() -> None:
    code = (
        "import sys; from gistread.cli import main; main(['models', 'list']); main(['paths']); "
        "main(['--help']);"
        "sys.exit('httpx2' in sys.modules)"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=False
        ).returncode
        == 0
    )


def process(*words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "gistread", "models", "get", *words]
    return subprocess.Popen(
        command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def present() -> int:
    """Bytes of the partial file."""
    return sum(
        part.stat().st_size for part in default_paths().models.glob("tiny.gguf.*.part")
    )


def some_bytes_more(before: int, running: subprocess.Popen[str]) -> None:
    """Wait until the process has written more bytes of the file."""
    while running.poll() is None and present() <= before:
        time.sleep(0.002)


def test_ctrl_c_names_the_command_that_resumes(
    run: Run, hub: FaultyServer, gguf: bytes
) -> None:
    hub.always = throttled(200_000)
    running = process("hf:owner/tiny-GGUF", "--yes")
    some_bytes_more(20_000, running)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == ExitStatus.INTERRUPTED
    assert "Run `gistread models get hf:owner/tiny-GGUF` to resume" in err
    here = present()
    assert 20_000 < here < len(gguf)
    hub.always = None
    assert "of which" in run("models", "get", "tiny", "--yes").err
    assert hub.gets()[-1].first == here


def killed_again_and_again(
    hub: FaultyServer, data: bytes, kills: int, bytes_per_s: float
) -> None:
    hub.always = throttled(bytes_per_s)
    source = random.Random(1)
    for kill in range(kills):
        running = process("hf:owner/tiny-GGUF", "--yes")
        here = present()
        # Evenly spread, each at a random byte of its stretch: before the first byte, and in the
        # middle of a block, too.
        until = max(here, round(len(data) * (kill + source.random()) / (kills + 1)))
        if source.random() < 0.9:
            some_bytes_more(until, running)
        time.sleep(source.random() * 0.02)
        running.kill()
        running.communicate()
    running = process("hf:owner/tiny-GGUF", "--yes")
    _, err = running.communicate(timeout=60)
    assert running.returncode == ExitStatus.DONE, err
    assert hashlib.sha256(
        (default_paths().models / "tiny.gguf").read_bytes()
    ).hexdigest() == sha256(data)


IN_FLIGHT_BYTES = 131_072
"""What may be on its way to the file when the process dies: two reads of the client's."""


def check_fetched_once(hub: FaultyServer, data: bytes) -> None:
    """No byte was requested twice, except those in flight when the process died."""
    answers = [request for request in hub.gets() if request.path.endswith("tiny.gguf")]
    reached = 0
    for request in answers:
        assert request.first >= reached - IN_FLIGHT_BYTES
        assert request.first <= reached, "nothing is left out"
        reached = max(reached, request.first + request.sent)
    assert reached == len(data)


def test_a_download_killed_a_few_times_ends_with_the_right_file(
    run: Run, hub: FaultyServer, gguf: bytes
) -> None:
    killed_again_and_again(hub, gguf, 2, 400_000)
    check_fetched_once(hub, gguf)


@pytest.mark.slow
def test_a_download_killed_fifty_times_fetches_almost_no_byte_twice(
    run: Run, hub: FaultyServer, tmp_path: Path
) -> None:
    data = write_tiny_gguf(tmp_path / "large.gguf").read_bytes()
    data += random.Random(2).randbytes(8_000_000)
    serve_repository(hub, "owner/tiny-GGUF", {"tiny.gguf": data})
    write_catalogue(data)
    killed_again_and_again(hub, data, 50, 2_000_000)
    check_fetched_once(hub, data)
    assert len(hub.gets()) >= 40
