"""Saves the results of model checks by fingerprint. The result of the starter is shipped."""

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
    """What a model can do."""

    answers: bool  # It answers questions from what it reads
    abstains: bool  # It says so if the text does not answer
    line: str  # For people, such as `answers questions; gists in its own words`
    chooses: bool = True  # It can name one of several options by its letter
    is_usable: bool = True
    # Questions about a text: how many were asked and answered rightly
    right: int = 0
    asked: int = 0
    # Questions that the text does not answer: how many were asked, and noticed to be such
    refused: int = 0
    unanswerable: int = 0
    ends_turns: bool = True  # It ends its turns, without text of its chat template
    # Passages to gist: how many there were, and whose gists passed the guard
    gists: int = 0
    passages: int = 0
    faults: tuple[str, ...] = ()  # Distinct faults of the other gists
    seconds: float = 0.0  # Duration of the check

    @property
    def verdict(self) -> str:
        """The part of `line` about answers: `answers questions`."""
        verdict, _, _ = self.line.partition(";")
        return verdict


@cache
def _shipped() -> tuple[str, CheckResult | None]:
    """Fingerprint and result of the starter with its adapter, from `research.training.check`."""
    entry = orjson.loads(SHIPPED.read_bytes())
    verdict = to_json({"format": FORMAT, **entry["verdict"]})
    return entry["fingerprint"], _result(verdict)


class CheckResults(Database):
    """The saved results. They are read on every access: another process may have written one."""

    def __init__(self, paths: Paths, library: str) -> None:
        """`library` is the version of the engine; results of other versions are ignored."""
        super().__init__(paths)
        self._library = library

    def get(self, fingerprint: str) -> CheckResult | None:
        """The saved result for a model, else the shipped one; None if it was not checked."""
        for row in self._rows():
            if row["fingerprint"] == fingerprint:
                saved = _result(row["verdict"])
                if saved:
                    return saved
        shipped_fingerprint, shipped = _shipped()
        if fingerprint != shipped_fingerprint:
            return None
        return shipped

    def by_file(self) -> Callable[[Path], CheckResult | None]:
        """A function that gives the result for a model's file.

        It returns None if the file was not checked or has changed since.
        """
        known: dict[_FileState, CheckResult | None] = {}
        for row in self._rows():
            state = _FileState(row["path"], row["size"], row["modified_ns"])
            known[state] = _result(row["verdict"])

        def result_of(path: Path) -> CheckResult | None:
            return known.get(_state_of(path)) if known else None

        return result_of

    def save(self, fingerprint: str, path: Path | None, verdict: CheckResult) -> None:
        key = {"fingerprint": fingerprint, "library": self._library}
        values = {
            **asdict(_state_of(path)),
            "verdict": to_json({"format": FORMAT, **asdict(verdict)}),
        }
        with contextlib.suppress(StorageError):
            self.put_row("checks", key, values)

    def _rows(self) -> list[Row]:
        """The results of this version of llama.cpp's bindings.

        Another version may run a model differently, or not at all.
        """
        with contextlib.suppress(StorageError):
            return self.rows("SELECT * FROM checks WHERE library = ?", self._library)
        return []


@dataclass(frozen=True, slots=True)
class _FileState:
    """Shows whether a file has changed. Empty if it cannot be read."""

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
    """The result from its JSON; None for another format."""
    facts = from_json(verdict)
    if facts.get("format") != FORMAT:
        return None
    return decoded(CheckResult, facts)
