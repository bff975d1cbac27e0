"""Data of 0.2 is imported whole and once, whatever happens meanwhile.

A process may be killed, the disk full, a file damaged, or another process be importing too.
"""

import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gistread.errors import StorageError
from gistread.marking import Color, MarkKind
from gistread.paths import Paths
from gistread.store.catalogue import Catalogue
from gistread.store.journal import encode_line
from gistread.store.model import (
    BoundChoice,
    Citation,
    NameCorrection,
    ReadAlongChoice,
    ReadingDay,
    ReadingPlace,
    SavedQuestion,
    VolumeText,
)
from gistread.store.pace import Pace, ReadingSpeed
from gistread.store.user_data import MarkStore, UserData
from tests.folders import paths_in
from tests.permissions import obey_permissions
from tests.store.old_home import OTHER, TEXT, write_journal, write_old_home

MANY = 150
START = (
    "import sys; from pathlib import Path; from tests.store.test_importing import *; "
)
CHECK = START + "check_whole(paths_in(Path(sys.argv[1])))"


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    paths = paths_in(tmp_path)
    write_old_home(paths)
    return paths


def check_whole(paths: Paths, books: int = 2) -> None:
    """Check that all of the old home is there, each thing once."""
    data = UserData(paths)
    check_texts(data, books)
    check_reading(data)
    check_questions(data)
    check_marks(MarkStore(paths))
    check_library(Catalogue(paths), books)
    assert ReadingSpeed(paths).samples("en") == [Pace(200, 40)] * 10
    assert ReadingSpeed(paths).samples("de") == [Pace(200, 60)]


def check_texts(data: UserData, books: int) -> None:
    recent = data.recent()
    numbered = {f"Book {number}" for number in range(1, books)}
    assert {text.title for text in data.all_texts()} == {"The Lamp", *numbered}
    assert recent[-1].file == "f" * 64
    (lamp,) = [text for text in data.all_texts() if text.sha256 == TEXT]
    assert (lamp.path, lamp.authors) == (
        Path("/books/caf\udce9.txt"),
        ("A. Author", "雪"),
    )
    assert (lamp.length, lamp.opened_at) == (5000, 1_700_000_000.0)


def check_reading(data: UserData) -> None:
    assert data.reading_place(TEXT) == ReadingPlace(
        1234, ((0, 900), (1100, 1300)), (40,)
    )
    quote = data.position_quote(TEXT)
    assert quote is not None
    assert quote.exact == "the lamp went ou"
    assert data.bound_choice(TEXT) == BoundChoice(whole=True)
    assert data.bound_choice(OTHER) is None
    assert data.reading_along(TEXT) == ReadAlongChoice("starter", along=True)
    assert data.reading_days()[TEXT] == [
        ReadingDay("2026-11-21", 300, 60),
        ReadingDay("2026-11-22", 500, 100),
    ]
    assert data.name_corrections(TEXT) == (
        NameCorrection("merge", ("Ada",), "Miss Brennan", 5.0),
    )


def check_questions(data: UserData) -> None:
    when, fell, why = data.questions(TEXT)
    assert when == SavedQuestion(
        "When?",
        "At night.",
        found=True,
        reader="gists",
        model="m",
        asked_at=1_600_000_000.0,
    )
    assert fell.answer == "Ada."
    assert fell.citations == (Citation(3, 1200, 1215, "Ada fell on the"),)
    assert (fell.upto, fell.lookups, fell.memory) == (1300, (3, 7), "starter")
    assert (why.thread, why.passage, why.pinned) == (fell.asked_at, (3, 9), (2,))
    assert [(mark.start, mark.end) for mark in why.marks] == [(0, 3)]
    assert [thread.name for thread in data.threads(TEXT)] == ["When?", "The fall"]


def check_marks(marks: MarkStore) -> None:
    highlight, letter, lost = marks.marks(TEXT)
    assert (highlight.note, highlight.color) == ("Why?\n“quoted”", Color.GREEN)
    assert highlight.place.exact == "the stair"
    assert (letter.kind, letter.letter) == (MarkKind.LETTER, "a")
    assert (lost.note, lost.lost) == ("lost", True)


def check_library(catalogue: Catalogue, books: int) -> None:
    library = catalogue.read()
    assert len(library.files) == books
    assert library.files[f"{1:064x}"].volumes == (VolumeText("d" * 64, 10, 900),)
    assert library.folders == (Path("/books"),)
    assert set(library.removed) == {"text:c", "file:c"}


def old_files(paths: Paths) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(paths.data.rglob("*.jsonl"))}


