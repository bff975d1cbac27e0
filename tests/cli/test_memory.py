"""`gistread memory`: lists, deletes, exports and imports memories, without a model."""

import gzip
from pathlib import Path

import pytest

from gistread.errors import ExitStatus
from gistread.journal import Journal
from gistread.paths import default_paths
from tests.cli.conftest import XDG, Run
from tests.cli.test_pages import indexed
from tests.fake_engine import FakeEngine

__all__ = ["indexed"]


def test_memories_are_listed_and_deleted(run: Run, indexed: Path) -> None:
    (one,) = run("memory", "--json").json["memories"]
    assert (one["book"]["title"], one["model"]["name"], one["task"]) == ("The Lamp", "fake", None)
    assert "The Lamp" in run("memory").out
    assert run("memory", "rm", indexed, "--model", "gpt").status == ExitStatus.FAILED
    with Journal(next(default_paths().memories.glob("*.memory"))):
        assert "in use in another gistread" in run("memory", "rm", indexed).err
    ran = run("memory", "rm", indexed)
    assert ran.status == ExitStatus.DONE
    assert "Deleted" in ran.err
    assert list(default_paths().memories.iterdir()) == []
    assert "Nothing of this book has been read yet." in run("memory", "rm", indexed).err
    assert "No memories yet" in run("memory").err


def test_a_memory_is_given_to_somebody_with_the_same_text(
    run: Run, indexed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "lamp.gistmemory"
    gists = run("pages", indexed, "--json").json
    exported = run("memory", "export", indexed, "-o", file, "--json").json
    assert exported["size"] == file.stat().st_size
    assert run("memory", "export", indexed, "-o", file).status == ExitStatus.FAILED
    assert str(tmp_path).encode() not in gzip.decompress(file.read_bytes())
    assert run("memory", "import", file).status == ExitStatus.FAILED  # it is here already
    for variable in XDG:
        monkeypatch.setenv(variable, str(tmp_path / "theirs" / variable))
    copy = tmp_path / "copy.txt"
    copy.write_bytes(indexed.read_bytes())
    other = tmp_path / "other.txt"
    other.write_text("Another lamp.")
    ran = run("memory", "import", file, other)
    assert ran.status == ExitStatus.FAILED
    assert "another text: The Lamp" in ran.err
    assert "No memories" in run("memory", "list", copy).err
    ran = run("memory", "import", file)
    assert "when you open one" in ran.err
    assert run("pages", copy, "--json").json == gists
    assert run("memory", "import", file, copy, "--force", "--json").json["imported"][0]["pages"] == len(gists["pages"])


def test_the_task_of_a_memory_is_given_away_only_by_name(
    run: Run, book: Path, engine: FakeEngine, tmp_path: Path
) -> None:
    run("index", book, "--min-words", "60", "--max-words", "400", "--task", "my own question")
    file = tmp_path / "a.gistmemory"
    assert "--task" in run("memory", "export", book, "-o", file).err
    assert run("memory", "export", book, "-o", file, "--task", "my own question").status == ExitStatus.DONE


def test_a_missing_or_hostile_file_is_an_error(run: Run, tmp_path: Path) -> None:
    assert "No such file" in run("memory", "import", tmp_path / "none").err
    (tmp_path / "bad").write_bytes(b"PK")
    assert "no memory file" in run("memory", "import", tmp_path / "bad").err
