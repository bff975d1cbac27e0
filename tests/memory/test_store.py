"""Memories on disk, and failures of the disk."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from gistread import journal
from gistread.book.model import Book
from gistread.errors import StorageError
from gistread.memory.model import GistMemory, MemoryEntry, PageSize, Pauses, ReadingMethod
from gistread.memory.store import MemoryRequest, MemoryStore
from gistread.memory.writer import MemoryWriter
from tests.memory.test_model import make_memory

SIZE = PageSize(50, 150)


@pytest.fixture
def memory() -> GistMemory:
    return make_memory(4)


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path / "memories")


def open_it(store: MemoryStore, book: Book, fingerprint: str = "f1", size: PageSize = SIZE) -> MemoryWriter:
    return store.open(book, MemoryRequest("fake", fingerprint, size))


def write_all(store: MemoryStore, memory: GistMemory, fingerprint: str = "f1") -> Path:
    with open_it(store, memory.book, fingerprint) as kept:
        for entry in memory.entries[len(kept.memory.entries) :]:
            kept.add(entry)
    return store.find(memory.book)[0].path


def reopened(store: MemoryStore, memory: GistMemory) -> tuple[list[MemoryEntry], str]:
    with open_it(store, memory.book) as kept:
        return list(kept.memory.entries), kept.notice


def test_saved_pages_are_loaded_again(store: MemoryStore, memory: GistMemory) -> None:
    write_all(store, memory)
    assert reopened(store, memory) == (memory.entries, "")


def test_creating_a_store_creates_no_file(store: MemoryStore, memory: GistMemory) -> None:
    assert store.find(memory.book) == []
    assert not store.directory.exists()


def test_an_entry_is_on_disk_before_the_memory_has_it(store: MemoryStore, memory: GistMemory) -> None:
    with open_it(store, memory.book) as kept:
        kept.add(memory.entries[0])
        (header,) = store.find(memory.book)
        assert header.pages == 1


def test_an_overlapping_page_is_refused(store: MemoryStore, memory: GistMemory) -> None:
    with open_it(store, memory.book) as kept:
        kept.add(memory.entries[0])
        with pytest.raises(ValueError, match="overlaps"):
            kept.add(memory.entries[0])


def test_pages_ahead_of_a_gap_wait_for_it_to_close(store: MemoryStore, memory: GistMemory) -> None:
    first, second, *others = memory.entries
    with open_it(store, memory.book) as kept:
        for entry in (*reversed(others), second):
            assert kept.add(replace(entry, page=replace(entry.page, number=0))) == []
            assert kept.memory.entries == []
            assert kept.entry_at(entry.page.start) is not None
        assert kept.add(replace(first, page=replace(first.page, number=0))) == memory.entries
        assert kept.memory.entries == memory.entries
    assert reopened(store, memory) == (memory.entries, "")


def test_pages_ahead_of_a_gap_survive_a_kill(store: MemoryStore, memory: GistMemory) -> None:
    with open_it(store, memory.book) as kept:
        for entry in memory.entries[1:]:
            kept.add(entry)
    with open_it(store, memory.book) as kept:
        assert kept.memory.entries == []
        assert kept.add(memory.entries[0]) == memory.entries


def test_another_model_or_size_is_another_memory(store: MemoryStore, memory: GistMemory) -> None:
    write_all(store, memory)
    for kept in (open_it(store, memory.book, "f2"), open_it(store, memory.book, size=PageSize(50, 160))):
        with kept:
            assert kept.memory.entries == []
    assert len(store.find(memory.book)) == 3


def test_other_prompts_are_another_memory(
    store: MemoryStore, memory: GistMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_all(store, memory)
    monkeypatch.setattr("gistread.prompts.version", lambda *names, given: "other")
    assert reopened(store, memory) == ([], "")


def test_a_file_cut_at_any_byte_resumes_at_its_last_whole_record(store: MemoryStore, memory: GistMemory) -> None:
    path = write_all(store, memory)
    whole = path.read_bytes()
    ends = [0]
    for line in whole.splitlines(keepends=True):
        ends.append(ends[-1] + len(line))
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        records = sum(end <= length for end in ends[1:])
        entries, _ = reopened(store, memory)
        assert entries == memory.entries[: max(0, records - 1)]
    assert write_all(store, memory).read_bytes() == whole


def test_a_flipped_byte_costs_only_its_record_with_a_notice(store: MemoryStore, memory: GistMemory) -> None:
    path = write_all(store, memory)
    whole = path.read_bytes()
    ends = [at for at, byte in enumerate(whole[:-1]) if byte == ord("\n")]
    for at in (*range(0, len(whole) - 1, 31), *ends):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        lost = whole[:at].count(b"\n")  # 0: the header, which can be written again
        assert store.is_damaged(memory.book)
        with open_it(store, memory.book) as kept:
            assert "damaged" in kept.notice
            assert kept.pages == len(memory.entries) - (lost > 0)
            if lost:
                kept.add(memory.entries[lost - 1])
            assert kept.memory.entries == memory.entries
        assert not store.is_damaged(memory.book)
        assert reopened(store, memory) == (memory.entries, "")


def test_impossible_records_are_ignored(store: MemoryStore, memory: GistMemory) -> None:
    path = write_all(store, memory)
    records, _ = journal.read_records(path)
    for change in (
        {"start": -1},
        {"end": 10**9},
        {"gist": " "},
        {"source": "dream"},
        {"usage": None},
    ):
        changed = [*records[:2], {**records[2], **change}, *records[3:]]
        path.write_bytes(b"".join(map(journal.encode_line, changed)))
        entries, notice = reopened(store, memory)
        assert entries == memory.entries[:1], change
        assert "damaged" in notice
    assert journal.read_records(path)[0] == [*records[:2], *records[3:]]


def test_a_file_of_another_book_is_set_aside(store: MemoryStore, memory: GistMemory) -> None:
    path = write_all(store, memory)
    records, _ = journal.read_records(path)
    path.write_bytes(b"".join(map(journal.encode_line, [{**records[0], "book": "0" * 64}, *records[1:]])))
    entries, notice = reopened(store, memory)
    assert (entries, "set aside" in notice) == ([], True)


def test_a_file_of_a_later_version_is_an_error_and_left_alone(store: MemoryStore, memory: GistMemory) -> None:
    path = write_all(store, memory)
    records, _ = journal.read_records(path)
    later = journal.encode_line({**records[0], "version": 2}) + b"something new\n"
    path.write_bytes(later)
    with pytest.raises(StorageError, match="later version"):
        open_it(store, memory.book)
    assert path.read_bytes() == later
    assert store.find(memory.book) == []


def test_a_second_writer_keeps_pages_in_memory_with_a_notice(store: MemoryStore, memory: GistMemory) -> None:
    with open_it(store, memory.book) as first:
        first.add(memory.entries[0])
        with open_it(store, memory.book) as second:
            assert second.memory.entries == memory.entries[:1]
            assert "this session only" in second.notice
            second.add(memory.entries[1])
            assert len(second.memory.entries) == 2
        first.add(memory.entries[1])
    assert reopened(store, memory) == (memory.entries[:2], "")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_a_notice(store: MemoryStore, memory: GistMemory) -> None:
    store.directory.mkdir()
    store.directory.chmod(0o500)
    with open_it(store, memory.book) as kept:
        assert "this session only" in kept.notice


def test_a_folder_that_cannot_be_made_is_a_notice(tmp_path: Path, memory: GistMemory) -> None:
    (tmp_path / "file").write_text("in the way")
    with open_it(MemoryStore(tmp_path / "file" / "memories"), memory.book) as kept:
        assert "this session only" in kept.notice
        assert not kept.is_saved
        kept.add(memory.entries[0])
        assert kept.memory.entries == memory.entries[:1]


def test_a_full_disk_is_reported_once_and_reading_continues(
    store: MemoryStore, memory: GistMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_it(store, memory.book) as kept:
        kept.add(memory.entries[0])

        def full(*_: object) -> None:
            raise StorageError("memories: No space left on device.")

        monkeypatch.setattr(journal.Journal, "append", full)
        kept.add(memory.entries[1])
        assert "No space left" in kept.notice
        kept.add(memory.entries[2])
        assert kept.memory.entries == memory.entries[:3]
    assert reopened(store, memory)[0] == memory.entries[:1]


def test_memories_are_found_without_their_model_furthest_first(store: MemoryStore, memory: GistMemory) -> None:
    with open_it(store, memory.book, "little") as kept:
        kept.add(memory.entries[0])
    write_all(store, memory, "whole")
    first, second = store.find(memory.book)
    assert (first.fingerprint, first.pages, first.complete) == ("whole", 4, True)
    assert (second.fingerprint, second.pages, second.complete) == ("little", 1, False)
    assert (first.model_name, first.size) == ("fake", SIZE)
    assert store.load(memory.book, first).entries == memory.entries


def test_a_file_that_is_no_memory_is_not_found(store: MemoryStore, memory: GistMemory) -> None:
    path = write_all(store, memory)
    path.write_bytes(os.urandom(500))
    assert store.find(memory.book) == []


def test_the_least_recently_opened_memories_are_evicted(store: MemoryStore) -> None:
    books = [make_memory(pages) for pages in (2, 3, 4, 5)]
    paths = [write_all(store, memory) for memory in books]
    for age, path in enumerate(paths):
        os.utime(path, (1000 + age, 1000 + age))
    sizes = [path.stat().st_size for path in paths]
    with open_it(store, books[1].book):  # in use
        os.utime(paths[1], (1001, 1001))
        freed = store.trim(sizes[3], keep=[books[0].book.sha256])
    assert [path.exists() for path in paths] == [True, True, False, False]
    assert freed == sizes[2] + sizes[3]
    assert store.trim(sum(sizes)) == 0


def test_opening_a_memory_keeps_all_of_them_within_their_limit(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = write_all(store, make_memory(3))
    newer = make_memory(4)
    write_all(store, newer)
    monkeypatch.setattr("gistread.memory.store._LIMIT_BYTES", 1)
    with open_it(store, newer.book) as kept:
        assert len(kept.memory.entries) == 4
    assert not old.exists()


def test_another_reading_method_is_another_memory(store: MemoryStore, memory: GistMemory) -> None:
    write_all(store, memory)
    methods = [ReadingMethod(pauses=pauses, guarded=guarded) for pauses in Pauses for guarded in (True, False)]
    for method in methods[1:]:
        with store.open(memory.book, MemoryRequest("fake", "f1", SIZE, method)) as kept:
            assert (kept.memory.entries, kept.memory.method) == ([], method)
            kept.add(memory.entries[0])
    loaded = [store.load(memory.book, header) for header in store.find(memory.book)]
    assert {one.method for one in loaded} == set(methods)


def test_the_default_method_is_left_out_of_the_header(store: MemoryStore, memory: GistMemory) -> None:
    header = journal.read_records(write_all(store, memory))[0][0]
    assert not {"pauses", "guarded"} & header.keys()
