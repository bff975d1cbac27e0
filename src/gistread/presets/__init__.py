"""Domain presets (ReadAgent, Appendix F.2): what a gist must keep of a kind of book, as a TOML file each.

Those beside this module come with gistread; the person's own lie in a folder of theirs, and one of the same name
takes the place of ours. Nothing here knows prompts: they have places for a preset's words.
"""

import difflib
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from gistread.errors import UsageError

AUTO = "auto"
"""In place of a name: as the book looks."""
_MOST_CHARACTERS = 400
"""Of one entry: all of them stand in every prompt."""
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


@dataclass(frozen=True, slots=True)
class Preset:
    """What gists of one kind of book are made to keep."""

    name: str
    title: str
    """As in "read as a meeting"."""
    summary: str
    """What its gists keep, for people."""
    keep: str
    """Of the task: a sentence without its full stop."""
    ask: str
    """The same as a question, for the second attempt."""


_KEYS = ("title", "summary", "keep", "ask")


@cache
def built_in_presets() -> dict[str, Preset]:
    """The presets that come with gistread, by name; fiction, which suits most books, first."""
    files = [file for file in resources.files(__name__).iterdir() if file.name.endswith(".toml")]
    found = sorted(map(_read, files), key=lambda preset: (preset.name != "fiction", preset.name))
    return {preset.name: preset for preset in found}


def read_presets(folder: Path) -> tuple[dict[str, Preset], list[str]]:
    """Every preset by name, ours and those in the person's folder, and one line for each file there that is none."""
    found, broken = _own(folder)
    return built_in_presets() | found, list(broken.values())


def find_preset(name: str, folder: Path) -> Preset:
    """The preset of this name. Raises UsageError where there is none, or where its file cannot be used."""
    found, broken = _own(folder)
    if name in broken:
        raise UsageError(broken[name], f"The file is in {folder}.")
    known = built_in_presets() | found
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    meant = f" Did you mean {near[0]}?" if near else ""
    raise UsageError(f"There is no preset {name!r}.{meant}", f"There are {', '.join([AUTO, *known])}.")


def _own(folder: Path) -> tuple[dict[str, Preset], dict[str, str]]:
    """The person's presets, and what is wrong with the other files, by name."""
    found: dict[str, Preset] = {}
    broken: dict[str, str] = {}
    for path in _files(folder):
        try:
            found[path.stem] = _read(path)
        except OSError as error:
            broken[path.stem] = f"Preset {path.name}: {error.strerror or error}."
        except ValueError as error:  # TOML's error and that of UTF-8 are among them
            broken[path.stem] = f"Preset {path.name}: {error}"
    return found, broken


def _files(folder: Path) -> Iterator[Path]:
    try:
        yield from sorted(folder.glob("*.toml"))
    except OSError:
        return


def _read(file: Path | Traversable) -> Preset:
    """Raises OSError, and ValueError with a text fit for the person."""
    name = file.name.removesuffix(".toml")
    table = tomllib.loads(file.read_text("utf-8-sig"))
    if name == AUTO or not _NAME.fullmatch(name):
        raise ValueError(f"a preset is named by its file, in small letters, digits and dashes, and not {AUTO}.")
    if unknown := sorted(set(table) - set(_KEYS)):
        raise ValueError(f"there is no {unknown[0]!r} in a preset; there are {', '.join(_KEYS)}.")
    return Preset(name, *(_entry(table, key, name if key == "title" else "") for key in _KEYS))


def _entry(table: dict[str, Any], key: str, otherwise: str) -> str:
    value = table.get(key, otherwise)
    if not isinstance(value, str):
        raise ValueError(f"{key} must be a text in quotes.")
    value = " ".join(value.split())
    if not value and key != "summary":
        raise ValueError(f"{key} is missing: a text in quotes.")
    if len(value) > _MOST_CHARACTERS:
        raise ValueError(f"{key} has {len(value)} characters; {_MOST_CHARACTERS} is the most.")
    return value.rstrip(".") if key == "keep" else value


FICTION = built_in_presets()["fiction"]
"""Its words are those that were asked with before there were presets, so memories of that time are its memories."""
