"""Packs a memory into one file to share: gists and derived records, each validated on import.

The file is gzip over lines of JSON: a manifest with the SHA-256 of all lines after it, then for each memory its header,
its pages and its derived records. It identifies the book by the hash of its text. It has no path and no personal data:
no marks, questions or times.
"""

import gzip
import hashlib
import io
import re
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, dataclass, field

import orjson

from gistread.errors import StorageError
from gistread.journal import Record
from gistread.memory.focus import MAX_TASK_CHARACTERS, focus_from_record, focus_record
from gistread.memory.model import Gist, GistSource, MemoryEntry, Page, Pauses, ReadingMode
from gistread.memory.writer import page_record
from gistread.presets import MAX_ENTRY_CHARACTERS

FILE_SUFFIX = ".gistmemory"
LIMIT_BYTES = 64 * 2**20  # Unpacked; War and Peace takes 1 MB
_FORMAT = "gistread memory file"
_VERSION = 1
_MOST_RECORDS = 200_000
_MOST_CHARACTERS = 20_000  # In one text of the file, such as a gist
_MOST_WORDS = 100_000  # On a page
_HASH = re.compile(r"[0-9a-f]{64}")
_KEY = re.compile(r"[0-9a-f]{32}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NAME_CHARACTERS = 300
_FOLDERS = re.compile(r"^(?:[A-Za-z]:|~|[/\\]).*[/\\](?=.)")  # Folders in a model's name, if a server reports its path


@dataclass(slots=True)
class SharedMemory:
    """One memory of the file; a series has one for each volume."""

    header: Record  # As in the journal of a memory
    characters: int  # Length of the book's text
    pages: list[Record] = field(default_factory=list)
    derived: list[Record] = field(default_factory=list)

    @property
    def book(self) -> str:
        """SHA-256 of the book's text."""
        return str(self.header["book"])

    @property
    def title(self) -> str:
        return str(self.header["title"])


def pack(memories: Iterable[SharedMemory]) -> bytes:
    """Pack memories into a file, without personal data and without records that `unpack` would refuse."""
    lines: list[Record] = []
    for one in memories:
        names = {"title": _plain(one.title), "model": _plain(_FOLDERS.sub("", str(one.header["model"])))}
        lines.append({"memory": one.header | names, "characters": one.characters})
        lines += ({"page": page} for page in one.pages)
        lines += ({"derived": record} for record in one.derived if _is_shared(record))
    body = b"".join(orjson.dumps(line) + b"\n" for line in lines)
    manifest = {"format": _FORMAT, "version": _VERSION, "sha256": hashlib.sha256(body).hexdigest()}
    return gzip.compress(orjson.dumps(manifest) + b"\n" + body, mtime=0)


def unpack(data: bytes) -> list[SharedMemory]:
    """Read the memories of a file and validate every value. Raises StorageError."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            unpacked = file.read(LIMIT_BYTES + 1)
    except (OSError, EOFError, zlib.error):
        raise _damaged() from None
    if len(unpacked) > LIMIT_BYTES:
        raise StorageError(f"The memory file unpacks to more than {LIMIT_BYTES // 2**20} MiB; it is not imported.")
    manifest, _, body = unpacked.partition(b"\n")
    match _parse(manifest):
        case {"format": str(name), "version": int(version)} if name == _FORMAT and version > _VERSION:
            message = (
                f"A later version of gistread made this memory file (format {version}; this one reads {_VERSION})."
            )
            raise StorageError(message, "Update gistread.")
        case {"format": str(name), "version": int(version), "sha256": str(digest)} if (name, version) == (
            _FORMAT,
            _VERSION,
        ) and digest == hashlib.sha256(body).hexdigest():
            return _memories(body)
    raise _damaged()


def _plain(name: str) -> str:
    return _CONTROL.sub(" ", name)[:_NAME_CHARACTERS]


def _is_plain(text: str, most: int = _NAME_CHARACTERS) -> bool:
    return len(text) <= most and not _CONTROL.search(text)


def _damaged() -> StorageError:
    return StorageError("This is no memory file, or it is damaged.", "Ask for the file again.")


def _memories(body: bytes) -> list[SharedMemory]:
    if not body.endswith(b"\n") or body.count(b"\n") > _MOST_RECORDS:
        raise _damaged()
    found: list[SharedMemory] = []
    for line in body[:-1].split(b"\n"):
        match _parse(line):
            case {"memory": dict(header), "characters": int(characters)} if characters > 0:
                found.append(SharedMemory(_checked_header(header), characters))
            case {"page": dict(page)} if found:
                found[-1].pages.append(_checked_page(page, found[-1]))
            case {"derived": dict(record)} if found and _is_shared(record):
                found[-1].derived.append({name: record[name] for name in ("kind", "key", "record")})
            case _:
                raise _damaged()
    if not found or not all(one.pages for one in found):
        raise _damaged()
    return found


def _parse(line: bytes) -> object:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        raise _damaged() from None


def _checked_header(found: Mapping[str, object]) -> Record:
    match found:
        case {
            "format": "gistread memory",
            "version": 1,
            "book": str(book),
            "title": str(title),
            "model": str(model),
            "fingerprint": str(fingerprint),
            "min_words": int(least),
            "max_words": int(most),
            "prompts": str(prompts),
            "reading": str(reading),
        } if (
            _HASH.fullmatch(book)
            and all(map(_is_plain, (title, model, fingerprint, prompts)))
            and 0 < least <= most <= _MOST_WORDS
            and reading in set(ReadingMode)
            and found.get("pauses", Pauses.UNIFORM.value) == Pauses.UNIFORM.value
            and found.get("guarded", False) is False
        ):
            try:
                focus = focus_from_record(dict(found))
            except ValueError:
                raise _damaged() from None
            preset = astuple(focus.preset)
            if _is_plain(focus.task, MAX_TASK_CHARACTERS) and all(
                _is_plain(text, MAX_ENTRY_CHARACTERS) for text in preset
            ):
                return {name: found[name] for name in _HEADER_FIELDS if name in found} | focus_record(focus)
    raise _damaged()


_HEADER_FIELDS = (
    *("format", "version", "book", "title", "model", "fingerprint", "min_words", "max_words", "prompts", "reading"),
    *("pauses", "guarded"),  # Left out where they have their defaults
)


def _checked_page(found: Mapping[str, object], memory: SharedMemory) -> Record:
    """A page that begins where the last one ends."""
    expected = memory.pages[-1]["end"] if memory.pages else 0
    match found:
        case {"start": int(start), "end": int(end), "words": int(words), "gist": str(gist), "source": str(source)} if (
            start == expected
            and start < end <= memory.characters
            and 0 <= words <= end - start
            and 0 < len(gist.strip()) <= len(gist) <= _MOST_CHARACTERS
            and source in set(GistSource)
        ):
            page = Page(0, start, end, words)  # Without times, which another machine measured
            return page_record(MemoryEntry(page, Gist(gist, 0, GistSource(source))))
    raise _damaged()


def _is_text(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _MOST_CHARACTERS


def _is_summary(record: Mapping[str, object]) -> bool:
    match record:
        case {"text": str(text), "source": str(source)} if len(record) == 2:
            return _is_text(text) and source in set(GistSource)
    return False


def _are_facts(record: Mapping[str, object]) -> bool:
    match record:
        case {"facts": list(facts)} if len(record) == 1:
            return all(map(_is_fact, facts))
    return False


def _is_fact(fact: object) -> bool:
    match fact:
        case [str(text), list(elements)]:
            return all(map(_is_text, (text, *elements)))
    return False


def _is_page_end(record: Mapping[str, object]) -> bool:
    match record:
        case {"length": int(length)} if len(record) == 1:
            return length > 0
    return False


# Validators by kind of derived record. Vectors are not shared: they are large and quickly rebuilt.
_SHARED_KINDS: Mapping[str, Callable[[Mapping[str, object]], bool]] = {
    "summary": _is_summary,
    "facts": _are_facts,
    "page": _is_page_end,
}


def _is_shared(found: Mapping[str, object]) -> bool:
    match found:
        case {"kind": str(kind), "key": str(key), "record": dict(record)} if kind in _SHARED_KINDS:
            return bool(_KEY.fullmatch(key)) and _SHARED_KINDS[kind](record)
    return False
