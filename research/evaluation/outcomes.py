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
    question, outcome = asdict(answered.question), asdict(answered.outcome)
    usage = outcome.pop("usage")
    return {
        **outcome,
        **{
            name: value
            for name, value in question.items()
            if name not in ("id", "text")
        },
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
    usage = Usage(
        *(
            values[name]
            for name in ("prefilled", "reused", "generated", "engine_seconds")
        )
    )
    scores = tuple(
        (str(name), float(score)) for name, score in values["scores"].items()
    )
    return AnsweredQuestion(
        _build(Question, values),
        _build(Outcome, {**values, "usage": usage, "scores": scores}),
    )


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
        return _read(path)[0]
    except OSError as error:
        raise _storage_error(path, error) from error


def _read(path: Path) -> tuple[dict[Key, AnsweredQuestion], int]:
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
    return kind(
        **{field.name: _to_tuples(values[field.name]) for field in fields(kind)}
    )


def _to_tuples(value: Any) -> Any:
    return tuple(map(_to_tuples, value)) if isinstance(value, list) else value


def _storage_error(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"{path}: {error.strerror or error}.",
        "Free some space, then run the command again to resume.",
    )


def by_reader(
    outcomes: Iterable[AnsweredQuestion],
) -> dict[str, list[AnsweredQuestion]]:
    readers: dict[str, list[AnsweredQuestion]] = {}
    for answered in outcomes:
        readers.setdefault(answered.outcome.reader, []).append(answered)
    return readers
