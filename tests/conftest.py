"""What holds for all tests, and the model that most of them do with."""

import gc
import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from hypothesis import HealthCheck, settings

from gistread import errors
from gistread.library import indexing
from gistread.store import database
from tests.engine.fetching.server import without_environment
from tests.syncing.server import SyncServer, serving
from tests.tiny_gguf import write_tiny_gguf

# llama.cpp's threads must not spin while they wait for each other: tests run side by side on all
# cores, and with the tiny models that would be most of the work. GNU OpenMP reads this when it is
# loaded, here or in a worker process.
os.environ.setdefault("GOMP_SPINCOUNT", "0")
# Draw the screen at most so often a second: half of what a test of the screen does is to draw it.
# Read by Textual.
os.environ.setdefault("TEXTUAL_FPS", "20")
# What runs tests side by side tells its processes the size of a terminal that they do not have, and
# what is run in them would believe it rather than the terminal that it is given.
for _size in ("COLUMNS", "LINES"):
    os.environ.pop(_size, None)

if sys.dont_write_bytecode:
    # Hundreds of tests start Python. Compile each module once, outside the tree that is to stay
    # free of bytecode.
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.pycache_prefix = str(Path(__file__).parents[1] / ".pytest_cache" / "bytecode")
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix

# Five thousand tests and what they import are never garbage: looking through them took a sixth of
# the processor time.
gc.disable()

# How fast an example is, a busy machine decides.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "everyday", settings.get_profile("any machine"), max_examples=30
)
settings.load_profile("any machine")

_LONGEST_NAME = 40
# Marks of tests that may start processes and servers
_NOT_EVERYDAY = ("process", "screen", "slow")
_started: list[str] = []


def pytest_configure(config: pytest.Config) -> None:
    """Try fewer examples of each property while one works: all the tests try more."""
    if "not process" in config.option.markexpr.split(" and "):
        settings.load_profile("everyday")


def pytest_xdist_auto_num_workers() -> int:
    """Two processes more than cores.

    Tests of the screen and of worker processes wait much of their time.
    """
    return (os.cpu_count() or 1) + 2


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Collect garbage from here on, but only what comes from here on."""
    gc.freeze()
    gc.set_threshold(20_000)
    gc.enable()


# What a test module has in its namespace if its tests start processes.
_STARTS_PROCESSES = (
    "subprocess",
    "pexpect",
    "LlamaEngine",
    "WorkerProcess",
    "tmux",
    "run_cli",
)
# Modules whose tests do so in helpers of their own, or that are slow to import.
_PROCESS_MODULES = (
    "test_browser",
    "test_end_to_end",
    "test_fuzzing",
    "test_import_cycles",
    "test_mcp",
    "test_serve",
    "test_template",
)
_MODEL_FIXTURES = frozenset(
    ("tiny", "deep", "starter", "start", "engine", "model", "real_engine")
)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no tests that `-m` leaves out by folder or module: they take seconds to import."""
    left_out = config.option.markexpr.split(" and ")
    if collection_path == Path(__file__).with_name("tui"):
        mark = "screen"
    elif collection_path.stem in _PROCESS_MODULES:
        mark = "process"
    else:
        return None
    return True if f"not {mark}" in left_out else None


def _starts_processes(item: pytest.Item) -> bool:
    module = getattr(item, "module", None)
    fixtures = getattr(item, "fixturenames", ())
    is_named = item.path.stem in _PROCESS_MODULES or any(
        hasattr(module, name) for name in _STARTS_PROCESSES
    )
    return is_named or not _MODEL_FIXTURES.isdisjoint(fixtures)


def _needs_books(item: pytest.Item) -> bool:
    reasons = [mark.kwargs.get("reason", "") for mark in item.iter_markers("skipif")]
    return any("../shared" in reason for reason in reasons)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a screen or books or starts processes: the rest runs in half a minute.

    And keep Hypothesis from parsing all our modules for constants: a second in each process.
    """
    for item in items:
        if "tests/tui/" in item.nodeid:
            item.add_marker("screen")
        if _starts_processes(item):
            item.add_marker("process")
        if _needs_books(item):
            item.add_marker("books")
    if providers := sys.modules.get("hypothesis.internal.conjecture.providers"):
        vars(providers)["is_local_module_file"] = lambda path: False


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name files that tests are given by what they are for.

    Their bytes, with dates in them, are no name. Tests run side by side only where every process
    gives them the same names.
    """
    return (
        argname if isinstance(val, str | bytes) and len(val) > _LONGEST_NAME else None
    )


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny model, for whoever only reads it."""
    return write_tiny_gguf(tmp_path_factory.mktemp("models") / "tiny.gguf")


@pytest.fixture(scope="session")
def gguf(tiny: Path) -> bytes:
    """All of the tiny model, for whoever sends it somewhere."""
    return tiny.read_bytes()


@pytest.fixture
def sync_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[SyncServer]:
    """A server of reading places; nothing in the environment leads elsewhere."""
    without_environment(monkeypatch)
    with serving() as server:
        yield server


@pytest.fixture(scope="session", autouse=True)
def _nothing_waits_for_the_disk() -> None:
    """Nothing written in these processes has to survive a power cut."""
    connect = database._connect

    def connect_without_waiting(uri: str) -> sqlite3.Connection:
        connection = connect(uri)
        connection.execute("PRAGMA synchronous = OFF")
        return connection

    database._connect = connect_without_waiting
    vars(os)["fsync"] = lambda file: None


@pytest.fixture(scope="session", autouse=True)
def _starts_are_recorded() -> None:
    start_process, bind = subprocess.Popen.__init__, socket.socket.bind

    def start_recorded(self: Any, args: Any, *others: Any, **named: Any) -> None:
        _started.append(f"the process {args}")
        start_process(self, args, *others, **named)

    def bind_recorded(self: Any, address: Any) -> None:
        _started.append(f"a server at {address}")
        bind(self, address)

    vars(subprocess)["Popen"].__init__ = start_recorded
    vars(socket)["socket"].bind = bind_recorded


@pytest.fixture(scope="session", autouse=True)
def _no_indexing() -> MagicMock:
    """No process indexes books beside the tests; those that search the library do it themselves."""
    start = MagicMock()
    vars(indexing)["start_indexing"] = start
    return start


@pytest.fixture
def start_indexing(_no_indexing: MagicMock) -> MagicMock:
    """What runs in place of the process that indexes books."""
    _no_indexing.reset_mock()
    return _no_indexing


@pytest.fixture(autouse=True)
def _no_concealed_keys() -> Iterator[None]:
    """Keys of servers stay out of messages while a process lives.

    Those of one test are no secret in another.
    """
    yield
    errors._secrets.clear()


@pytest.fixture(autouse=True)
def _starts_are_marked(request: pytest.FixtureRequest) -> Iterator[None]:
    """The everyday tests start no process and no server."""
    yield
    started = _started.copy()
    _started.clear()
    is_everyday = not any(map(request.node.get_closest_marker, _NOT_EVERYDAY))
    if started and is_everyday:
        pytest.fail(f"Mark this test `process`: it started {started[0]}")
