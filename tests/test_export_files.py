"""Exported files are complete and overwrite nothing unasked."""

from pathlib import Path

import pytest

from gistread.errors import StorageError
from gistread.export_files import ExistsError, write_document


def test_a_file_is_replaced_only_when_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    write_document(path, "one")
    with pytest.raises(ExistsError, match="already"):
        write_document(path, "two")
    assert path.read_text() == "one"
    write_document(path, "two", replace=True)
    assert path.read_text() == "two"
    assert [one.name for one in tmp_path.iterdir()] == ["notes.md"]


def test_where_nothing_can_be_written_that_is_said(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none" / "notes.md"):
        with pytest.raises(StorageError):
            write_document(path, "words")
