"""Stored marks survive concurrent writers, kills and failing disks."""

import errno
import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import pytest

from gistread import journal
from gistread.errors import StorageError
from gistread.journal import Journal
from gistread.marking.model import Color, Mark, MarkKind, new_mark, quote_at, with_changes
from gistread.marking.store import MarkStore
from tests.permissions import obey_permissions

BOOK, OTHER = "a" * 64, "b" * 64
TEXT = "In November Ada fell on the stair and broke her wrist, and that night the lamp went out. " * 40


def highlight(start: int = 12, note: str = "") -> Mark:
    return new_mark(MarkKind.HIGHLIGHT, quote_at(TEXT, start, start + 20), color=Color.GREEN, note=note)


@pytest.fixture
def store(tmp_path: Path) -> MarkStore:
    return MarkStore(tmp_path / "marks")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "marks" / f"{BOOK}.jsonl"


def test_a_book_without_marks_has_no_file(store: MarkStore, tmp_path: Path) -> None:
    assert store.marks(BOOK) == []
    assert store.stamp(BOOK) is None
    assert list(tmp_path.iterdir()) == []


def test_every_kind_of_mark_is_stored_in_order_of_place(store: MarkStore, tmp_path: Path) -> None:
    marks = [
        highlight(300, "雪 “quoted”\nin two lines"),
        new_mark(MarkKind.BOOKMARK, quote_at(TEXT, 200)),
        new_mark(MarkKind.LETTER, quote_at(TEXT, 100), letter="a"),
        new_mark(MarkKind.NOTE, quote_at(TEXT, 50, 60), note="Why?"),
    ]
    for mark in marks:
        assert store.put(BOOK, mark) == mark
    assert MarkStore(tmp_path / "marks").marks(BOOK) == marks[::-1]
    assert store.marks(OTHER) == []


def test_a_letter_marks_one_place(store: MarkStore) -> None:
    for start in (10, 400):
        store.put(BOOK, new_mark(MarkKind.LETTER, quote_at(TEXT, start), letter="a"))
    store.put(BOOK, new_mark(MarkKind.LETTER, quote_at(TEXT, 7), letter="A"))
    assert [(mark.letter, mark.start) for mark in store.marks(BOOK)] == [("A", 7), ("a", 400)]


def test_a_removed_mark_can_be_restored(store: MarkStore) -> None:
    mark = store.put(BOOK, highlight(note="keep me"))
    removed = store.remove(BOOK, mark)
    assert store.marks(BOOK) == []
    assert store.ids(BOOK) == {mark.id}
    assert store.put_new(BOOK, [mark]) == []
    back = store.put(BOOK, removed)
    assert [replace(one, changed_at=0) for one in store.marks(BOOK)] == [replace(back, changed_at=0)]
    assert back.note == "keep me"


def test_the_clock_may_go_backwards(store: MarkStore) -> None:
    mark = store.put(BOOK, replace(highlight(), changed_at=time.time() + 9999))
    store.put(BOOK, replace(mark, note="later", changed_at=5.0), mark)
    assert store.marks(BOOK)[0].note == "later"
    store.remove(BOOK, mark)
    assert store.marks(BOOK) == []


def test_concurrent_notes_on_one_mark_are_both_kept(store: MarkStore) -> None:
    first = store.put(BOOK, highlight(note="base"))
    store.put(BOOK, with_changes(first, note="from the left"), first)
    store.put(BOOK, with_changes(first, note="from the right"), first)
    assert store.marks(BOOK)[0].note == "from the right\n\nfrom the left"
    seen = store.marks(BOOK)[0]
    store.put(BOOK, with_changes(seen, note="settled"), seen)
    assert store.marks(BOOK)[0].note == "settled"


def test_a_new_colour_keeps_a_note_written_meanwhile(store: MarkStore) -> None:
    first = store.put(BOOK, highlight())
    store.put(BOOK, with_changes(first, note="written elsewhere"), first)
    store.put(BOOK, with_changes(first, color=Color.RED), first)
    (mark,) = store.marks(BOOK)
    assert (mark.note, mark.color) == ("written elsewhere", Color.RED)


def test_restoring_a_mark_keeps_the_note_of_another_program(store: MarkStore) -> None:
    first = store.put(BOOK, highlight())
    store.put(BOOK, with_changes(first, note="written elsewhere"), first)
    store.put(BOOK, store.remove(BOOK, first))
    assert store.marks(BOOK)[0].note == "written elsewhere"


def test_many_changes_keep_the_file_small(store: MarkStore, file: Path) -> None:
    mark = store.put(BOOK, highlight())
    other = store.put(BOOK, highlight(99))
    store.remove(BOOK, other)
    for number in range(450):
        mark = store.put(BOOK, with_changes(mark, note=str(number)), mark)
    assert len(journal.read_records(file)[0]) < 250
    assert [one.note for one in store.marks(BOOK)] == ["449"]
    assert other.id in store.ids(BOOK)


