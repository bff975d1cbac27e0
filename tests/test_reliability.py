"""The tables of docs/reliability.md, in small."""

import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.book.data import needs_epubs
from tests.reliability import (
    epub_words,
    faults,
    full_disks,
    hostile_models,
    pdf_words,
    records,
    screens,
)

pytestmark = pytest.mark.slow


@pytest.mark.skipif(
    not (shutil.which("pdflatex") or shutil.which("gropdf")),
    reason="needs TeX Live or Groff",
)
def test_no_word_of_a_typeset_story_is_lost_moved_or_misspelt(tmp_path: Path) -> None:
    readable = [row for row in pdf_words.rows(tmp_path) if row[3]]
    assert {(row[2], row[4]) for row in readable} == {("100.00%", "none")}, readable
    # A drop capital may come late
    assert all(float(row[3].removesuffix("%")) >= 99.6 for row in readable), readable


@needs_epubs
def test_only_what_must_not_be_shown_of_an_epub_is_missing(tmp_path: Path) -> None:
    lost = {row[0]: row[3] for row in epub_words.rows(tmp_path)}
    assert [name for name, count in lost.items() if count != "0"] == [
        "w3c-epub-tests"
    ], lost


@pytest.fixture
def folders(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in faults.FOLDERS:
        monkeypatch.setenv(name, "")  # Restores them afterwards


def assert_nothing_is_lost_doubled_or_changed(table: Iterable[tuple[str, ...]]) -> None:
    rows = list(table)
    assert rows
    assert {field for row in rows for field in row[2:]} <= {"0", ""}, rows


@pytest.mark.usefixtures("folders")
@pytest.mark.timeout(1800)
def test_kills_clocks_and_full_disks_lose_and_double_no_page(tmp_path: Path) -> None:
    assert_nothing_is_lost_doubled_or_changed(faults.rows(tmp_path, kills=4))


@pytest.mark.usefixtures("folders")
@pytest.mark.timeout(1800)
def test_a_kill_of_the_screen_index_or_model_loses_nothing_and_leaves_no_process(
    tmp_path: Path,
) -> None:
    rows = list(screens.rows(tmp_path, kills=3))
    assert {field for row in rows for field in row[2:5]} == {"0"}, rows


@pytest.mark.timeout(1800)
def test_a_cut_or_flipped_byte_costs_the_record_it_is_in(tmp_path: Path) -> None:
    assert_nothing_is_lost_doubled_or_changed(records.damage_rows(tmp_path))


def test_two_processes_and_one_that_is_killed_lose_nothing(tmp_path: Path) -> None:
    assert_nothing_is_lost_doubled_or_changed(records.shared_rows(tmp_path))


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
@pytest.mark.usefixtures("folders")
@pytest.mark.timeout(1800)
def test_a_disk_that_is_full_at_any_write_loses_nothing(tmp_path: Path) -> None:
    assert_nothing_is_lost_doubled_or_changed(full_disks.rows(tmp_path))


@pytest.mark.timeout(1800)
def test_broken_models_and_adapters_are_used_or_refused_in_words() -> None:
    rows = list(hostile_models.rows(headers=200, loads=10))
    assert {row[4] for row in rows} == {"0"}, rows
