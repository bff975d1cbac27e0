"""User data survives damage, concurrent processes and read-only folders."""

import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from gistread import journal
from gistread.errors import StorageError
from gistread.journal import Journal
from gistread.user_data import SavedCitation, SavedQuestion, UserData
from tests.permissions import obey_permissions

BOOK = "a" * 64
OTHER = "b" * 64
QUESTION = SavedQuestion(
    question="Who is at the door?",
    answer="Nobody.\nOnly snow.",
    found=True,
    citations=(SavedCitation(3, 1200, 1215, "nobody was there"),),
    lookups=(3, 7),
    reader="readagent-s",
    unsupported=((0, 7),),
    model="SmolLM2",
    asked_at=1_700_000_000.5,
)


@pytest.fixture
def user_data(tmp_path: Path) -> UserData:
    return UserData(tmp_path / "books")


def put(
    user_data: UserData, sha256: str = BOOK, title: str = "The Door", path: Path | None = Path("/books/door.txt")
) -> None:
    user_data.record_opening(sha256, title=title, authors=("A. Author", "雪"), length=5000, path=path)


def test_a_book_never_opened_is_at_its_beginning_and_nothing_is_created(user_data: UserData, tmp_path: Path) -> None:
    assert user_data.position(BOOK) == 0
    assert user_data.questions(BOOK) == []
    assert user_data.recent() == []
    assert list(tmp_path.iterdir()) == []


def test_keeps_the_position(user_data: UserData, tmp_path: Path) -> None:
    put(user_data)
    user_data.set_position(BOOK, 1234)
    user_data.set_position(BOOK, 987)
    assert UserData(tmp_path / "books").position(BOOK) == 987
    assert user_data.position(OTHER) == 0


def test_keeps_questions_in_their_order(user_data: UserData) -> None:
    put(user_data)
    user_data.add_question(BOOK, QUESTION)
    user_data.add_question(BOOK, SavedQuestion("And then?", "", found=False))
    first, second = user_data.questions(BOOK)
    assert first == QUESTION
    assert (second.question, second.found, second.citations) == ("And then?", False, ())
    assert second.asked_at > 1_700_000_000


def test_recent_books_come_last_opened_first(user_data: UserData) -> None:
    put(user_data, BOOK, "The Door")
    put(user_data, OTHER, "The Window", path=None)
    put(user_data, BOOK, "The Door, again", path=Path("relative.txt"))
    user_data.set_position(BOOK, 42)
    door, window = user_data.recent()
    assert (door.sha256, door.title, door.authors) == (BOOK, "The Door, again", ("A. Author", "雪"))
    assert (door.path, door.position, door.length) == (Path.cwd() / "relative.txt", 42, 5000)
    assert (window.title, window.path, window.position) == ("The Window", None, 0)
    assert door.opened_at > window.opened_at


def test_the_name_of_a_file_may_hold_bytes_that_are_no_text(user_data: UserData) -> None:
    path = Path(os.fsdecode(b"/books/caf\xe9 % \xff.txt"))
    put(user_data, path=path)
    assert user_data.recent()[0].path == path


def test_many_positions_do_not_make_a_large_file(user_data: UserData, tmp_path: Path) -> None:
    put(user_data)
    user_data.add_question(BOOK, QUESTION)
    for offset in range(1, 501):
        user_data.set_position(BOOK, offset)
        user_data.set_position(BOOK, offset)
    records, _ = journal.read_records(tmp_path / "books" / f"{BOOK}.jsonl")
    assert len(records) < 250
    assert user_data.position(BOOK) == 500
    assert user_data.questions(BOOK) == [QUESTION]
    assert user_data.recent()[0].title == "The Door"


def test_a_damaged_line_costs_that_line_alone(user_data: UserData, tmp_path: Path) -> None:
    put(user_data)
    user_data.set_position(BOOK, 10)
    user_data.add_question(BOOK, QUESTION)
    user_data.set_position(BOOK, 20)
    file = tmp_path / "books" / f"{BOOK}.jsonl"
    whole = file.read_bytes()
    for lost in range(whole.count(b"\n")):
        lines = whole.splitlines(keepends=True)
        lines[lost] = lines[lost].replace(b":", b";")
        file.write_bytes(b"".join(lines) + b"torn")
        for _ in range(2):  # as it is read, and when it has been repaired by writing
            assert user_data.position(BOOK) == (10 if lost == 4 else 20)
            assert user_data.questions(BOOK) == ([] if lost == 3 else [QUESTION])
            assert [book.title for book in user_data.recent()] == ([] if lost == 1 else ["The Door"])
            user_data.add_question(OTHER, QUESTION)
            user_data.set_position(BOOK, user_data.position(BOOK))