def test_the_stamp_changes_with_every_write(store: MarkStore) -> None:
    store.put(BOOK, highlight())
    before = store.stamp(BOOK)
    assert store.stamp(BOOK) == before
    MarkStore(store._directory).put(BOOK, highlight())
    assert store.stamp(BOOK) != before


def test_a_damaged_line_loses_only_itself(store: MarkStore, file: Path) -> None:
    marks = [store.put(BOOK, highlight(start)) for start in (10, 40, 80)]
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines[:2], lines[2].replace(b"g", b"h"), *lines[3:]]) + b"torn")
    assert store.marks(BOOK) == [marks[0], marks[2]]
    store.put(BOOK, marks[1])
    assert store.marks(BOOK) == marks
    assert file.with_name(file.name + ".damaged").exists()


def test_a_file_of_a_later_version_is_left_unchanged(store: MarkStore, file: Path) -> None:
    with Journal(file) as later:
        later.append({"kind": "marks", "version": 2}, {"kind": "cloud", "id": 5})
    before = file.read_bytes()
    for use in (lambda: store.marks(BOOK), lambda: store.put(BOOK, highlight())):
        with pytest.raises(StorageError, match="a later version of gistread"):
            use()
    assert file.read_bytes() == before


def test_unknown_records_are_skipped(store: MarkStore, file: Path) -> None:
    mark = store.put(BOOK, highlight())
    strange = {**journal.read_records(file)[0][1], "id": "x", "kind": "cloud"}
    with Journal(file) as one:
        one.append(strange, {**strange, "kind": "note", "place": {"from": 3}}, {"kind": "note"})
    assert store.marks(BOOK) == [mark]


WRITER = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from gistread.marking.model import Color, MarkKind, with_changes, new_mark
    from gistread.marking.model import quote_at
    from gistread.marking.store import MarkStore
    store, sha256, name, count = MarkStore(Path(sys.argv[1])), sys.argv[2], sys.argv[3], int(sys.argv[4])
    text = "the lamp went out " * 500
    for number in range(count):
        mark = store.put(sha256, new_mark(MarkKind.NOTE, quote_at(text, number, number + 9), note=f"{name} {number}"))
        for _ in range(4):
            mark = store.put(sha256, with_changes(mark), mark)
        print(mark.note, flush=True)
    """
)


def test_two_programs_with_one_book_lose_no_note(store: MarkStore) -> None:
    command = [sys.executable, "-c", WRITER, str(store._directory), BOOK]
    running = [subprocess.Popen([*command, name, "40"], stdout=subprocess.DEVNULL) for name in ("left", "right")]
    assert [process.wait(timeout=120) for process in running] == [0, 0]
    notes = {mark.note for mark in store.marks(BOOK)}
    assert notes == {f"{name} {number}" for name in ("left", "right") for number in range(40)}


def test_a_kill_loses_at_most_the_record_being_written(store: MarkStore) -> None:
    for seconds in (0.02, 0.05, 0.08):
        command = [sys.executable, "-c", WRITER, str(store._directory), BOOK, f"run {seconds}", "100000"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            said = [process.stdout.readline().strip()]
            time.sleep(seconds)
            process.send_signal(signal.SIGKILL)
            said += [line.strip() for line in process.stdout if line.endswith("\n")]
        assert {*said} <= {mark.note for mark in store.marks(BOOK)}
    mark = store.put(BOOK, highlight(note="after"))
    assert mark in store.marks(BOOK)


def test_a_full_disk_is_reported_and_keeps_every_mark(store: MarkStore, file: Path) -> None:
    kept = store.put(BOOK, highlight(note="kept"))
    before = file.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 40, hard))
    try:
        with pytest.raises(StorageError, match=os.strerror(errno.EFBIG)):
            store.put(BOOK, highlight(note="too much"))
        with pytest.raises(StorageError):
            store.remove(BOOK, kept)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, old)
    assert file.read_bytes() == before
    assert store.put(BOOK, highlight(60)) in store.marks(BOOK)


def test_a_read_only_folder_can_be_read_but_not_written(store: MarkStore, file: Path) -> None:
    store.put(BOOK, highlight(note="kept"))
    script = (
        "import sys\nfrom pathlib import Path\nfrom gistread.errors import StorageError\n"
        "from gistread.marking.store import MarkStore\nstore = MarkStore(Path(sys.argv[1]))\n"
        "(mark,) = store.marks(sys.argv[2])\n"
        "try: store.put(sys.argv[2], mark)\nexcept StorageError as error: print(mark.note, error)"
    )
    file.chmod(0o444)
    file.parent.chmod(0o555)
    done = subprocess.run(
        [sys.executable, "-c", script, str(file.parent), BOOK],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=obey_permissions,
    )
    file.parent.chmod(0o755)
    assert done.stdout.startswith("kept ")
    assert "Permission denied" in done.stdout
