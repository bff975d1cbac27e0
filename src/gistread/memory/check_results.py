"""Saves the results of model checks by fingerprint, in one JSON file in the cache; the starter's is shipped."""

import contextlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from gistread.atomic_write import make_folder, replace_file

FORMAT = 3
RIGHT = 0.75  # Share of right choices (a third by chance) and answers (half) of a model that passes
SHIPPED = Path(__file__).with_name("starter_check.json")
_MAX_ENTRIES = 200  # The oldest are dropped first


class Worth(StrEnum):
    """How well a model is suited to reading books."""

    READING = "reading"  # Its gists pass the guard, and it chooses by what it has read
    SOME = "some"  # Only some of its gists pass the guard, or its choices are unreliable
    EXTRACTIVE = "extractive"  # Most of its gists are rejected and replaced by sentences of the pages
    NONE = "none"  # It cannot be used


@dataclass(frozen=True, slots=True)
class CheckResult:
    worth: Worth
    line: str  # For people, such as `good for reading` or `cannot be used: it writes nothing`
    chosen: int = 0  # Right choices, of `choices`
    choices: int = 0
    by_place: bool = False  # It chose by the position of the option
    by_words: int = 0  # Right choices by the likelihood of an option's words; tried only if letters failed
    answered: int = 0  # Questions answered if and only if the text has the answer, of `questions`
    questions: int = 0
    ends_turns: bool = True  # It ends its turns, without text of its chat template
    gists: int = 0  # Gists that passed the guard, of `passages`
    passages: int = 0
    faults: tuple[str, ...] = ()  # Distinct faults of the others
    seconds: float = 0.0  # Duration of the check

    @property
    def is_reliable(self) -> bool:
        """Whether the model chooses by what it has read."""
        return self.chosen >= RIGHT * self.choices

    @property
    def knows_absence(self) -> bool:
        """Whether its "the book does not say" is reliable."""
        return bool(self.questions) and self.answered >= RIGHT * self.questions


_Entry = dict[str, Any]


@cache
def _shipped() -> _Entry:
    """The packaged result of the starter with its adapter, written by `python -m training.check`."""
    entry: _Entry = orjson.loads(SHIPPED.read_bytes())
    return entry


class CheckResults:
    """The file of results. Read on every access, since another process may have written it."""

    def __init__(self, path: Path, library: str) -> None:
        """`library` is the version of the engine; results of other versions are ignored."""
        self._path = path
        self._library = library

    def get(self, fingerprint: str) -> CheckResult | None:
        saved = next((_result(entry) for entry in self._read() if self._is_for(entry, fingerprint)), None)
        return saved or (_result(_shipped()) if fingerprint == _shipped()["fingerprint"] else None)

    def by_file(self) -> Callable[[Path], CheckResult | None]:
        """A function that gives the result for a model's file; None if it was not checked or has changed since."""
        known = {(e["path"], e["size"], e["modified_ns"]): e for e in self._read() if e["library"] == self._library}
        return lambda path: _result(known.get(_file_of(path), {})) if known else None

    def save(self, fingerprint: str, path: Path | None, verdict: CheckResult) -> None:
        file = dict(zip(("path", "size", "modified_ns"), _file_of(path), strict=True))
        entry = {"fingerprint": fingerprint, "library": self._library, **file, "verdict": asdict(verdict)}
        entries = [*(other for other in self._read() if not self._is_for(other, fingerprint)), entry]
        document = {"format": FORMAT, "entries": entries[-_MAX_ENTRIES:]}
        with contextlib.suppress(OSError):
            make_folder(self._path.parent)
            replace_file(self._path, orjson.dumps(document, option=orjson.OPT_INDENT_2))

    def _is_for(self, entry: _Entry, fingerprint: str) -> bool:
        return (entry["fingerprint"], entry["library"]) == (fingerprint, self._library)

    def _read(self) -> list[_Entry]:
        """The valid entries. Another version of llama.cpp's bindings may run a model differently, or not at all."""
        try:
            document = orjson.loads(self._path.read_bytes())
            entries = list(document["entries"]) if document["format"] == FORMAT else []
        except (OSError, ValueError, TypeError, KeyError):
            return []
        return [entry for entry in entries if isinstance(entry, dict) and _is_valid(entry)]


def _file_of(path: Path | None) -> tuple[str, int, int]:
    if path is None:
        return "", 0, 0
    try:
        real = path.resolve()
        state = real.stat()
    except (OSError, RuntimeError):
        return "", 0, 0
    return str(real), state.st_size, state.st_mtime_ns


def _is_valid(entry: _Entry) -> bool:
    texts = all(isinstance(entry.get(name), str) for name in ("fingerprint", "library", "path"))
    return texts and all(isinstance(entry.get(name), int) for name in ("size", "modified_ns")) and bool(_result(entry))


def _result(entry: _Entry) -> CheckResult | None:
    try:
        told = entry["verdict"]
        found = CheckResult(**{**told, "worth": Worth(told["worth"]), "faults": tuple(map(str, told["faults"]))})
    except (ValueError, TypeError, KeyError):
        return None
    counts = (found.chosen, found.choices, found.answered, found.questions, found.gists, found.passages)
    return found if isinstance(found.line, str) and all(isinstance(count, int) for count in counts) else None
