"""Reads the files of benchmarks record by record: JSON lines, JSON documents, CSV.

Errors name file and line.
"""

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from gistread.book.formats.encoding import decode
from gistread.errors import GistreadError

T = TypeVar("T")

_KINDS: Mapping[type, str] = {
    str: "a text",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}
_HINT = (
    "`python -m research.evaluation list` says what the file of each task looks like, and where "
    "to get it."
)
_LONGEST_FIELD = 1 << 24  # Limit for the csv module: a field may hold a whole story


@dataclass(frozen=True, slots=True)
class Record:
    fields: Mapping[str, Any]
    where: str  # For messages: `dev.jsonl, line 3`

    def __contains__(self, name: str) -> bool:
        return self.fields.get(name) is not None

    def text(self, name: str, *others: str) -> str:
        """The text of the first of these fields that exists. It may be empty."""
        return self._value(self._first_of(name, *others), str)

    def text_or_empty(self, name: str) -> str:
        return self.text(name) if name in self else ""

    def label(self, name: str, *others: str) -> str:
        """An identifier, in some files a number."""
        first = self._first_of(name, *others)
        value = self.fields.get(first)
        return str(value) if type(value) is int else self.text(first)

    def _first_of(self, name: str, *others: str) -> str:
        """The first of these fields that exists, else `name`."""
        for candidate in (name, *others):
            if candidate in self:
                return candidate
        return name

    def number(self, name: str) -> int:
        """A whole number, in some files a text."""
        number = whole_number(self.fields.get(name))
        if number is None:
            raise self.wrong(f"`{name}` is not a whole number")
        return number

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

    def wrong(self, problem: str) -> GistreadError:
        """The error for a problem in this record."""
        return task_error(f"{self.where}: {problem}")

    def _value(self, name: str, kind: type[T]) -> T:
        """A field of this type. Raises GistreadError."""
        value = self.fields.get(name)
        if not isinstance(value, kind):
            problem = "missing" if value is None else f"not {_KINDS[kind]}"
            raise self.wrong(f"`{name}` is {problem}")
        return value


def task_error(problem: str) -> GistreadError:
    """The error for a problem in a task's file."""
    return GistreadError(f"{problem}.", _HINT)


def whole_number(value: object) -> int | None:
    """`value` as a whole number, also from a text or float; else None."""
    if isinstance(value, str) and value.strip().removeprefix("-").isdecimal():
        return int(value)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return int(value) if value == int(value) else None


def unique_namer() -> Callable[[str], str]:
    """A function that numbers repeated identifiers: some files repeat them."""
    counts: Counter[str] = Counter()

    def unique(id_: str) -> str:
        counts[id_] += 1
        if counts[id_] == 1:
            return id_
        return f"{id_} ({counts[id_]})"

    return unique


def distinct(ids: Iterable[str]) -> list[str]:
    """The identifiers, with repeated ones numbered: `a`, `a (2)`."""
    return list(map(unique_namer(), ids))


def references(answers: Iterable[str]) -> tuple[str, ...]:
    """Right answers, stripped, without empty ones and repetitions."""
    stripped = (" ".join(answer.split()) for answer in answers)
    return tuple(dict.fromkeys(filter(None, stripped)))


def json_records(path: Path) -> Iterator[Record]:
    """The objects of a file or folder: one a line, a JSON list, or one object.

    Raises GistreadError.
    """
    if path.is_dir():
        for file in _json_files(path):
            yield from json_records(file)
        return
    text = _read(path)
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":  # More than one line is JSON of its own
            raise task_error(
                f"{path.name}, line {error.lineno}: not JSON ({error.msg})"
            ) from error
        yield from _line_records(path.name, text)
        return
    if document == []:
        raise task_error(f"{path} holds an empty list")
    if isinstance(document, list):
        for number, item in enumerate(document, 1):
            yield _record(item, f"{path.name}, entry {number}")
    else:
        is_one_line = "\n" not in text.strip()
        where = f"{path.name}, line 1" if is_one_line else path.name
        yield _record(document, where)


def _json_files(folder: Path) -> list[Path]:
    files = [
        file for file in folder.iterdir() if file.suffix.lower() in (".json", ".jsonl")
    ]
    if not files:
        raise task_error(f"{folder} is a folder without a .json or .jsonl file")
    return sorted(files)


def _line_records(name: str, text: str) -> Iterator[Record]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield _line_record(f"{name}, line {number}", line)


def table_records(path: Path) -> list[Record]:
    """The rows of a CSV file with a heading, without empty fields."""
    csv.field_size_limit(_LONGEST_FIELD)
    records = []
    rows = csv.DictReader(io.StringIO(_read(path), newline=""))
    for row in rows:
        where = f"{path.name}, line {rows.line_num}"
        if None in row:
            raise task_error(f"{where}: more fields than in the heading")
        fields = {key: value for key, value in row.items() if value}
        if fields:
            records.append(Record(fields, where))
    if not records:
        raise task_error(f"{path} has no rows")
    return records


def _line_record(where: str, line: str) -> Record:
    try:
        return _record(json.loads(line), where)
    except json.JSONDecodeError as error:
        raise task_error(f"{where}: not JSON ({error.msg})") from error


def _record(item: object, where: str) -> Record:
    if not isinstance(item, dict):
        raise task_error(f"{where}: not an object")
    return Record(item, where)


def _read(path: Path) -> str:
    """The text of a file, in any common encoding. Raises GistreadError."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise GistreadError(
            f"{path} cannot be read: {error.strerror or error}."
        ) from error
    decoded = None if b"\0" in data else decode(data)
    if decoded is None:
        raise GistreadError(
            f"{path} is not text.",
            "If it is packed, unpack it and give the file inside.",
        )
    if not decoded.text.strip():
        raise task_error(f"{path} is empty")
    return decoded.text
