"""The database survives kills, full disks, damage, other processes and other versions."""

import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from gistread.errors import StorageError
from gistread.marking import MarkKind, TextQuote, new_mark
from gistread.store.database import VERSION
from gistread.store.model import SavedQuestion
from gistread.store.user_data import MarkStore, UserData
from tests.folders import paths_in
from tests.permissions import obey_permissions

BOOK = "a" * 64


def open_text(user_data: UserData, sha256: str = BOOK) -> None:
    user_data.record_opening(
        sha256, title="The Door", authors=(), length=5000, path=Path("/door.txt")
    )


def filled(folder: Path, questions: int = 400) -> UserData:
    """A store of several hundred pages."""
    user_data = UserData(paths_in(folder))
    open_text(user_data)
    questions_asked = [
        SavedQuestion(f"{n}?", "word " * 100, found=True, asked_at=1.0 + n)
        for n in range(questions)
    ]
    assert user_data.add_questions(BOOK, questions_asked) == questions
    marks = [
        new_mark(MarkKind.NOTE, TextQuote(n, n + 1, "x", "", ""), note="note " * 50)
        for n in range(100)
    ]
    MarkStore(paths_in(folder)).put_new(BOOK, marks)
    return user_data


def test_only_the_user_may_read_the_file(tmp_path: Path) -> None:
    open_text(UserData(paths_in(tmp_path)))
    assert paths_in(tmp_path).store.stat().st_mode & 0o777 == 0o600


def test_a_file_of_a_later_version_is_left_as_it_is(tmp_path: Path) -> None:
    user_data = UserData(paths_in(tmp_path))
    open_text(user_data)
    with sqlite3.connect(paths_in(tmp_path).store) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    before = paths_in(tmp_path).store.read_bytes()
    for use in (
        lambda: user_data.position(BOOK),
        lambda: user_data.set_position(BOOK, 5),
    ):
        with pytest.raises(StorageError, match="a later version of gistread"):
            use()
    assert paths_in(tmp_path).store.read_bytes() == before


def test_a_process_that_holds_the_file_for_long_is_an_error_and_no_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gistread.store.database._WAIT_S", 0.1)
    user_data = UserData(paths_in(tmp_path))
    open_text(user_data)
    with user_data.writing():
        assert user_data.position(BOOK) == 0  # readers do not wait
        with pytest.raises(StorageError, match="Another gistread"):
            user_data.set_position(BOOK, 5)


def test_a_full_disk_is_said_and_keeps_what_was_saved(tmp_path: Path) -> None:
    user_data = filled(tmp_path, 20)
    size = sum(file.stat().st_size for file in paths_in(tmp_path).data.iterdir())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 5000, hard))
    try:
        with pytest.raises(StorageError, match=r"gistread\.db"):
            user_data.add_question(
                BOOK, SavedQuestion("Too long?", "word " * 100_000, found=True)
            )
        assert len(user_data.questions(BOOK)) == 20
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, old)
    user_data.add_question(BOOK, SavedQuestion("Short?", "Yes.", found=True))
    assert len(user_data.questions(BOOK)) == 21


