"""How far models have read the books of a library."""

from pathlib import Path

from gistread.journal import encode_line
from gistread.memory.progress import all_memories, furthest_memories


def write(file: Path, sha256: str, model: str, *pages: tuple[int, int], **focus: object) -> None:
    records: list[dict[str, object]] = [
        {"format": "gistread memory", "version": 1, "book": sha256, "model": model, **focus}
    ]
    records += [{"start": start, "end": end} for start, end in pages]
    file.write_bytes(b"".join(map(encode_line, records)))


def test_the_progress_is_that_of_the_furthest_memory_up_to_its_first_gap(tmp_path: Path) -> None:
    write(tmp_path / "a-1.memory", "a" * 64, "small", (0, 100), (100, 250))
    write(tmp_path / "a-2.memory", "a" * 64, "large", (100, 200), (0, 100), (500, 900))
    write(tmp_path / "b-1.memory", "b" * 64, "small")
    found = furthest_memories(all_memories(tmp_path))
    assert (found["a" * 64].model_name, found["a" * 64].read_until, found["a" * 64].pages) == ("small", 250, 2)
    assert found["b" * 64].pages == 0


def test_pages_after_a_gap_count_as_read(tmp_path: Path) -> None:
    write(tmp_path / "a.memory", "a" * 64, "small", (0, 100), (500, 900), (850, 1000))
    (found,) = all_memories(tmp_path)
    assert (found.read_until, found.pages, found.characters) == (100, 3, 600)


def test_damaged_and_foreign_files_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "c.memory").write_bytes(b"\x00 nothing \n")
    (tmp_path / "d.memory").mkdir()
    write(tmp_path / "a.memory", "a" * 64, "small", (0, 10))
    with (tmp_path / "a.memory").open("ab") as file:
        file.write(b"torn")
    assert list(furthest_memories(all_memories(tmp_path))) == ["a" * 64]
    assert furthest_memories(all_memories(tmp_path / "nowhere")) == {}


def test_a_memory_with_a_task_counts_only_if_it_got_further(tmp_path: Path) -> None:
    write(tmp_path / "a-1.memory", "a" * 64, "small", (0, 100), task="when it ends")
    write(tmp_path / "a-2.memory", "a" * 64, "large", (0, 100))
    write(tmp_path / "b-1.memory", "b" * 64, "small", (0, 100), task="when it ends")
    write(tmp_path / "b-2.memory", "b" * 64, "large", (0, 90))
    write(tmp_path / "c-1.memory", "c" * 64, "large", (0, 90), task=7)
    found = furthest_memories(all_memories(tmp_path))
    assert {sha256[0]: (one.model_name, one.focus.task) for sha256, one in found.items()} == {
        "a": ("large", ""),
        "b": ("small", "when it ends"),
    }
