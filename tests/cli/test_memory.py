"""`gistread memory`: lists and deletes memories, without a model."""

from pathlib import Path

from gistread.errors import ExitStatus
from gistread.paths import default_paths
from gistread.store.journal import Journal
from tests.cli.conftest import Run
from tests.cli.test_pages import indexed

__all__ = ["indexed"]


def test_memories_are_listed_and_deleted(run: Run, indexed: Path) -> None:
    (memory,) = run("memory", indexed, "--json").json["memories"]
    assert (memory["model"]["name"], memory["task"]) == ("fake", None)
    assert "fake" in run("memory", indexed).out
    assert run("memory", "rm", indexed, "--model", "gpt").status == ExitStatus.FAILED
    with Journal(next(default_paths().memories.glob("*.memory"))):
        ran = run("memory", "rm", "--yes", indexed)
        assert "in use in another gistread" in ran.err
    ran = run("memory", "rm", "--yes", indexed)
    assert ran.status == ExitStatus.DONE
    assert "Deleted" in ran.err
    assert list(default_paths().memories.iterdir()) == []
    assert "Nothing of this book has been read yet." in run("memory", "rm", indexed).err
    assert "No memories of this book yet" in run("memory", indexed).err


def test_off_a_terminal_a_memory_is_deleted_only_with_yes(
    run: Run, indexed: Path
) -> None:
    ran = run("memory", "rm", indexed)
    assert ran.status == ExitStatus.USAGE
    assert ran.err.count("\n") == 1
    assert "--yes" in ran.err
    assert list(default_paths().memories.iterdir())
