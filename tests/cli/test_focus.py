"""Presets and tasks on the command line: prompts, saved memories, and the choice among them."""

from pathlib import Path

import pytest

from gistread.errors import ExitStatus
from gistread.presets import built_in_presets
from tests.cli.conftest import Run
from tests.fake_engine import FakeEngine

SIZE = ("--min-words", "60", "--max-words", "200")
TASK = "Who counted the stairs?"


@pytest.fixture
def minutes(tmp_path: Path) -> Path:
    """A short meeting."""
    path = tmp_path / "Minutes.txt"
    path.write_text(
        "\n\n".join(
            f"{('Ada', 'Bo', 'Chair')[n % 3]}: I say that item {n} ought to be done by the end "
            "of the month, since the "
            "budget will not allow for more, and whoever objects had better say so before the "
            "coffee is cold."
            for n in range(30)
        )
    )
    return path


def prompts_of(engine: FakeEngine) -> str:
    return "\n".join(call.text for call in engine.calls)


def test_a_meeting_is_detected_and_reported(
    run: Run, minutes: Path, engine: FakeEngine
) -> None:
    ran = run("index", minutes, *SIZE)
    assert "as a meeting" in ran.err
    assert built_in_presets()["meeting"].keep in prompts_of(engine)
    assert run("index", minutes, *SIZE, "--json").json["preset"] == "meeting"


def test_another_preset_is_another_memory_and_the_old_one_stays(
    run: Run, book: Path, engine: FakeEngine
) -> None:
    run("index", book, *SIZE)
    before = len(engine.calls)
    run("index", book, *SIZE, "--preset", "paper")
    assert len(engine.calls) > before
    assert built_in_presets()["paper"].keep in prompts_of(engine)
    once = len(engine.calls)
    for preset in ("fiction", "paper", "auto"):
        run("index", book, *SIZE, "--preset", preset)
    assert len(engine.calls) == once
    listed = run("memory", "list", book, "--json").json["memories"]
    assert {memory["preset"] for memory in listed} == {"fiction", "paper"}
    assert {(memory["task"], memory["complete"]) for memory in listed} == {(None, True)}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--preset", "meetings"), "Did you mean meeting?"),
        (("--preset", "broken"), "Preset broken.toml"),
        (("--task", " "), "The task is empty."),
        (("--task", "x" * 700), "the limit is 600."),
    ],
)
def test_an_invalid_preset_is_reported_before_a_model_is_loaded(
    run: Run,
    book: Path,
    home: Path,
    words: tuple[str, ...],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = home / "XDG_CONFIG_HOME/gistread/presets"
    folder.mkdir()
    (folder / "broken.toml").write_text("keep = 3")
    monkeypatch.setattr(
        "gistread.engine.llama.client.LlamaEngine",
        lambda *_, **__: pytest.fail("a model was loaded"),
    )
    ran = run("index", book, *words)
    assert (ran.status, ran.out) == (ExitStatus.USAGE, "")
    assert message in ran.err


def test_a_task_makes_a_second_memory(run: Run, book: Path, engine: FakeEngine) -> None:
    run("index", book, *SIZE)
    assert TASK not in prompts_of(engine)
    ran = run("index", book, *SIZE, "--task", f" {TASK}\n")
    assert f"to find out: {TASK}" in ran.err
    assert TASK in prompts_of(engine)
    assert run("index", book, *SIZE, "--task", TASK, "--json").json["task"] == TASK
