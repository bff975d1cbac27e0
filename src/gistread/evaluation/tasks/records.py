"""Reads the files of benchmarks record by record: JSON lines, JSON documents, CSV. Errors name file and line."""

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import orjson

from gistread.book.formats.encoding import decode
from gistread.errors import GistreadError

T = TypeVar("T")

_HEAD_BYTES = 4
_PACKED = {b"PK\x03\x04": "a zip archive", b"\x1f\x8b": "compressed with gzip", b"7z\xbc\xaf": "a 7z archive"}
_KINDS: Mapping[type, str] = {
    **{str: "a text", int: "a whole number", bool: "true or false"},
    **{list: "a list", dict: "an object"},
}
_HINT = "`gistread eval list` says what the file of each task looks like, and where to get it."
_LONGEST_FIELD = 1 << 24  # Limit for the csv module: a field may hold a whole story


@dataclass(frozen=True, slots=True)
class Record:
    fields: Mapping[str, Any]
    where: str  # For messages: `dev.jsonl, line 3`

    def __contains__(self, name: str) -> bool:
        return self.fields.get(name) is not None

    def text(self, name: str, *others: str) -> str:
        """The text of the first of these fields that exists. It may be empty."""
        return self._value(next((each for each in (name, *others) if each in self), name), str)

    def text_or_empty(self, name: str) -> str:
        return self.text(name) if name in self else ""

    def label(self, name: str, *others: str) -> str:
        """An identifier, in some files a number."""
        for each in (name, *others):
            value = self.fields.get(each)
            if isinstance(value, int) and not isinstance(value, bool):
                return str(value)
        return self.text(name, *others)

    def label_or(self, default: str, *names: str) -> str:
        return next((self.label(name) for name in names if name in self), default)

    def number(self, name: str) -> int:
        """A whole number, in some files a text."""
        number = whole_number(self._value(name, object))
        if number is None:
            raise self.wrong(f"`{name}` is not {_KINDS[int]}")
        return number

    def flag(self, name: str, default: bool) -> bool:
        return self._value(name, bool) if name in self else default

    def items(self, name: str) -> list[Any]:
        return self._value(name, list)

    def texts(self, name: str) -> tuple[str, ...]:
        items = self.items(name)
        if not all(isinstance(item, str) for item in items):
            raise self.wrong(f"`{name}` is not a list of texts")
        return tuple(items)

    def records(self, name: str) -> Iterator["Record"]:
        for number, item in enumerate(self.items(name), 1):
            yield _record(item, f"{self.where}, `{name}` {number}")

    def record(self, name: str) -> "Record":
        return Record(self._value(name, dict), f"{self.where}, `{name}`")

    def lacks(self, name: str, kind: str) -> GistreadError:
        """The error for a missing field; lists the existing fields."""
        there = ", ".join(f"`{key}`" for key in [key for key in self.fields if key in self][:8]) or "empty"
        return self.wrong(f"`{name}` is missing ({kind}); the fields are {there}")

    def wrong(self, what: str) -> GistreadError:
        return task_error(f"{self.where}: {what}")

    def _value(self, name: str, kind: type[T]) -> T:
        if name not in self:
            raise self.lacks(name, _KINDS[int if kind is object else kind])
        value = self.fields[name]
        if not isinstance(value, kind):
            raise self.wrong(f"`{name}` is not {_KINDS[kind]}")
        return value


def task_error(what: str) -> GistreadError:
    return GistreadError(f"{what}.", _HINT)


