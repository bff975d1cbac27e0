"""The tables of docs/reliability.md, in small."""

import shutil
from pathlib import Path

import pytest

from tests.book.data import needs_epubs
from tests.reliability import epub_words, faults, pdf_words

pytestmark = pytest.mark.slow


@pytest.mark.skipif(not (shutil.which("pdflatex") or shutil.which("groff")), reason="needs TeX Live or Groff")
def test_no_word_of_a_typeset_story_is_lost_moved_or_misspelt(tmp_path: Path) -> None:
    readable = [row for row in pdf_words.rows(tmp_path) if row[3]]
    assert {(row[2], row[4]) for row in readable} == {("100.00%", "none")}, readable
    assert all(float(row[3].removesuffix("%")) >= 99.7 for row in readable), readable  # a drop capital may come late


@needs_epubs
def test_only_what_must_not_be_shown_of_an_epub_is_missing(tmp_path: Path) -> None:
    lost = {row[0]: row[3] for row in epub_words.rows(tmp_path)}
    assert [name for name, count in lost.items() if count != "0"] == ["w3c-epub-tests"], lost


def test_kills_damage_and_full_disks_lose_and_double_no_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in faults.FOLDERS:
        monkeypatch.setenv(name, "")  # Restores them afterwards
    found = list(faults.rows(tmp_path, kills=4, damages=40))
    assert {row[2:4] for row in found} == {("0", "0")}, found
    assert {row[4] for row in found} == {"0", "not compared"}, found
