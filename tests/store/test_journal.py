"""Journals keep what was appended through kills, failing disks and damage."""

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gistread.errors import StorageError
from gistread.store import journal
from gistread.store.journal import Journal, Record
from tests.permissions import obey_permissions

RECORDS: list[Record] = [
    {"kind": "header", "version": 1},
    {"page": 1, "gist": "She opens the door; “nobody” is there.\nOnly snow. 雪"},
    {"page": 2, "gist": "", "usage": [1, 2, 3, 0.25]},
    {"page": 3, "gist": "The end."},
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A journal of `RECORDS`."""
    path = tmp_path / "book.memory"
    with Journal(path) as written:
        written.append(*RECORDS)
    return path


def line_ends(data: bytes) -> list[int]:
    return [at + 1 for at, byte in enumerate(data) if byte == ord("\n")]


def test_gives_back_what_was_appended_in_order(file: Path) -> None:
    assert journal.read_records(file) == (RECORDS, file.stat().st_size)
    with Journal(file) as again:
        assert again.records == RECORDS
        assert again.cut_bytes == 0


@settings(
    suppress_health_check=[HealthCheck.too_slow]
)  # The first text takes seconds on a busy machine.
@given(
    st.dictionaries(
        st.text(),
        st.none() | st.booleans() | st.text() | st.integers(-(2**63), 2**63 - 1),
    )
)
def test_a_line_decodes_to_the_record_it_was_made_of(record: Record) -> None:
    line = journal.encode_line(record)
    assert line.count(b"\n") == 1
    assert journal.decode_line(line) == record


@given(st.binary())
def test_no_bytes_make_decoding_fail(line: bytes) -> None:
    assert (
        journal.decode_line(line) is None
        or journal.encode_line(journal.decode_line(line) or {}) == line
    )


def test_cut_at_every_byte_it_holds_exactly_the_whole_records(
    file: Path, tmp_path: Path
) -> None:
    data = file.read_bytes()
    ends = line_ends(data)
    torn = tmp_path / "torn.memory"
    for length in range(len(data) + 1):
        torn.write_bytes(data[:length])
        whole = sum(end <= length for end in ends)
        with Journal(torn) as opened:
            assert opened.records == RECORDS[:whole], length
            opened.append({"after": length})
        assert journal.read_records(torn)[0] == [*RECORDS[:whole], {"after": length}], (
            length
        )
        assert not torn.with_name("torn.memory.damaged").exists(), (
            "a torn line is no damage worth keeping"
        )


def test_every_flipped_bit_costs_its_record_and_no_other(
    file: Path, tmp_path: Path
) -> None:
    data = file.read_bytes()
    ends = line_ends(data)
    flipped = tmp_path / "flipped.memory"
    for at in range(len(data)):
        for bit in (0, 3, 7):
            changed = bytearray(data)
            changed[at] ^= 1 << bit
            flipped.write_bytes(changed)
            damaged = sum(end <= at for end in ends)
            assert (
                journal.read_records(flipped)[0]
                == RECORDS[:damaged] + RECORDS[damaged + 1 :]
            ), (
                at,
                bit,
            )
            assert journal.is_damaged(flipped) == (at < len(data) - 1), (
                "without its end the last line is torn"
            )


def test_damaged_lines_are_kept_beside_the_file(file: Path) -> None:
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(lines[0] + b"garbage\n" + lines[2] + lines[3] + b"torn")
    kept = [RECORDS[0], *RECORDS[2:]]
    assert journal.read_records(file)[0] == kept
    with Journal(file) as opened:
        assert opened.records == kept
        opened.append({"page": 4})
    assert journal.read_records(file) == ([*kept, {"page": 4}], file.stat().st_size)
    assert file.with_name(file.name + ".damaged").read_bytes() == b"garbage\ntorn"


def test_rewrite_replaces_everything_and_goes_on(file: Path) -> None:
    with Journal(file) as opened:
        opened.rewrite(RECORDS[:1])
        opened.append({"page": 9})
        with pytest.raises(StorageError, match="Another gistread"):
            Journal(file)
    assert journal.read_records(file)[0] == [RECORDS[0], {"page": 9}]
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_second_writer_is_told_and_a_reader_is_not_disturbed(file: Path) -> None:
    with Journal(file):
        assert journal.read_records(file)[0] == RECORDS
        with pytest.raises(
            StorageError, match=r"Another gistread is writing book\.memory"
        ):
            Journal(file)
    Journal(file).close()


WRITER = textwrap.dedent(
    """
    import sys, time
    from pathlib import Path
    from gistread.store.journal import Journal
    path = Path(sys.argv[1])
    first, count = int(sys.argv[2]), int(sys.argv[3])
    pause_s = float(sys.argv[4])
    for number in range(first, first + count):
        with Journal(path, wait_s=20) as journal:
            if number % 7 == 0:
                journal.rewrite(journal.records)
            journal.append({"number": number})
            print(number, flush=True)
        time.sleep(pause_s)
    """
)


def write_in_another_process(
    path: Path, first: int, count: int, pause_s: float = 0.0
) -> "subprocess.Popen[str]":
    arguments = [
        sys.executable,
        "-c",
        WRITER,
        str(path),
        str(first),
        str(count),
        str(pause_s),
    ]
    return subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_two_processes_that_wait_for_each_other_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "shared.jsonl"
    writers = [write_in_another_process(path, first, 40) for first in (0, 1000)]
    for writer in writers:
        _, errors = writer.communicate(timeout=60)
        assert writer.returncode == 0, errors
    numbers = [record["number"] for record in journal.read_records(path)[0]]
    assert sorted(numbers) == [*range(40), *range(1000, 1040)]


def test_killed_at_any_moment_nothing_that_was_acknowledged_is_lost(
    tmp_path: Path,
) -> None:
    path = tmp_path / "killed.jsonl"
    first = 0
    for _ in range(6):
        writer = write_in_another_process(path, first, 10_000)
        assert writer.stdout is not None
        for _ in range(11):
            acknowledged = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
        acknowledged = max([acknowledged, *map(int, writer.stdout.read().split())])
        writer.wait()
        numbers = [record["number"] for record in journal.read_records(path)[0]]
        assert numbers == list(range(len(numbers)))
        assert acknowledged <= numbers[-1] <= acknowledged + 1
        first = len(numbers)


def test_a_full_disk_is_an_error_and_leaves_whole_records(tmp_path: Path) -> None:
    """A file size limit stands in for a full disk; the error is EFBIG instead of ENOSPC."""
    script = textwrap.dedent(
        """
        import resource, sys
        from pathlib import Path
        from gistread.errors import StorageError
        from gistread.store.journal import Journal
        path = Path(sys.argv[1])
        with Journal(path) as journal:
            journal.append({"page": 1})
            size = path.stat().st_size
            for room in range(0, 100):
                resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, resource.RLIM_INFINITY))
                try:
                    journal.append({"page": 2, "gist": "x" * 100})
                except StorageError:
                    assert path.stat().st_size == size, room
                else:
                    raise AssertionError(room)
                try:
                    journal.rewrite([{"page": n, "gist": "x" * 300} for n in range(3)])
                except StorageError:
                    assert path.stat().st_size == size, room
                else:
                    raise AssertionError(room)
            unlimited = resource.RLIM_INFINITY
            resource.setrlimit(resource.RLIMIT_FSIZE, (unlimited, unlimited))
            journal.append({"page": 2})
        """
    )
    path = tmp_path / "full.memory"
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # Refused data must not appear later, when there is space again.
    assert journal.read_records(path) == (
        [{"page": 1}, {"page": 2}],
        path.stat().st_size,
    )
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_folder_that_may_not_be_written_is_an_error_and_can_still_be_read(
    file: Path,
) -> None:
    script = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from gistread.store import journal
        from gistread.errors import StorageError
        path = Path(sys.argv[1])
        for refused in (path, path.with_name("new.memory"), path.parent / "new" / "book.memory"):
            try:
                journal.Journal(refused)
            except StorageError as error:
                assert "Permission denied" in str(error), error
            else:
                raise AssertionError(refused)
        print(journal.read_records(path)[0])
        """
    )
    file.chmod(0o444)
    file.parent.chmod(0o555)
    done = subprocess.run(
        [sys.executable, "-c", script, str(file)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=obey_permissions,
    )
    file.parent.chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{RECORDS}\n"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(st.data())
def test_any_damage_leaves_a_beginning_of_the_records_that_can_be_gone_on_from(
    file: Path, data: st.DataObject
) -> None:
    original = b"".join(map(journal.encode_line, RECORDS))
    at = data.draw(st.integers(0, len(original)))
    end = data.draw(st.integers(at, len(original)))
    file.write_bytes(original[:at] + data.draw(st.binary(max_size=40)) + original[end:])
    with Journal(file) as opened:
        kept = opened.records
        opened.append({"page": "next"})
    assert kept == RECORDS[: len(kept)] or not set(map(str, kept)) - set(
        map(str, RECORDS)
    )
    assert len(kept) >= sum(stop <= at for stop in line_ends(original))
    assert journal.read_records(file)[0] == [*kept, {"page": "next"}]
