"""What was found of models when they were tried, kept so that each is tried once on this machine.

One small JSON file in the cache. A convenience: what is missing, damaged or of another format is not there. A model is
known by its fingerprint; where its file lies, and how large it is, is kept beside it, so that a list of models need not
read weights to say what is known of them.
"""

import contextlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import orjson

from gistread.atomic_write import replace_file

FORMAT = 1
RIGHT = 0.75
"""Of the choices have to be right in a model that is_reliable; a third of them are by chance."""
_MOST_ENTRIES = 200
"""The oldest go first."""


class Worth(StrEnum):
    """What a model is good for."""

    READING = "reading"
    """Its gists are its own, and it chooses by what it read."""
    SOME = "some"
    """Some of its gists are its own, or it chooses by where an option stands."""
    EXTRACTIVE = "extractive"
    """Hardly any gist of its own is kept: sentences of the pages stand in their place."""
    NONE = "none"
    """It cannot be used."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What came of trying a model."""

    worth: Worth
    line: str
    """For people: `good for reading`, `cannot be used: it writes nothing`."""
    chosen: int = 0
    """Choices that were right, of `choices`."""
    choices: int = 0
    by_place: bool = False
    """Most were the option at one place, whatever it said."""
    ends_turns: bool = True
    """What it writes ends by itself, and nothing of its chat template stands in it."""
    gists: int = 0
    """That passed the guard, of `passages`."""
    passages: int = 0
    faults: tuple[str, ...] = ()
    """Of the others, each once."""
    seconds: float = 0.0
    """That it took to find out."""

    @property
    def is_reliable(self) -> bool:
        """Whether it chooses by what it has read."""
        return self.chosen >= RIGHT * self.choices


@dataclass(frozen=True, slots=True)
class _Entry:
    fingerprint: str
    library: str
    """Version of the engine: another may do other things with a model, or know it at all."""
    path: str
    size: int
    modified_ns: int
    verdict: CheckResult


class CheckResults:
    """The file. Read anew for every question: another process may have tried a model meanwhile."""

    def __init__(self, path: Path, library: str) -> None:
        """`library`: version of the engine in use. What was found with another is not told."""
        self._path = path
        self._library = library

    def get(self, fingerprint: str) -> CheckResult | None:
        """What is known of this model, if anything."""
        return next((entry.verdict for entry in self._read() if self._holds(entry, fingerprint)), None)

    def is_reliable(self, fingerprint: str) -> bool:
        """Whether this model chooses by what it has read. Of one that was not tried, that is supposed."""
        verdict = self.get(fingerprint)
        return verdict is None or verdict.is_reliable

    def by_file(self) -> "FileCheckResults":
        """What is known of every file, looked up without reading models."""
        known = {(e.path, e.size, e.modified_ns): e.verdict for e in self._read() if e.library == self._library}
        return FileCheckResults(known)

    def save(self, fingerprint: str, path: Path | None, verdict: CheckResult) -> None:
        """`path`: of the model's file, if it is one."""
        entry = _Entry(fingerprint, self._library, *_file_of(path), verdict)
        self._write([*(other for other in self._read() if not self._holds(other, fingerprint)), entry])

    def _holds(self, entry: _Entry, fingerprint: str) -> bool:
        return (entry.fingerprint, entry.library) == (fingerprint, self._library)

    def _read(self) -> list[_Entry]:
        try:
            document = orjson.loads(self._path.read_bytes())
            shapes = list(document["entries"]) if document["format"] == FORMAT else []
        except (OSError, ValueError, TypeError, KeyError):
            return []
        entries: list[_Entry] = []
        for shape in shapes:
            with contextlib.suppress(ValueError, TypeError, KeyError):
                entries.append(_entry(shape))
        return entries

    def _write(self, entries: list[_Entry]) -> None:
        document = {"format": FORMAT, "entries": [asdict(entry) for entry in entries[-_MOST_ENTRIES:]]}
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self._path, orjson.dumps(document, option=orjson.OPT_INDENT_2))


class FileCheckResults:
    """What is known, by file."""

    def __init__(self, known: Mapping[tuple[str, int, int], CheckResult]) -> None:
        self._known = known

    def get(self, path: Path) -> CheckResult | None:
        """None: it was not tried, or has changed since."""
        return self._known.get(_file_of(path)) if self._known else None


def _file_of(path: Path | None) -> tuple[str, int, int]:
    if path is None:
        return "", 0, 0
    try:
        real = path.resolve()
        state = real.stat()
    except (OSError, RuntimeError):
        return "", 0, 0
    return str(real), state.st_size, state.st_mtime_ns


def _entry(shape: Any) -> _Entry:
    """One entry of the file. Raises ValueError, TypeError or KeyError for what is none."""
    told = shape["verdict"]
    verdict = CheckResult(**{**told, "worth": Worth(told["worth"]), "faults": tuple(map(str, told["faults"]))})
    if not all(isinstance(count, int) for count in (verdict.chosen, verdict.choices, verdict.gists, verdict.passages)):
        raise TypeError
    texts = [shape[name] for name in ("fingerprint", "library", "path")]
    if not all(isinstance(text, str) for text in [*texts, verdict.line]):
        raise TypeError
    fingerprint, library, path = texts
    return _Entry(fingerprint, library, path, int(shape["size"]), int(shape["modified_ns"]), verdict)
