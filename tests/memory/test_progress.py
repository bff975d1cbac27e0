"""How far models have read the books of a library."""

from pathlib import Path
from typing import Any

from gistread.memory.store import furthest_memories
from gistread.store.journal import encode_line


def write(
    file: Path, sha256: str, model: str, *pages: tuple[int, int], **focus: Any
) -> None:
    records: list[dict[str, object]] = [
        {
            "format": "gistread memory",
            "version": 1,
            "book": sha256,
            "model": model,
            **focus,
        }
    ]
    records += [{"start": start, "end": end} for start, end in pages]
    file.write_bytes(b"".join(map(encode_line, records)))


def test_the_progress_is_that_of_the_memory_that_covers_most(tmp_path: Path) -> None:
    write(tmp_path / "a-1.memory", "a" * 64, "small", (0, 100), (100, 250))
    write(tmp_path / "a-2.memory", "a" * 64, "large", (100, 200), (0, 100), (500, 900))
    write(tmp_path / "b-1.memory", "b" * 64, "small")
    memories, _ = furthest_memories(tmp_path)
    most = memories["a" * 64]
    assert (most.model_name, most.read_until, most.pages) == ("large", 200, 3)
    assert memories["b" * 64].pages == 0


def test_a_memory_with_a_task_counts_only_if_it_got_further(tmp_path: Path) -> None:
    write(tmp_path / "a-1.memory", "a" * 64, "small", (0, 100), task="when it ends")
    write(tmp_path / "a-2.memory", "a" * 64, "large", (0, 100))
    write(tmp_path / "b-1.memory", "b" * 64, "small", (0, 100), task="when it ends")
    write(tmp_path / "b-2.memory", "b" * 64, "large", (0, 90))
    write(tmp_path / "c-1.memory", "c" * 64, "large", (0, 90), task=7)
    memories, _ = furthest_memories(tmp_path)
    shown = {
        sha256[0]: (memory.model_name, memory.focus.task)
        for sha256, memory in memories.items()
    }
    assert shown == {"a": ("large", ""), "b": ("small", "when it ends")}
