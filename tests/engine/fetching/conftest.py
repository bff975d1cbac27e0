"""A server on loopback with the tiny model, and an environment without proxy and token."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.fetching.downloads import Downloads
from tests.engine.fetching.server import (
    FaultyServer,
    File,
    faulty_server,
    without_environment,
)


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    without_environment(monkeypatch)


@pytest.fixture
def server(gguf: bytes) -> Iterator[FaultyServer]:
    with faulty_server() as server:
        server.files["/tiny.gguf"] = File(gguf)
        yield server


@pytest.fixture
def downloads(server: FaultyServer, tmp_path: Path, gguf: bytes) -> Downloads:
    return Downloads(server, tmp_path / "models", gguf)
