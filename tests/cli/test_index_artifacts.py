"""`gistread index --for`: artifacts of readers, built before the first question."""

import json
import re
import signal
from pathlib import Path

from gistread.errors import ExitStatus
from tests.cli.conftest import Run
from tests.cli.test_interrupt import start
from tests.fake_engine import FakeEngine

SIZE = ("--min-words", "60", "--max-words", "200")
FACTS = "atomic facts"


def extractions(engine: FakeEngine) -> int:
    return sum(FACTS in call.text for call in engine.calls)


def test_artifacts_of_readers_are_built_once_after_the_gists(run: Run, book: Path, engine: FakeEngine) -> None:
    document = run("index", book, *SIZE, "--for", "graphreader,memwalker,graphreader", "--json").json
    assert list(document["needs"]) == ["facts", "summaries"]
    facts = document["needs"]["facts"]
    assert (facts["total"], facts["made"]) == (document["pages"], document["pages"])
    assert extractions(engine) == document["pages"]
    again = run("index", book, *SIZE, "--for", "graphreader,memwalker", "--json").json
    assert {name: need["made"] for name, need in again["needs"].items()} == {"facts": 0, "summaries": 0}
    assert extractions(engine) == document["pages"]


def test_an_interrupted_build_loses_nothing(run: Run, book: Path, engine: FakeEngine) -> None:
    process = start("index", book, *SIZE, "--for", "graphreader", "--events", pause_s=0.1)
    assert process.stdout is not None
    for line in process.stdout:
        event = json.loads(line)
        if event["event"] == "prepared" and event["done"] == 3:
            break
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == ExitStatus.INTERRUPTED
    assert re.search(r"Stopped after \d+ of \d+ facts; they are saved\.", errors)
    assert f"Run `gistread index '{book}'` with the same --for to resume." in errors
    assert "Traceback" not in errors
    document = run("index", book, *SIZE, "--for", "graphreader", "--json").json
    assert document["needs"]["facts"]["made"] <= document["needs"]["facts"]["total"] - 3
