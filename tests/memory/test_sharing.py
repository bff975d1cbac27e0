"""Memory files: what is in them, and hostile ones."""

import gzip
import hashlib
import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gistread.errors import StorageError
from gistread.export_files import ExistsError
from gistread.memory import sharing
from gistread.memory.derived import DerivedRecords
from gistread.memory.model import PageSize
from gistread.memory.sharing import SharedMemory, pack, unpack
from gistread.memory.store import MemoryRequest, MemoryStore
from tests.memory.test_model import make_memory

KEY = "0" * 32
DERIVED = [
    {"kind": "summary", "key": KEY, "record": {"text": "All of it.", "source": "model"}},
    {"kind": "facts", "key": KEY, "record": {"facts": [["It burns.", ["lamp"]]]}},
    {"kind": "page", "key": KEY, "record": {"length": 7}},
]


@pytest.fixture
def shared(tmp_path: Path) -> SharedMemory:
    return share(tmp_path, "/home/me/models/fake")


def share(folder: Path, model: str) -> SharedMemory:
    """A memory of four pages with derived records, one of them private."""
    memory, store = make_memory(4), MemoryStore(folder / "mine")
    with store.open(memory.book, MemoryRequest(model, "f1", PageSize(50, 150))) as writer:
        for entry in memory.entries:
            writer.add(entry)
    (header,) = store.find(memory.book)
    derived = DerivedRecords(header.path.with_suffix(".derived"))
    for one in [*DERIVED, {"kind": "a question of mine", "key": KEY, "record": {"text": "Who?"}}]:
        derived.put(one["kind"], one["key"], one["record"])
    (shared,) = store.share(memory.book, header)
    return shared


def lines(data: bytes) -> list[Any]:
    return [json.loads(line) for line in gzip.decompress(data).splitlines()]


def seal(records: list[Any], **manifest: object) -> bytes:
    """A file of these lines with the right hash."""
    body = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    first = {"format": "gistread memory file", "version": 1, "sha256": hashlib.sha256(body).hexdigest(), **manifest}
    return gzip.compress(json.dumps(first).encode() + b"\n" + body)


def test_a_memory_goes_through_a_file_into_another_store(shared: SharedMemory, tmp_path: Path) -> None:
    (given_away,) = unpack(pack([shared]))
    store, book = MemoryStore(tmp_path / "theirs"), make_memory(4).book
    store.add_shared(given_away)
    (header,) = store.find(book)
    loaded = store.load(book, header)
    assert [(entry.page, entry.gist) for entry in loaded.entries] == [
        (entry.page, entry.gist) for entry in make_memory(4).entries
    ]
    assert loaded.derived.get("summary", KEY) == DERIVED[0]["record"]
    assert header.path.stat().st_mode & 0o077 == 0
    with pytest.raises(ExistsError, match="it has 4 pages, the file 4 pages"):
        store.add_shared(given_away)
    store.add_shared(given_away, force=True)
    assert len(store.find(book)) == 1


def test_the_file_holds_no_path_no_time_and_nothing_private(shared: SharedMemory) -> None:
    data = pack([shared])
    assert lines(data)[1]["memory"]["model"] == "fake"
    assert {line["derived"]["kind"] for line in lines(data) if "derived" in line} == {"summary", "facts", "page"}
    assert {tuple(line["page"]["usage"]) for line in lines(data) if "page" in line} == {(0, 0, 0, 0.0)}
    assert b"home" not in gzip.decompress(data)
    assert data[4:8] == b"\0\0\0\0"  # The time of gzip


def changed(change: Callable[[list[Any]], object]) -> Callable[[list[Any]], bytes]:
    def change_copy(records: list[Any]) -> bytes:
        records = deepcopy(records)
        change(records)
        return seal(records)

    return change_copy


HOSTILE: dict[str, Callable[[list[Any]], bytes]] = {
    "not gzip": lambda records: b"PK\x03\x04",
    "cut": lambda records: seal(records)[:-20],
    "another hash": lambda records: seal(records, sha256="0" * 64),
    "another format": lambda records: seal(records, format="zip"),
    "nothing in it": lambda records: seal([]),
    "no pages": lambda records: seal(records[:1]),
    "pages without a memory": lambda records: seal(records[1:]),
    "a path as the text": changed(lambda records: records[0]["memory"].update(book="../" * 20 + "etc/passwd.x")),
    "an escape in the title": changed(lambda records: records[0]["memory"].update(title="\x1b[2J")),
    "a long model name": changed(lambda records: records[0]["memory"].update(model="m" * 10_000)),
    "a long preset": changed(
        lambda records: records[0]["memory"].update(
            preset={"name": "p", "title": "t", "summary": "s", "keep": "k" * 5000, "ask": "a"}
        )
    ),
    "a task that is no text": changed(lambda records: records[0]["memory"].update(task=["x"])),
    "a page past the end": changed(lambda records: records[4]["page"].update(end=10**9)),
    "a gap": changed(lambda records: records.pop(2)),
    "an empty gist": changed(lambda records: records[2]["page"].update(gist=" ")),
    "a gist longer than a book": changed(lambda records: records[2]["page"].update(gist="x" * 10**6)),
    "an unknown derived record": changed(lambda records: records[5]["derived"].update(kind="vectors")),
    "facts of another shape": changed(
        lambda records: records.append({"derived": {"kind": "facts", "key": KEY, "record": {"facts": [[1]]}}})
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused(shared: SharedMemory, name: str) -> None:
    with pytest.raises(StorageError):
        unpack(HOSTILE[name](lines(pack([shared]))[1:]))


def test_a_file_of_a_later_version_says_so(shared: SharedMemory) -> None:
    with pytest.raises(StorageError, match="later version"):
        unpack(seal(lines(pack([shared]))[1:], version=2))


def test_a_bomb_is_unpacked_to_the_limit_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "LIMIT_BYTES", 2**20)
    with pytest.raises(StorageError, match="more than 1 MiB"):
        unpack(gzip.compress(bytes(2**22)))


WHOLE = list[Any]()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20) | st.just("model"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=5,
)


@given(place=st.integers(0, 8), value=JSON, data=st.data())
@settings(max_examples=50, deadline=None)
def test_a_changed_value_is_refused_or_loads(
    tmp_path_factory: pytest.TempPathFactory, place: int, value: object, data: st.DataObject
) -> None:
    """Any value anywhere: the file is refused, or its memory is stored inside its folder and can be loaded."""
    if not WHOLE:
        WHOLE.extend(lines(pack([share(tmp_path_factory.mktemp("shared"), "fake")]))[1:])
    records = deepcopy(WHOLE)
    kind = next(iter(records[place % len(records)]))
    target = records[place % len(records)][kind]
    target = target["record"] if kind == "derived" and data.draw(st.booleans()) else target
    target[data.draw(st.sampled_from(sorted(target)))] = value
    try:
        memories = unpack(seal(records))
    except StorageError:
        return
    folder = tmp_path_factory.mktemp("imported")
    store, book = MemoryStore(folder / "memories"), make_memory(4).book
    for memory in memories:
        store.add_shared(memory)
    assert [path.name for path in folder.iterdir()] == ["memories"]
    assert all(path.is_file() for path in (folder / "memories").iterdir())
    for header in store.find(book):
        store.load(book, header)


@given(st.binary(max_size=200))
@settings(max_examples=50, deadline=None)
def test_any_bytes_are_refused(data: bytes) -> None:
    for file in (data, gzip.compress(data)):
        with pytest.raises(StorageError):
            unpack(file)
