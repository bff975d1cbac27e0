"""Everything that is saved, cut and flipped at every byte, and written by several processes.

One of them is killed.
"""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gistread.config import load_config, save_setting
from gistread.marking import MarkKind, TextQuote, new_mark
from gistread.memory.derived import DerivedRecords
from gistread.memory.model import Gist, GistSource, MemoryEntry, Page, PageSize
from gistread.memory.store import MemoryRequest, MemoryStore
from gistread.store.catalogue import Catalogue
from gistread.store.journal import read_records
from gistread.store.model import BookFile, SavedQuestion
from gistread.store.user_data import MarkStore, UserData
from tests.folders import paths_in
from tests.memory.books import make_book

_SHA256 = "5" * 64
_RECORDS = 5  # In each file that is damaged
_WRITTEN = 60  # By each of two processes
_BOOK = make_book(
    [f"The keeper counted stair {number}." for number in range(_RECORDS + 1)]
)
_REQUEST = MemoryRequest("fake", "f", PageSize(3, 5))


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of saved data, in one file of a folder."""

    write: Callable[[Path, int], None]  # Add the record with this number
    # Numbers of the records, each as often as it is there
    numbers: Callable[[Path], Collection[int]]


def _add_mark(folder: Path, number: int) -> None:
    MarkStore(paths_in(folder)).put_new(
        _SHA256,
        [new_mark(MarkKind.BOOKMARK, TextQuote(number, number + 1, "x", "", ""))],
    )


def _add_question(folder: Path, number: int) -> None:
    UserData(paths_in(folder)).add_question(
        _SHA256, SavedQuestion(f"{number}?", "An answer.", found=True)
    )


def _add_file(folder: Path, number: int) -> None:
    Catalogue(paths_in(folder)).add(
        [BookFile(Path(f"/{number}.txt"), f"{number}", 1, 1, "A book")]
    )


def _add_page(folder: Path, number: int) -> None:
    start, end = _BOOK.paragraphs[number].start, _BOOK.paragraphs[number].end
    page = Page(
        0, start, _BOOK.paragraphs[number + 1].start if number < _RECORDS else end, 5
    )
    with MemoryStore(folder).open(_BOOK, _REQUEST) as writer:
        if writer.entry_at(page.start) is None:
            writer.add(MemoryEntry(page, Gist("A gist.", 2, GistSource.MODEL)))


def _pages(folder: Path) -> list[int]:
    starts = [paragraph.start for paragraph in _BOOK.paragraphs]
    with MemoryStore(folder).open(_BOOK, _REQUEST) as writer:
        return [starts.index(entry.page.start) for entry in writer.all_entries()]


def _derived(folder: Path) -> list[int]:
    records = read_records(folder / "book.derived")[0]
    return [int(record["key"]) for record in records]


KINDS: Mapping[str, Kind] = {
    "memory": Kind(_add_page, _pages),
    "summaries and facts": Kind(
        lambda folder, number: DerivedRecords(folder / "book.derived").put(
            "fact", str(number), {"text": "A fact."}
        ),
        _derived,
    ),
    "questions": Kind(
        _add_question,
        lambda folder: [
            int(question.question[:-1])
            for question in UserData(paths_in(folder)).questions(_SHA256)
        ],
    ),
    "marks": Kind(
        _add_mark,
        lambda folder: [
            mark.start for mark in MarkStore(paths_in(folder)).marks(_SHA256)
        ],
    ),
    "library": Kind(
        _add_file,
        lambda folder: [int(name) for name in Catalogue(paths_in(folder)).read().files],
    ),
    "settings": Kind(
        lambda folder, number: save_setting(
            folder / "config.toml", f"keys.command{number}", f"f{number}"
        ),
        lambda folder: [
            int(key[1:]) for key in load_config(folder / "config.toml").keys.values()
        ],
    ),
}
# Journals; damage of the store has tests of its own
_DAMAGED = ["memory", "summaries and facts"]
# A memory is written by one process at a time
_SHARED = [name for name in KINDS if name != "memory"]


def damage_rows(folder: Path) -> Iterator[tuple[str, ...]]:
    """For each kind: bytes cut and flipped one after another.

    Records lost beside the one hit, and doubled.
    """
    for name in _DAMAGED:
        own = folder / name
        own.mkdir()
        for number in range(_RECORDS):
            KINDS[name].write(own, number)
        yield f"{name}: cut, and flipped, at every byte", *_damaged(KINDS[name], own)


def _damaged(kind: Kind, folder: Path) -> tuple[str, ...]:
    (file,) = (path for path in folder.iterdir() if path.is_file())
    whole = file.read_bytes()
    lines = whole.splitlines(keepends=True)
    cases = lost = doubled = 0

    def check(data: bytes, expected: set[int]) -> None:
        nonlocal cases, lost, doubled
        file.write_bytes(data)
        before = set(kind.numbers(folder))
        kind.write(folder, _RECORDS)
        after = list(kind.numbers(folder))
        cases += 1
        lost += len(expected - before) + len((before | {_RECORDS}) - set(after))
        doubled += len(after) - len(set(after))
        for left in folder.glob("*.damaged"):
            left.unlink()

    numbers_without = {}
    for index in range(len(lines)):
        file.write_bytes(b"".join((*lines[:index], *lines[index + 1 :])))
        numbers_without[index] = set(kind.numbers(folder))
    at = 0
    for index, line in enumerate(lines):
        file.write_bytes(b"".join(lines[:index]))
        numbers_before = set(kind.numbers(folder))
        for position in range(at, at + len(line)):
            flipped = whole[position] ^ (1 << position % 8)
            check(
                whole[:position] + bytes([flipped]) + whole[position + 1 :],
                numbers_without[index],
            )
            check(whole[:position], numbers_before)
        at += len(line)
    return str(cases), str(lost), str(doubled), "0"


def shared_rows(folder: Path) -> Iterator[tuple[str, ...]]:
    """For each kind: records that two processes write at once.

    A third process, which is killed, loses none.
    """
    for name in _SHARED:
        own = folder / name
        own.mkdir()
        yield f"{name}: two processes write, a third is killed", *_shared(name, own)


def _shared(name: str, folder: Path) -> tuple[str, ...]:
    writers = [_writer(name, folder, first) for first in (0, _WRITTEN)]
    killed = _writer(name, folder, 2 * _WRITTEN)
    assert killed.stdout is not None
    output = [
        killed.stdout.readline()
        for _ in range(random.Random(name).randrange(1, _WRITTEN // 2))
    ]
    killed.send_signal(signal.SIGKILL)
    output += killed.communicate()[0].split()
    acknowledged = set(map(int, output))
    for process in writers:
        process.communicate()
        assert process.returncode == 0, name
    numbers = list(KINDS[name].numbers(folder))
    lost = {*range(2 * _WRITTEN), *acknowledged} - set(numbers)
    return (
        str(2 * _WRITTEN + len(acknowledged)),
        str(len(lost)),
        str(len(numbers) - len(set(numbers))),
        "0",
    )


def _writer(name: str, folder: Path, first: int) -> "subprocess.Popen[str]":
    command = [
        sys.executable,
        "-m",
        "tests.reliability.records",
        name,
        str(folder),
        str(first),
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _write(name: str, folder: Path, first: int) -> None:
    """Write records, saying the number of each that has been written."""
    for number in range(first, first + _WRITTEN):
        KINDS[name].write(folder, number)
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()
        time.sleep(0.001)


if __name__ == "__main__":
    _write(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
