"""Models that can be fetched: the catalogue that comes with gistread, and what the person adds to it.

Data alone: nothing here goes to the network, looks at this machine, or knows which model suits it.
"""

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
_SHA256 = re.compile(r"[0-9a-f]{64}")

Kind = Literal["text", "embedding"]


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One model file on the hub. What is not known of it is empty, 0 or None, and told so."""

    name: str
    """What `models get` takes."""
    repository: str
    """On the hub: `owner/repository`."""
    file: str
    """In the repository; of a model in several files, the first."""
    good_for: str = ""
    kind: Kind = "text"
    """`embedding`: it makes vectors to search by, and writes nothing."""
    revision: str = "main"
    """Commit or branch of the repository."""
    licence: str = ""
    size_bytes: int = 0
    sha256: str = ""
    """Of the file, in hexadecimal digits. Empty: what the hub says of it is taken, and told so."""
    parameters: int = 0
    active_parameters: int = 0
    """Of a mixture of experts, those that one token needs; 0: all."""
    quantization: str = ""
    context_tokens: int = 0
    """Tokens it was trained for."""
    kv_bytes_per_token: int = 0
    """Of an F16 KV cache."""
    machine_gb: int = 0
    """Memory of the smallest usual machine that it is for: 4, 8, 16, 24."""
    own: bool = False
    """Whether the person added it."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What can be fetched by name."""

    dated: datetime.date
    """Of the entries that come with gistread."""
    entries: tuple[CatalogueEntry, ...]

    def find(self, name: str) -> CatalogueEntry | None:
        """The entry of this name, in whatever case; None where there is none."""
        wanted = name.casefold()
        return next((entry for entry in self.entries if entry.name.casefold() == wanted), None)

    def near(self, name: str) -> tuple[str, ...]:
        """Names that may have been meant: those that begin so, else those that hold it, else the one most like it."""
        names = {entry.name.casefold(): entry.name for entry in self.entries}
        wanted = name.casefold()
        near = [one for one in names if one.startswith(wanted)] or [one for one in names if wanted in one]
        return tuple(names[one] for one in near or difflib.get_close_matches(wanted, names, n=1))


def read_catalogue(own: Path) -> Catalogue:
    """The packaged entries and those of the file `own`, which need not exist; a name in both means the person's.

    Raises UsageError, with the file, the entry and what is allowed, where the person's file is wrong; StorageError
    where it cannot be read.
    """
    packaged = tomllib.loads((resources.files("gistread.engine") / _PACKAGED).read_text("utf-8"))
    entries = {entry.name.casefold(): entry for entry in _entries(packaged, _PACKAGED, own=False)}
    for entry in _entries(_read(own), str(own), own=True):
        entries[entry.name.casefold()] = entry
    return Catalogue(packaged["dated"], tuple(entries.values()))


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8 text.", "Correct the file, or move it away.") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not valid TOML: {error}.", "Correct the file, or move it away.") from None
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}.", "Your own models could not be read.") from error


def _entries(document: dict[str, Any], where: str, *, own: bool) -> Iterable[CatalogueEntry]:
    for key in document:
        if key not in ("model", "dated"):
            raise UsageError(f"{where}: {key!r} means nothing here.", "A model is a table that begins with [[model]].")
    tables = document.get("model", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UsageError(f"{where}: model must be a list of tables.", "A model is a table that begins with [[model]].")
    names: set[str] = set()
    for number, table in enumerate(tables, 1):
        entry = _entry(table, f"{where}, model {number}", own=own)
        if entry.name.casefold() in names:
            raise UsageError(f"{where}: there are two models called {entry.name}.")
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
            raise UsageError(f"{where}: there is no key {key!r}.", hint)
        if allowed := _fault(key, value):
            raise UsageError(f"{where}: {key} must be {allowed}, not {value!r}.")
    return CatalogueEntry(**table, own=own)


def _fault(key: str, value: object) -> str:
    """What the value has to be, where it is not."""
    if key == "kind":
        return "" if value in get_args(Kind) else '"text" or "embedding"'
    if _KINDS[key] is int:
        # bool is an int to Python, not to a person.
        return "" if type(value) is int and value >= 0 else "a whole number, 0 or more"
    if not isinstance(value, str):
        return "a text in quotes"
    pattern, allowed = _PATTERNS.get(key, (None, ""))
    return "" if pattern is None or pattern.fullmatch(value) else allowed
