"""Saves the results of model checks by fingerprint; the starter's is shipped."""

import contextlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import orjson

from gistread.errors import StorageError
from gistread.paths import Paths
from gistread.store.database import Database
from gistread.store.rows import Row, decoded, from_json, to_json

FORMAT = 5
SHIPPED = Path(__file__).with_name("starter_check.json")


@dataclass(frozen=True, slots=True)
class CheckResult:
    answers: bool  # It answers questions by what it reads
    abstains: bool  # It says so if the text does not answer
    line: str  # For people, such as `answers questions; gists in its own words`
    chooses: bool = True  # It can name one of several options by its letter
    is_usable: bool = True
    right: int = 0  # Questions about a text answered rightly, of `asked`
    asked: int = 0
    # Questions that the text does not answer, noticed of `unanswerable`
    refused: int = 0
    unanswerable: int = 0
    ends_turns: bool = True  # It ends its turns, without text of its chat template
    gists: int = 0  # Gists that passed the guard, of `passages`
    passages: int = 0
    faults: tuple[str, ...] = ()  # Distinct faults of the others
    seconds: float = 0.0  # Duration of the check


@cache
def _shipped() -> tuple[str, CheckResult | None]:
    """Fingerprint and result of the starter with its adapter, from `research.training.check`."""
    entry = orjson.loads(SHIPPED.read_bytes())
    return entry["fingerprint"], _result(
        to_json({"format": FORMAT, **entry["verdict"]})
    )


class CheckResults(Database):
    """The saved results. Read on every access, since another process may have written one."""

    def __init__(self, paths: Paths, library: str) -> None:
        """`library` is the version of the engine; results of other versions are ignored."""
        super().__init__(paths)
        self._library = library

    def get(self, fingerprint: str) -> CheckResult | None:
        rows = (row for row in self._rows() if row["fingerprint"] == fingerprint)
        saved = next((_result(row["verdict"]) for row in rows), None)
        if saved:
            return saved
        shipped_fingerprint, shipped = _shipped()
        if fingerprint != shipped_fingerprint:
            return None
        return shipped

    def by_file(self) -> Callable[[Path], CheckResult | None]:
        """A function that gives the result for a model's file.

        None if it was not checked or has changed since.
        """
        known = {
            _FileState(row["path"], row["size"], row["modified_ns"]): _result(
                row["verdict"]
            )
            for row in self._rows()
        }
        return lambda path: known.get(_state_of(path)) if known else None

    def save(self, fingerprint: str, path: Path | None, verdict: CheckResult) -> None:
        values = {
            **asdict(_state_of(path)),
            "verdict": to_json({"format": FORMAT, **asdict(verdict)}),
        }
        with contextlib.suppress(StorageError):
            self.put_row(
                "checks", {"fingerprint": fingerprint, "library": self._library}, values
            )

    def _rows(self) -> list[Row]:
        """Another version of llama.cpp's bindings may run a model differently, or not at all."""
        with contextlib.suppress(StorageError):
            return self.rows("SELECT * FROM checks WHERE library = ?", self._library)
        return []


@dataclass(frozen=True, slots=True)
class _FileState:
    """What tells whether a file has changed; empty if it cannot be read."""

    path: str = ""
    size: int = 0
    modified_ns: int = 0


def _state_of(path: Path | None) -> _FileState:
    if path is None:
        return _FileState()
    try:
        real = path.resolve()
        status = real.stat()
    except (OSError, RuntimeError):
        return _FileState()
    return _FileState(str(real), status.st_size, status.st_mtime_ns)


def _result(verdict: str) -> CheckResult | None:
    facts = from_json(verdict)
    if facts.get("format") != FORMAT:
        return None
    return decoded(CheckResult, facts)
