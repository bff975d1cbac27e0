"""Files are replaced completely or not at all, and documents overwrite nothing unasked."""

import os
from pathlib import Path

import pytest

from gistread.errors import StorageError
from gistread.paths import _make_private as make_private
from gistread.store.files import ExistsError, replace_file, write_document


def test_it_holds_the_new_bytes_and_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_file(path, b"one", mode=0o644)
    assert path.stat().st_mode & 0o777 == 0o644
    path.chmod(0o640)
    replace_file(path, b"two")
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_of_another_owner_leaves_no_other_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    for path in (folder / "inner", folder, tmp_path):
        path.chmod(0o755)
    others = [folder / "a", folder / "inner" / "theirs", folder / "z"]
    for path in others:
        path.touch(0o644)
    (folder / "link").symlink_to(tmp_path)
    chmod = Path.chmod

    def refuse(path: Path, mode: int) -> None:
        if path.name == "theirs":
            raise PermissionError
        chmod(path, mode)

    monkeypatch.setattr(Path, "chmod", refuse)
    make_private(folder)
    assert {
        path.name for path in folder.rglob("*") if path.lstat().st_mode & 0o077
    } == {
        "theirs",
        "link",
    }
    assert folder.stat().st_mode & 0o777 == 0o700
    assert tmp_path.stat().st_mode & 0o777 == 0o755, "what a link leads to is not ours"


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_what_fails_leaves_what_was_there_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before")

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os if step == "fsync" else Path, step, fails)
    with pytest.raises(OSError, match="No space"):
        replace_file(path, b"after")
    monkeypatch.undo()
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_is_replaced_only_when_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    write_document(path, "one")
    with pytest.raises(ExistsError, match="already"):
        write_document(path, "two")
    assert path.read_text() == "one"
    write_document(path, "two", replace=True)
    assert path.read_text() == "two"
    assert [path.name for path in tmp_path.iterdir()] == ["notes.md"]


def test_a_document_replaces_no_pipe_or_device(tmp_path: Path) -> None:
    pipe = tmp_path / "notes.md"
    os.mkfifo(pipe)
    with pytest.raises(StorageError, match="is a pipe or a device"):
        write_document(pipe, "text", replace=True)
    assert pipe.is_fifo()
