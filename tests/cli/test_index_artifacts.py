"""`gistread index --for`: artifacts of readers, built before the first question."""

import json
import re
import signal
from dataclasses import replace
from pathlib import Path

from gistread.engine.protocol import Rates
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


def test_a_later_question_uses_the_built_artifacts(run: Run, book: Path, engine: FakeEngine) -> None:
    run("index", book, *SIZE, "--for", "graphreader")
    made = extractions(engine)
    assert run("ask", book, "Who counted the stairs?", "--reader", "graphreader").status == ExitStatus.DONE
    assert extractions(engine) == made


def test_the_time_of_each_artifact_is_estimated_first(run: Run, book: Path, engine: FakeEngine) -> None:
    engine._info = replace(engine.info, parallel=2, rates=Rates(100.0, ((1, 10.0), (2, 15.0))))
    said = run("index", book, *SIZE, "--for", "graphreader").err.splitlines()
    assert re.fullmatch(r"Facts: about \d+ to build, \d+ (s|min) with fake on this machine\.", said[0])
    assert re.fullmatch(r"Facts: built \d+ in \d+ s\.", said[-1])
    assert run("index", book, *SIZE, "--for", "graphreader").err.splitlines()[-1].startswith("Facts: all ")


def test_events_report_artifacts_as_readers_do(run: Run, book: Path, engine: FakeEngine) -> None:
    events = run("index", book, *SIZE, "--for", "graphreader", "--events").events
    made = [event for event in events if event["event"] == "prepared"]
    assert [event["done"] for event in made] == list(range(1, len(made) + 1))
    assert {(event["what"], event["total"]) for event in made} == {("facts", len(made))}
    assert events[-1]["needs"]["facts"]["made"] == len(made)


def test_readers_without_artifacts_and_unknown_readers(run: Run, book: Path, engine: FakeEngine) -> None:
    assert run("index", book, *SIZE, "--for", "readagent-s", "--json").json["needs"] == {}
    assert "needs" not in run("index", book, *SIZE, "--json").json
    ran = run("index", book, *SIZE, "--for", "memwalker,nobody")
    assert ran.status == ExitStatus.USAGE
    assert "no reader 'nobody'; use " in ran.err


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
