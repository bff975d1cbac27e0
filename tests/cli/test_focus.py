"""Presets and tasks on the command line: prompts, saved memories, and the choice among them."""

from pathlib import Path

import pytest

from gistread.book.open import open_book
from gistread.errors import ExitStatus
from gistread.library.catalogue import Catalogue
from gistread.library.metadata import book_file_of
from gistread.paths import default_paths
from gistread.presets import built_in_presets
from gistread.user_data import UserData
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
            f"{('Ada', 'Bo', 'Chair')[n % 3]}: I say that item {n} ought to be done by the end of the month, since the "
            "budget will not allow for more, and whoever objects had better say so before the coffee is cold."
            for n in range(30)
        )
    )
    return path


def asked(engine: FakeEngine) -> str:
    return "\n".join(call.text for call in engine.calls)


def test_a_meeting_is_detected_and_reported(run: Run, minutes: Path, engine: FakeEngine) -> None:
    ran = run("index", minutes, *SIZE)
    assert "as a meeting" in ran.err
    assert built_in_presets()["meeting"].keep in asked(engine)
    assert run("index", minutes, *SIZE, "--json").json["preset"] == "meeting"


def test_a_story_is_read_as_fiction(run: Run, book: Path, engine: FakeEngine) -> None:
    assert "as fiction or other prose" in run("index", book, *SIZE).err
    assert run("index", book, *SIZE, "--json").json["task"] is None


def test_another_preset_is_another_memory_and_the_old_one_stays(run: Run, book: Path, engine: FakeEngine) -> None:
    run("index", book, *SIZE)
    before = len(engine.calls)
    run("index", book, *SIZE, "--preset", "paper")
    assert len(engine.calls) > before
    assert built_in_presets()["paper"].keep in asked(engine)
    once = len(engine.calls)
    for preset in ("fiction", "paper", "auto"):
        run("index", book, *SIZE, "--preset", preset)
    assert len(engine.calls) == once
    listed = run("memory", "list", book, "--json").json["memories"]
    assert {(one["preset"], one["task"], one["complete"]) for one in listed} == {
        ("fiction", None, True),
        ("paper", None, True),
    }


def test_auto_continues_with_the_preset_chosen_for_the_book(run: Run, book: Path, engine: FakeEngine) -> None:
    run("index", book, *SIZE, "--preset", "code")
    assert run("index", book, *SIZE, "--json").json["preset"] == "code"


def test_the_settings_can_name_the_preset(run: Run, book: Path, engine: FakeEngine, home: Path) -> None:
    with (home / "XDG_CONFIG_HOME/gistread/config.toml").open("a") as config:
        config.write('preset = "manual"\n')
    assert run("index", book, *SIZE, "--json").json["preset"] == "manual"
    assert run("index", book, *SIZE, "--preset", "paper", "--json").json["preset"] == "paper"


def test_an_own_preset_is_used(run: Run, book: Path, engine: FakeEngine, home: Path) -> None:
    own = home / "XDG_CONFIG_HOME/gistread/presets/trial.toml"
    own.parent.mkdir()
    own.write_text('title = "a trial"\nkeep = "Keep who testifies to what"\nask = "Who testifies to what?"\n')
    assert "as a trial" in run("index", book, *SIZE, "--preset", "trial").err
    assert "Keep who testifies to what" in asked(engine)
    own.unlink()  # the memory holds all that it needs
    assert "as a trial" in run("index", book, *SIZE).err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--preset", "meetings"), "Did you mean meeting?"),
        (("--preset", "broken"), "Preset broken.toml"),
        (("--task", " "), "The task is empty."),
        (("--task", "x" * 700), "the limit is 600."),
    ],
)
def test_an_invalid_preset_is_reported_before_a_model_is_loaded(
    run: Run, book: Path, home: Path, words: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = home / "XDG_CONFIG_HOME/gistread/presets"
    folder.mkdir()
    (folder / "broken.toml").write_text("keep = 3")
    monkeypatch.setattr("gistread.engine.llama.client.LlamaEngine", lambda *_, **__: pytest.fail("a model was loaded"))
    ran = run("index", book, *words)
    assert (ran.status, ran.out) == (ExitStatus.USAGE, "")
    assert said in ran.err


def test_a_task_makes_a_second_memory(run: Run, book: Path, engine: FakeEngine) -> None:
    run("index", book, *SIZE)
    assert TASK not in asked(engine)
    ran = run("index", book, *SIZE, "--task", f" {TASK}\n")
    assert f"to find out: {TASK}" in ran.err
    assert TASK in asked(engine)
    assert run("index", book, *SIZE, "--task", TASK, "--json").json["task"] == TASK


def test_of_equal_memories_the_one_without_a_task_is_used(run: Run, book: Path, engine: FakeEngine) -> None:
    run("index", book, *SIZE, "--task", TASK)
    ran = run("ask", book, "Who came up?", "--reader", "gists")
    assert f"The book was read as fiction or other prose, to find out: {TASK}." in ran.err
    assert f"to find out: {TASK}" in run("pages", book).err
    run("index", book, *SIZE)
    assert "to find out" not in run("ask", book, "Who came up?", "--reader", "gists").err
    assert "to find out" not in run("pages", book).err
    assert "This book has 1 other memory" in run("pages", book).err
    assert f"to find out: {TASK}" in run("ask", book, "Who came up?", "--reader", "gists", "--task", TASK).err
    assert run("pages", book, "--task", TASK, "--json").json["task"] == TASK


def test_a_question_can_be_the_task(run: Run, book: Path, engine: FakeEngine) -> None:
    question = "Who came up the stairs that night?"
    assert "ask --index" in run("ask", book, question, "--for-question", "--reader", "gists").err
    ran = run("ask", book, question, *SIZE, "--index", "--for-question", "--reader", "gists")
    assert ran.status == ExitStatus.DONE
    assert run("pages", book, "--json").json["task"] == question
    loaded = len(engine.calls)
    run("ask", book, question, "--for-question", "--reader", "gists")
    assert len(engine.calls) == loaded + 1


def test_a_missing_memory_names_the_command_that_builds_it(run: Run, book: Path, engine: FakeEngine) -> None:
    run("index", book, *SIZE)
    ran = run("pages", book, "--task", "What is it?", "--preset", "paper")
    assert ran.status == ExitStatus.FAILED
    assert "with the preset 'paper' for the task 'What is it?'" in ran.err
    assert "--preset paper --task 'What is it?'" in ran.err
    assert "gistread memory list" in ran.err


def test_the_list_of_memories_shows_model_method_and_task(run: Run, book: Path, engine: FakeEngine) -> None:
    assert "No memories of this book yet." in run("memory", "list", book).err
    run("index", book, *SIZE, "--task", TASK, "--preset", "meeting")
    head, facts = run("memory", "list", book).out.splitlines()
    assert head == f"fake, as a meeting, to find out: {TASK}"
    assert "60 to 200 words a page · single-pass · just now" in facts


def test_the_library_shows_the_task_of_a_memory(run: Run, book: Path, engine: FakeEngine) -> None:
    text, paths = open_book(book), default_paths()
    UserData(paths.books).record_opening(text.sha256, title=text.title, authors=(), length=len(text.text), path=book)
    Catalogue(paths.library).add([book_file_of(book, text)])
    run("index", book, *SIZE, "--task", TASK)
    assert f"fake has read all of it as fiction or other prose, to find out: {TASK}" in run("books").out
    assert run("books", "--json").json["books"][0]["memory"]["task"] == TASK
    run("index", book, *SIZE)
    assert "to find out" not in run("books").out
