"""The catalogue of models that can be fetched: packaged entries and the person's own."""

import datetime
import difflib
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from importlib import resources
from pathlib import Path
from typing import Any, Literal, get_args

from gistread.errors import StorageError, UsageError

_PACKAGED = "catalogue.toml"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_REVISION = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*")
_FILE = re.compile(r"(?!.*(^|/)\.)[^\x00-\x1f\\?#:]+\.gguf", re.IGNORECASE)
_MODEL_HINT = "Each model is a table that begins with [[model]]."
_SHA256 = re.compile(r"[0-9a-f]{64}")

Kind = Literal["text", "embedding"]


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A model file on the hub. Unknown fields are empty or 0."""

    name: str  # For `models get`
    repository: str  # `owner/repository` on the hub
    file: str  # Path in the repository; the first of a model in several files
    good_for: str = ""
    kind: Kind = "text"  # `embedding`: for search by meaning
    revision: str = "main"  # Commit or branch of the repository
    licence: str = ""
    size_bytes: int = 0
    sha256: str = ""  # Hexadecimal digest of the file; empty: the hub's is used
    parameters: int = 0
    active_parameters: int = 0  # Parameters used per token in a mixture of experts; 0: all
    quantization: str = ""
    context_tokens: int = 0  # Context length the model was trained for
    kv_bytes_per_token: int = 0  # For an F16 KV cache
    machine_gb: int = 0  # Memory of the smallest common machine it suits: 4, 8, 16 or 24
    own: bool = False  # Whether the person added it


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Models that can be fetched by name."""

    dated: datetime.date  # Date of the packaged entries
    entries: tuple[CatalogueEntry, ...]
    starter: CatalogueEntry  # Found by name only; not listed

    def find(self, name: str) -> CatalogueEntry | None:
        wanted = name.casefold()
        return next((entry for entry in (*self.entries, self.starter) if entry.name.casefold() == wanted), None)

    def similar(self, name: str) -> tuple[str, ...]:
        """Suggestions: names that begin with this one, else those that contain it, else the most similar."""
        names = {entry.name.casefold(): entry.name for entry in self.entries}
        wanted = name.casefold()
        similar = [one for one in names if one.startswith(wanted)] or [one for one in names if wanted in one]
        return tuple(names[one] for one in similar or difflib.get_close_matches(wanted, names, n=1))


def read_catalogue(own: Path) -> Catalogue:
    """Read the packaged entries and the file `own`, if any, which overrides them. Raises UsageError, StorageError."""
    packaged = tomllib.loads((resources.files("gistread.engine") / _PACKAGED).read_text("utf-8"))
    starter = _entry(packaged.pop("starter"), _PACKAGED, own=False)
    entries = {entry.name.casefold(): entry for entry in _entries(packaged, _PACKAGED, own=False)}
    for entry in _entries(_read(own), str(own), own=True):
        entries[entry.name.casefold()] = entry
    return Catalogue(packaged["dated"], tuple(entries.values()), starter)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8 text.", "Correct or remove the file.") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not valid TOML: {error}.", "Correct or remove the file.") from None
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}.", "Your own models could not be read.") from error


def _entries(document: dict[str, Any], where: str, *, own: bool) -> Iterable[CatalogueEntry]:
    for key in document:
        if key not in ("model", "dated"):
            raise UsageError(f"{where}: unknown key {key!r}.", _MODEL_HINT)
    tables = document.get("model", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UsageError(f"{where}: model must be a list of tables.", _MODEL_HINT)
    names: set[str] = set()
    for number, table in enumerate(tables, 1):
        entry = _entry(table, f"{where}, model {number}", own=own)
        if entry.name.casefold() in names:
            raise UsageError(f"{where}: two models are named {entry.name}.")
        names.add(entry.name.casefold())
        yield entry


_KINDS = {field.name: field.type for field in fields(CatalogueEntry) if field.name != "own"}
_PATTERNS = {
    "name": (_NAME, "letters, digits, dots and dashes"),
    "repository": (_REPOSITORY, 'of the form "owner/repository"'),
    "file": (_FILE, "the name of a .gguf file in the repository"),
    "revision": (_REVISION, "a commit or a branch of the repository"),
    "sha256": (_SHA256, "64 hexadecimal digits in lower case"),
}


def _entry(table: dict[str, Any], where: str, *, own: bool) -> CatalogueEntry:
    if isinstance(table.get("name"), str):
        where += f" ({table['name']})"
    for key in ("name", "repository", "file"):
        if key not in table:
            raise UsageError(f"{where}: {key} is missing.", "A model needs name, repository and file.")
    for key, value in table.items():
        if key not in _KINDS:
            near = difflib.get_close_matches(key, _KINDS, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"Keys are: {', '.join(_KINDS)}."
            raise UsageError(f"{where}: unknown key {key!r}.", hint)
        if allowed := _expected(key, value):
            raise UsageError(f"{where}: {key} must be {allowed}, not {value!r}.")
    return CatalogueEntry(**table, own=own)


def _expected(key: str, value: object) -> str:
    if key == "kind":
        return "" if value in get_args(Kind) else '"text" or "embedding"'
    if _KINDS[key] is int:
        # bool is a subclass of int.
        return "" if type(value) is int and value >= 0 else "a whole number, 0 or more"
    if not isinstance(value, str):
        return "a text in quotes"
    pattern, allowed = _PATTERNS.get(key, (None, ""))
    return "" if pattern is None or pattern.fullmatch(value) else allowed