def test_everything_is_imported_and_the_old_files_stay(paths: Paths) -> None:
    before = old_files(paths)
    check_whole(paths)
    assert old_files(paths) == before


def test_it_is_imported_once(paths: Paths) -> None:
    check_whole(paths)
    store = MarkStore(paths)
    store.remove(TEXT, store.marks(TEXT)[0])
    UserData(paths).set_position(TEXT, 4000)
    assert UserData(paths).position(TEXT) == 4000
    assert len(store.marks(TEXT)) == 2


def test_damaged_lines_and_foreign_records_cost_themselves_alone(paths: Paths) -> None:
    write_journal(
        paths.data / "books" / f"{OTHER}.jsonl", {"kind": "shelf", "version": 1}
    )
    with (paths.data / "books" / f"{OTHER}.jsonl").open("ab") as file:
        file.write(
            b"garbage\n" + encode_line({"kind": "position", "offset": {"page": 3}})
        )
        file.write(
            encode_line({"kind": "question", "question": "Whole?"})
            + encode_line({"kind": ["cloud"]})
        )
        file.write(
            encode_line({"kind": "cloud"})
            + encode_line({"kind": "bound", "whole": True})
            + b"torn"
        )
    with (paths.data / "marks" / f"{TEXT}.jsonl").open("ab") as file:
        file.write(
            encode_line({"kind": "highlight", "id": "1", "changed_at": 9.0, "place": 3})
        )
    assert UserData(paths).bound_choice(OTHER) == BoundChoice(whole=True)
    assert UserData(paths).questions(OTHER) == []
    assert len(MarkStore(paths).marks(TEXT)) == 3


def test_a_file_that_cannot_be_read_is_named_and_imported_later(paths: Paths) -> None:
    file = paths.data / "books" / f"{TEXT}.jsonl"
    whole = file.read_bytes()
    file.unlink()
    file.mkdir()
    data = UserData(paths)
    assert [book.title for book in data.recent()] == ["Book 1"]
    assert file.name in data.problem
    file.rmdir()
    file.write_bytes(whole)
    subprocess.run([sys.executable, "-c", CHECK, paths.data.parent], check=True)
    assert UserData(paths).recent()[0].title == "Book 1"


def test_trying_a_file_again_brings_back_nothing_that_was_deleted(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    (paths.data / "books" / f"{OTHER}.jsonl").unlink()
    (paths.data / "books" / f"{OTHER}.jsonl").mkdir()
    data = UserData(paths)
    data.delete_thread(TEXT, 1_600_000_000.0)
    Catalogue(paths).restore("text:c", "file:c")
    monkeypatch.setattr("gistread.store.database._checked", set())  # as a new process
    assert [question.question for question in data.questions(TEXT)] == [
        "Who fell?",
        "And why?",
    ]
    assert not Catalogue(paths).read().removed


def test_a_home_that_may_only_be_read_is_shown(paths: Paths) -> None:
    paths.data.chmod(0o555)
    subprocess.run(
        [sys.executable, "-c", CHECK, paths.data.parent],
        check=True,
        preexec_fn=obey_permissions,
    )
    paths.data.chmod(0o755)
    assert not paths.store.exists()


def test_a_full_disk_is_said_and_the_next_start_imports_everything(
    paths: Paths,
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        for size in (100, 5000, 20_000, 60_000):
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
            with pytest.raises(StorageError, match=r"gistread\.db"):
                UserData(paths).set_position(TEXT, 5)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, old)
    check_whole(paths)


OPEN = START + (
    "print('ready', flush=True); UserData(paths_in(Path(sys.argv[1]))).recent(); "
    "print('done', flush=True)"
)


@pytest.mark.slow
def test_a_kill_at_any_time_loses_and_doubles_nothing(tmp_path: Path) -> None:
    seen = set()
    for step in range(25):
        paths = paths_in(tmp_path / str(step))
        write_old_home(paths, MANY)
        with subprocess.Popen(
            [sys.executable, "-c", OPEN, str(paths.data.parent)], stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            try:
                # One ends by itself, however busy the machine
                process.wait(0.002 * step**1.7 if step < 24 else 60)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
            seen.add(process.wait())
        check_whole(paths, MANY)
    assert seen == {0, -signal.SIGKILL}


@pytest.mark.slow
def test_two_processes_at_once_import_it_once(tmp_path: Path) -> None:
    for step in range(6):
        paths = paths_in(tmp_path / str(step))
        write_old_home(paths, MANY)
        command = [sys.executable, "-c", OPEN, str(paths.data.parent)]
        running = [
            subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(3)
        ]
        assert [process.wait(timeout=120) for process in running] == [0, 0, 0]
        check_whole(paths, MANY)