@pytest.mark.parametrize("at", [0.0, 0.3, 0.6, 0.95])
def test_a_damaged_page_costs_what_was_on_it_and_is_said(
    tmp_path: Path, at: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_data = filled(tmp_path)
    file = paths_in(tmp_path).store
    data = bytearray(file.read_bytes())
    start = int(at * len(data)) // 4096 * 4096
    data[start : start + 4096] = b"\xa7" * 4096
    file.unlink()
    file.write_bytes(data)
    monkeypatch.setattr("gistread.store.database._checked", set())  # as a new process
    questions, marks = (
        user_data.questions(BOOK),
        MarkStore(paths_in(tmp_path)).marks(BOOK),
    )
    assert len(questions) + len(marks) > 420
    assert "was damaged" in user_data.notice
    assert file.with_name("gistread.db.damaged").exists()
    user_data.add_question(BOOK, SavedQuestion("And now?", "Saved.", found=True))
    assert UserData(paths_in(tmp_path)).questions(BOOK)[-1].answer == "Saved."


@pytest.mark.parametrize("size", [1, 100, 4096, 50_000])
def test_a_file_that_was_cut_is_repaired(tmp_path: Path, size: int) -> None:
    user_data = filled(tmp_path)
    file = paths_in(tmp_path).store
    data = file.read_bytes()[:size]
    file.unlink()
    file.write_bytes(data)
    user_data.add_question(BOOK, SavedQuestion("And now?", "Saved.", found=True))
    assert user_data.questions(BOOK)[-1].answer == "Saved."


@pytest.mark.slow
def test_any_flipped_byte_neither_stops_the_program_nor_hides_other_rows(
    tmp_path: Path,
) -> None:
    filled(tmp_path / "whole", 40)
    data = paths_in(tmp_path / "whole").store.read_bytes()
    lost = []
    for position in range(0, len(data), 509):
        folder = tmp_path / str(position)
        shutil.copytree(tmp_path / "whole", folder)
        flipped = data[position] ^ (1 << position % 8)
        damaged = data[:position] + bytes([flipped]) + data[position + 1 :]
        paths_in(folder).store.write_bytes(damaged)
        user_data, marks = UserData(paths_in(folder)), MarkStore(paths_in(folder))
        for _ in range(2):  # damage that shows in use is repaired by the next use
            try:
                user_data.add_question(
                    BOOK, SavedQuestion("And now?", "Saved.", found=True)
                )
                questions_left = len(user_data.questions(BOOK))
                marks_left = len(marks.marks(BOOK))
                break
            except StorageError as error:
                assert "Try again" in error.hint  # noqa: PT017
        assert questions_left > 35 or marks_left > 90, position
        lost.append(141 - questions_left - marks_left)
        shutil.rmtree(folder)
    assert sum(lost) < 0.015 * 141 * len(lost)


WRITER = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from gistread.store.model import SavedQuestion
    from gistread.store.user_data import UserData
    from tests.folders import paths_in
    user_data, name = UserData(paths_in(Path(sys.argv[1]))), sys.argv[2]
    for number in range(int(sys.argv[3])):
        user_data.set_position("a" * 64, number)
        user_data.add_question("a" * 64, SavedQuestion(f"{name} {number}", "", found=True))
        print(f"{name} {number}", flush=True)
    """
)


def test_two_processes_lose_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    running = [
        subprocess.Popen([*command, name, "15"], stdout=subprocess.DEVNULL)
        for name in ("left", "right")
    ]
    assert [process.wait(timeout=120) for process in running] == [0, 0]
    saved = [
        question.question for question in UserData(paths_in(tmp_path)).questions(BOOK)
    ]
    for name in ("left", "right"):
        expected = [f"{name} {number}" for number in range(15)]
        assert [question for question in saved if question.startswith(name)] == expected


def test_a_kill_loses_nothing_that_was_saved(tmp_path: Path) -> None:
    for lines in (1, 3, 6):
        command = [
            sys.executable,
            "-c",
            WRITER,
            str(tmp_path),
            f"run {lines}",
            "100000",
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            acknowledged = [process.stdout.readline().strip() for _ in range(lines)]
            process.send_signal(signal.SIGKILL)
            acknowledged += [
                line.strip() for line in process.stdout if line.endswith("\n")
            ]
        questions = UserData(paths_in(tmp_path)).questions(BOOK)
        assert {*acknowledged} <= {question.question for question in questions}


@pytest.mark.parametrize("killed_before", [False, True])
def test_a_read_only_folder_can_be_read_and_says_that_it_cannot_be_written(
    tmp_path: Path, killed_before: bool
) -> None:
    user_data = UserData(paths_in(tmp_path))
    user_data.set_position(BOOK, 77)
    script = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from gistread.errors import StorageError
        from gistread.store.user_data import UserData
        from tests.folders import paths_in
        user_data = UserData(paths_in(Path(sys.argv[1])))
        try:
            user_data.set_position(sys.argv[2], 5)
        except StorageError as error:
            print(user_data.position(sys.argv[2]), error)
        """
    )
    data = paths_in(tmp_path).data
    if killed_before:
        change = (
            "connection.execute('UPDATE texts SET position = 78'); "
            "connection.commit(); os._exit(1)"
        )
        writer = f"import os, sqlite3, sys; connection = sqlite3.connect(sys.argv[1]); {change}"
        subprocess.run(
            [sys.executable, "-c", writer, paths_in(tmp_path).store], check=False
        )
        assert (data / "gistread.db-wal").exists()
    for file in data.iterdir():
        file.chmod(0o444)
    data.chmod(0o555)
    command = [sys.executable, "-c", script, str(tmp_path), BOOK]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, preexec_fn=obey_permissions
    )
    data.chmod(0o755)
    assert done.stdout.startswith("78 " if killed_before else "77 ")
    assert "gistread.db" in done.stdout