def whole_number(value: object) -> int | None:
    """`value` as a whole number, also from a text or float; else None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value.strip().removeprefix("-").isdecimal():
        return int(value)
    return None


def unique_namer() -> Callable[[str], str]:
    """A function that numbers repeated identifiers: some files repeat them."""
    seen: Counter[str] = Counter()

    def named(id_: str) -> str:
        seen[id_] += 1
        return id_ if seen[id_] == 1 else f"{id_} ({seen[id_]})"

    return named


def distinct(ids: Iterable[str]) -> list[str]:
    return list(map(unique_namer(), ids))


def references(answers: Iterable[str]) -> tuple[str, ...]:
    """Right answers, stripped, without empty ones and repetitions."""
    stripped = (" ".join(answer.split()) for answer in answers)
    return tuple(dict.fromkeys(filter(None, stripped)))


def json_records(path: Path) -> Iterator[Record]:
    """The objects of a file or folder: one a line, a JSON list, or one object. Raises GistreadError."""
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix.lower() in (".json", ".jsonl"))
        if not files:
            raise task_error(f"{path} is a folder without a .json or .jsonl file")
        for file in files:
            yield from json_records(file)
        return
    _refuse_other(path)
    try:
        with path.open("rb") as stream:
            seen = False
            for number, line in enumerate(stream, 1):
                text = line.removeprefix(b"\xef\xbb\xbf").strip()
                if not text:
                    continue
                if not seen and not _is_whole(text):
                    yield from _document_records(path)
                    return
                seen = True
                yield _line_record(path, number, text)
    except OSError as error:
        raise _unreadable(path, error) from error
    if not seen:
        raise task_error(f"{path} is empty")


def json_document(path: Path) -> Record:
    _refuse_other(path)
    document = _parse_document(path)
    if not isinstance(document, dict):
        raise task_error(f"{path} is not one JSON object")
    return Record(document, path.name)


def table_records(path: Path) -> list[Record]:
    """The rows of a CSV file with a heading, without empty fields."""
    _refuse_other(path)
    before = csv.field_size_limit(_LONGEST_FIELD)
    line = 0
    found = []
    try:
        decoded = decode(path.read_bytes())
        if decoded is None:
            raise task_error(f"{path} is not text")
        rows = csv.DictReader(io.StringIO(decoded.text, newline=""), strict=True)
        for row in rows:
            line = rows.line_num
            if None in row:
                raise task_error(f"{path.name}, line {line}: more fields than in the heading")
            if fields := {key: value for key, value in row.items() if value}:
                found.append(Record(fields, f"{path.name}, line {line}"))
    except OSError as error:
        raise _unreadable(path, error) from error
    except csv.Error as error:
        raise task_error(f"{path.name}, after line {line}: invalid CSV ({error})") from error
    finally:
        csv.field_size_limit(before)
    if not found:
        raise task_error(f"{path} has no rows")
    return found


def _is_whole(text: bytes) -> bool:
    if not text.startswith(b"{"):
        return False
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def _line_record(path: Path, number: int, text: bytes) -> Record:
    where = f"{path.name}, line {number}"
    try:
        fields = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise task_error(f"{where}: not JSON ({str(error).partition(':')[0]})") from error
    if not isinstance(fields, dict):
        raise task_error(f"{where}: not a JSON object")
    return Record(fields, where)


def _document_records(path: Path) -> Iterator[Record]:
    document = _parse_document(path)
    if isinstance(document, dict):
        yield Record(document, path.name)
        return
    if not document:
        raise task_error(f"{path} holds an empty list")
    for number, item in enumerate(document, 1):
        yield _record(item, f"{path.name}, entry {number}")


def _record(item: object, where: str) -> Record:
    if not isinstance(item, dict):
        raise task_error(f"{where}: not an object")
    return Record(item, where)


def _parse_document(path: Path) -> dict[str, Any] | list[Any]:
    try:
        # Unlike orjson, this reports the line of an error.
        document = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise _unreadable(path, error) from error
    except UnicodeDecodeError as error:
        raise task_error(f"{path} is not UTF-8 text") from error
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            raise task_error(f"{path} is not one JSON document: line {error.lineno} has more") from error
        raise task_error(f"{path.name}, line {error.lineno}: not JSON ({error.msg})") from error
    if not isinstance(document, (dict, list)):
        raise task_error(f"{path} is neither a JSON object nor a list of them")
    return document


def _refuse_other(path: Path) -> None:
    if not path.exists():
        raise task_error(f"No such file: {path}")
    if path.is_dir():
        raise task_error(f"{path} is a folder; name the file in it")
    if not path.is_file():
        raise task_error(f"{path} is a pipe or a device, not a file")
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD_BYTES)
    except OSError as error:
        raise _unreadable(path, error) from error
    for magic, name in _PACKED.items():
        if head.startswith(magic):
            raise GistreadError(f"{path} is {name}.", "Unpack it and give the file inside.")


def _unreadable(path: Path, error: OSError) -> GistreadError:
    return GistreadError(f"{path} cannot be read: {error.strerror or error}.")