def test_two_gistreads_with_the_same_book_both_keep_what_they_have(user_data: UserData, tmp_path: Path) -> None:
    script = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from gistread.user_data import SavedQuestion, UserData
        user_data, sha256, name = UserData(Path(sys.argv[1])), sys.argv[2], sys.argv[3]
        for number in range(30):
            for offset in range(10):
                user_data.set_position(sha256, offset)
            user_data.add_question(sha256, SavedQuestion(f"{name} {number}", "", found=True))
        """
    )
    command = [sys.executable, "-c", script, str(tmp_path / "books"), BOOK]
    running = [subprocess.Popen([*command, name]) for name in ("left", "right")]
    assert [process.wait(timeout=60) for process in running] == [0, 0]
    asked = [question.question for question in user_data.questions(BOOK)]
    assert [one for one in asked if one.startswith("left")] == [f"left {number}" for number in range(30)]
    assert [one for one in asked if one.startswith("right")] == [f"right {number}" for number in range(30)]


def test_a_gistread_that_holds_the_file_for_long_is_an_error_and_not_a_hang(
    user_data: UserData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gistread.user_data._WAIT_S", 0.1)
    put(user_data)
    with Journal(tmp_path / "books" / f"{BOOK}.jsonl"), pytest.raises(StorageError, match="Another gistread"):
        user_data.set_position(BOOK, 5)


def test_a_file_of_a_later_gistread_is_left_as_it_is(user_data: UserData, tmp_path: Path) -> None:
    put(user_data, OTHER)
    file = tmp_path / "books" / f"{BOOK}.jsonl"
    with Journal(file) as later:
        later.append({"kind": "shelf", "version": 2}, {"kind": "position", "offset": {"page": 3}})
    before = file.read_bytes()
    with pytest.raises(StorageError, match="a later version of gistread"):
        user_data.position(BOOK)
    with pytest.raises(StorageError, match="a later version of gistread"):
        user_data.set_position(BOOK, 5)
    assert [book.sha256 for book in user_data.recent()] == [OTHER]
    assert file.read_bytes() == before


def test_a_read_only_folder_can_be_read_and_says_that_it_cannot_be_written(user_data: UserData, tmp_path: Path) -> None:
    put(user_data)
    user_data.set_position(BOOK, 77)
    script = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from gistread.errors import StorageError
        from gistread.user_data import UserData
        user_data = UserData(Path(sys.argv[1]))
        for sha256 in sys.argv[2:]:
            try:
                user_data.set_position(sha256, 5)
            except StorageError as error:
                print(error.message.rpartition(": ")[2], user_data.position(sha256), len(user_data.recent()))
        """
    )
    (tmp_path / "books" / f"{BOOK}.jsonl").chmod(0o444)
    (tmp_path / "books").chmod(0o555)
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "books"), BOOK, OTHER],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=obey_permissions,
    )
    (tmp_path / "books").chmod(0o755)
    assert done.stdout == "Permission denied. 77 1\nPermission denied. 0 1\n"


def test_questions_are_kept_in_threads_that_can_be_named_and_deleted(user_data: UserData) -> None:
    put(user_data)
    first, other = QUESTION, replace(QUESTION, question="Where?", asked_at=QUESTION.asked_at + 1)
    second = replace(
        QUESTION, question="And why?", asked_at=QUESTION.asked_at + 2, thread=first.asked_at, upto=77, passage=(3, 9)
    )
    after_the_clock_was_set_back = replace(second, question="Truly?", asked_at=QUESTION.asked_at - 86_400)
    for one in (first, other, second, after_the_clock_was_set_back):
        user_data.add_question(BOOK, one)
    threads = user_data.threads(BOOK)
    assert [one.questions for one in threads] == [(other,), (first, second, after_the_clock_was_set_back)]
    assert [one.name for one in threads] == ["Where?", first.question]
    user_data.rename_thread(BOOK, threads[0].id, " The  place ")
    user_data.rename_thread(BOOK, threads[1].id, "The door")
    assert [one.name for one in user_data.threads(BOOK)] == ["The place", "The door"]
    user_data.delete_thread(BOOK, threads[1].id)
    assert [one.name for one in user_data.threads(BOOK)] == ["The place"]
    assert user_data.questions(BOOK) == [other]
    assert b"And why?" not in user_data._file(BOOK).read_bytes()
    assert [one.title for one in user_data.recent()] == ["The Door"]
