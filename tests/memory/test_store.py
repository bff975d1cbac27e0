"""Memories on disk, and failures of the disk."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from gistread.book.model import Book
from gistread.errors import StorageError
from gistread.memory.model import (
    Gist,
    GistMemory,
    GistSource,
    MemoryEntry,
    Page,
    PageSize,
)
from gistread.memory.store import MemoryRequest, MemoryStore
from gistread.memory.writer import MemoryWriter
from gistread.store import journal
from tests.memory.books import make_book
from tests.memory.test_model import make_memory

SIZE = PageSize(50, 150)


@pytest.fixture
def memory() -> GistMemory:
    return make_memory(4)


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path / "memories")


def open_it(
    store: MemoryStore, book: Book, fingerprint: str = "f1", size: PageSize = SIZE
) -> MemoryWriter:
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


@pytest.mark.parametrize(
    ("heading", "sentence", "gist", "expected"),
    [
        ("Chapter 8", "The lamp burned.", "Chapter 8 The lamp burned.", "The lamp burned."),
        ("Nora", "Nora went to the lamp.", "Nora went to the lamp.", "Nora went to the lamp."),
        ("Chapter 8", "The lamp burned.", "Chapter 8", "Chapter 8"),
        ("I", "It rained.", "It rained.", "It rained."),
        ("I", "I ran. It rained. Nobody came.", "I ran. Nobody came.", "I ran. Nobody came."),
        ("I", "I ran. It rained. Nobody came.", "I I ran. Nobody came.", "I ran. Nobody came."),
    ],
)  # fmt: skip
def test_a_saved_gist_loses_the_heading_before_its_first_sentence(
    store: MemoryStore, heading: str, sentence: str, gist: str, expected: str
) -> None:
    book = make_book([f"# {heading}", sentence])
    page = Page(1, 0, len(book.text), 7)
    with open_it(store, book) as kept:
        kept.add(MemoryEntry(page, Gist(gist, 5, GistSource.EXTRACTIVE)))
    (header,) = store.find(book)
    assert store.load(book, header).entry(1).gist.text == expected


def test_an_entry_is_on_disk_before_the_memory_has_it(
    store: MemoryStore, memory: GistMemory
) -> None:
    with open_it(store, memory.book) as kept:
        kept.add(memory.entries[0])
        (header,) = store.find(memory.book)
        assert header.pages == 1


def test_an_overlapping_page_is_refused(store: MemoryStore, memory: GistMemory) -> None:
    with open_it(store, memory.book) as kept:
        kept.add(memory.entries[0])
        with pytest.raises(ValueError, match="overlaps"):
            kept.add(memory.entries[0])


def assert_without_holes(pages: list[Page]) -> None:
    """Numbered from 1, each begins where the one before ends."""
    assert [page.number for page in pages] == list(range(1, len(pages) + 1))
    starts = [page.start for page in pages]
    assert starts == [0, *(page.end for page in pages[:-1])], "no text is left out"


def test_pages_after_a_gap_have_their_place_in_the_memory(
    store: MemoryStore, memory: GistMemory
) -> None:
    first, second, *others = memory.entries
    with open_it(store, memory.book) as kept:
        for entry in (*reversed(others), second):
            kept.add(replace(entry, page=replace(entry.page, number=0)))
            assert kept.entry_at(entry.page.start) is not None
            assert_without_holes([entry.page for entry in kept.memory.entries])
            assert not kept.memory.complete
        unread = [entry.page for entry in kept.memory.entries if not entry.is_read]
        assert [(page.start, page.end) for page in unread] == [(0, first.page.end)]
        assert kept.add(replace(first, page=replace(first.page, number=0))) == first
        assert kept.memory.entries == memory.entries
        assert kept.memory.complete
    assert reopened(store, memory) == (memory.entries, "")


def test_pages_after_a_gap_survive_a_kill(
    store: MemoryStore, memory: GistMemory
) -> None:
    with open_it(store, memory.book) as kept:
        for entry in memory.entries[1:]:
            kept.add(entry)
    loaded = store.load(memory.book, store.find(memory.book)[0])
    gists = [entry.gist for entry in loaded.read_entries]
    assert gists == [entry.gist for entry in memory.entries[1:]]
    with open_it(store, memory.book) as kept:
        assert kept.memory.entries == loaded.entries
        kept.add(memory.entries[0])
        assert kept.memory.entries == memory.entries


def test_a_file_cut_at_any_byte_resumes_at_its_last_whole_record(
    store: MemoryStore, memory: GistMemory
) -> None:
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


def test_a_flipped_byte_costs_only_its_record_with_a_notice(
    store: MemoryStore, memory: GistMemory
) -> None:
    path = write_all(store, memory)
    whole = path.read_bytes()
    ends = [at for at, byte in enumerate(whole[:-1]) if byte == ord("\n")]
    for at in (*range(0, len(whole) - 1, 31), *ends):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        lost = whole[:at].count(b"\n")  # 0: the header, which can be written again
        assert store.is_damaged(memory.book)
        with open_it(store, memory.book) as kept:
            assert "damaged" in kept.notice
            assert len(kept.all_entries()) == len(memory.entries) - (lost > 0)
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
        starts = [entry.page.start for entry in entries if entry.is_read]
        others = [memory.entries[0], *memory.entries[2:]]
        assert starts == [entry.page.start for entry in others], change
        assert "damaged" in notice
    assert journal.read_records(path)[0] == [*records[:2], *records[3:]]


def test_a_file_of_another_book_is_set_aside(
    store: MemoryStore, memory: GistMemory
) -> None:
    path = write_all(store, memory)
    records, _ = journal.read_records(path)
    path.write_bytes(
        b"".join(
            map(journal.encode_line, [{**records[0], "book": "0" * 64}, *records[1:]])
        )
    )
    entries, notice = reopened(store, memory)
    assert (entries, "set aside" in notice) == ([], True)


def test_a_file_of_a_later_version_is_an_error_and_left_alone(
    store: MemoryStore, memory: GistMemory
) -> None:
    path = write_all(store, memory)
    records, _ = journal.read_records(path)
    later = journal.encode_line({**records[0], "version": 2}) + b"something new\n"
    path.write_bytes(later)
    with pytest.raises(StorageError, match="later version"):
        open_it(store, memory.book)
    assert path.read_bytes() == later
    assert store.find(memory.book) == []


def test_a_second_writer_keeps_pages_in_memory_with_a_notice(
    store: MemoryStore, memory: GistMemory
) -> None:
    with open_it(store, memory.book) as first:
        first.add(memory.entries[0])
        with open_it(store, memory.book) as second:
            assert second.memory.entries == memory.entries[:1]
            assert "are not saved" in second.notice
            second.add(memory.entries[1])
            assert len(second.memory.entries) == 2
        first.add(memory.entries[1])
    assert reopened(store, memory) == (memory.entries[:2], "")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_a_notice(store: MemoryStore, memory: GistMemory) -> None:
    store.directory.mkdir()
    store.directory.chmod(0o500)
    with open_it(store, memory.book) as kept:
        assert "are not saved" in kept.notice


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


def test_memories_are_found_without_their_model_furthest_first(
    store: MemoryStore, memory: GistMemory
) -> None:
    with open_it(store, memory.book, "little") as kept:
        kept.add(memory.entries[0])
    write_all(store, memory, "whole")
    first, second = store.find(memory.book)
    assert (first.fingerprint, first.pages, first.complete) == ("whole", 4, True)
    assert (second.fingerprint, second.pages, second.complete) == ("little", 1, False)
    assert (first.model_name, first.size) == ("fake", SIZE)
    assert store.load(memory.book, first).entries == memory.entries


def test_all_memories_but_those_in_use_are_cleared_with_what_is_derived(
    store: MemoryStore,
) -> None:
    books = [make_memory(pages) for pages in (2, 3)]
    paths = [write_all(store, memory) for memory in books]
    derived = [path.with_suffix(".derived") for path in paths]
    for path in derived:
        path.write_bytes(b"x" * 1000)
    size = paths[1].stat().st_size + 1000
    with open_it(store, books[0].book):
        assert store.clear() == size
    assert [path.exists() for path in (*paths, *derived)] == [True, False, True, False]
