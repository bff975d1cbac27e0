"""The outcomes of a run: one JSON object a line, each synced; a torn last line is dropped."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self, TypeVar

import orjson

from gistread.engine.protocol import Usage
from gistread.errors import StorageError
from gistread.store.journal import append_whole, try_lock
from research.evaluation.model import Outcome, Question

FILE_NAME = "outcomes.jsonl"

Key = tuple[str, str, str]  # Document, question, reader

Json = dict[str, Any]
T = TypeVar("T", Question, Outcome)


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    question: Question
    outcome: Outcome

    @property
    def key(self) -> Key:
        return self.outcome.document, self.outcome.question, self.outcome.reader


def to_json(answered: AnsweredQuestion) -> Json:
    question = asdict(answered.question)
    outcome = asdict(answered.outcome)
    # The outcome has both under other names.
    del question["id"], question["text"]
    usage = outcome.pop("usage")
    return {
        **outcome,
        **question,
        "scores": dict(answered.outcome.scores),
        "compression_rate": round(answered.outcome.compression_rate, 3),
        "prefilled": usage["prefilled"],
        "reused": usage["reused"],
        "generated": usage["generated"],
        "engine_seconds": round(usage["seconds"], 3),
        "seconds": round(answered.outcome.seconds, 3),
    }


def from_json(line: Json) -> AnsweredQuestion:
    """Parse an object from `to_json`. Raises KeyError, TypeError or ValueError."""
    # Older files lack these.
    values = {"quotes_hold": None, "unsupported": None, **line}
    if "found" in values:
        values["has_answer"] = values["found"]  # Its name in older files.
    values["id"] = values["question"]
    values["usage"] = Usage(
        prefilled=values["prefilled"],
        reused=values["reused"],
        generated=values["generated"],
        seconds=values["engine_seconds"],
    )
    values["scores"] = tuple(
        (str(name), float(score)) for name, score in values["scores"].items()
    )
    return AnsweredQuestion(_build(Question, values), _build(Outcome, values))


class OutcomeFile:
    """The file of a run, open for appending in one process at a time. Use as a context manager."""

    def __init__(self, path: Path) -> None:
        """Open or create the file and drop half a line at its end.

        Raises StorageError, also if another run writes.
        """
        self.path = path
        try:
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise _storage_error(path, error) from error
        try:
            if not try_lock(self._file):
                raise StorageError(
                    f"Another run is writing {path}.",
                    "Wait for it, or choose another --out.",
                )
            self.known, self._length = _read(path)
            os.ftruncate(self._file.fileno(), self._length)
        except OSError as error:
            self._file.close()
            raise _storage_error(path, error) from error
        except BaseException:
            self._file.close()
            raise

    def append(self, answered: AnsweredQuestion) -> None:
        """Write and sync. The file always ends with a whole line. Raises StorageError."""
        line = orjson.dumps(to_json(answered), option=orjson.OPT_APPEND_NEWLINE)
        try:
            append_whole(self._file, line, self._length)
        except OSError as error:
            raise _storage_error(self.path, error) from error
        self._length += len(line)
        self.known[answered.key] = answered

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()


def read_outcomes(path: Path) -> dict[Key, AnsweredQuestion]:
    """The outcomes of a run, which may be under way. Raises StorageError."""
    try:
        known, _ = _read(path)
    except OSError as error:
        raise _storage_error(path, error) from error
    return known


def _read(path: Path) -> tuple[dict[Key, AnsweredQuestion], int]:
    """The outcomes in a file, and the length of its whole lines. Raises StorageError, OSError."""
    known: dict[Key, AnsweredQuestion] = {}
    length = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                break
            length += len(line)
            try:
                answered = from_json(orjson.loads(line))
            except (
                orjson.JSONDecodeError,
                KeyError,
                TypeError,
                ValueError,
                AttributeError,
            ):
                raise StorageError(
                    f"{path}, line {number}: invalid outcome.",
                    "Remove the line to ask its question again.",
                ) from None
            known[answered.key] = answered
    return known, length


def _build(kind: type[T], values: Mapping[str, Any]) -> T:
    """A data class from values by the names of its fields. Raises KeyError."""
    members = {field.name: _to_tuples(values[field.name]) for field in fields(kind)}
    return kind(**members)


def _to_tuples(value: Any) -> Any:
    """The value with tuples in place of lists, at any depth."""
    if not isinstance(value, list):
        return value
    return tuple(map(_to_tuples, value))


def _storage_error(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"{path}: {error.strerror or error}.",
        "Free some space, then run the command again to resume.",
    )


def by_reader(
    outcomes: Iterable[AnsweredQuestion],
) -> dict[str, list[AnsweredQuestion]]:
    """The answers by the name of their reader."""
    readers: dict[str, list[AnsweredQuestion]] = {}
    for answered in outcomes:
        readers.setdefault(answered.outcome.reader, []).append(answered)
    return readers
