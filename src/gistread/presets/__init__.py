"""Presets (ReadAgent, Appendix F.2): instructions for the gists of a kind of book.

They are read from TOML files, built-in ones and the user's.
"""

import difflib
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from gistread.errors import UsageError

AUTO = "auto"  # Chooses a preset by the form of the book
MAX_ENTRY_CHARACTERS = 400  # Longest entry; entries are part of every gisting prompt
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")  # "screen-play"


@dataclass(frozen=True, slots=True)
class Preset:
    """What the gists of a kind of book must keep."""

    name: str
    title: str  # As in "read as a meeting"
    summary: str  # Description for people
    keep: str  # Instruction for the gisting prompt, without its full stop
    ask: str  # The same as a question, for the second attempt


_KEYS = ("title", "summary", "keep", "ask")


@cache
def built_in_presets() -> dict[str, Preset]:
    """The built-in presets by name, `fiction` first."""
    files = resources.files(__name__).iterdir()
    presets = [_read(file) for file in files if file.name.endswith(".toml")]
    presets.sort(key=lambda preset: (preset.name != "fiction", preset.name))
    return {preset.name: preset for preset in presets}


def read_presets(folder: Path) -> tuple[dict[str, Preset], list[str]]:
    """All presets by name, with the user's own, and one line for each invalid file."""
    own, problems = _user_presets(folder)
    return built_in_presets() | own, list(problems.values())


def find_preset(name: str, folder: Path) -> Preset:
    """The preset of this name. Raises UsageError if it is unknown or its file is invalid."""
    own, problems = _user_presets(folder)
    if name in problems:
        raise UsageError(problems[name], f"The file is in {folder}.")
    known = built_in_presets() | own
    if name in known:
        return known[name]
    similar = difflib.get_close_matches(name, known, n=1)
    suggestion = f" Did you mean {similar[0]}?" if similar else ""
    choices = ", ".join([AUTO, *known])
    raise UsageError(f"Unknown preset {name!r}.{suggestion}", f"Presets: {choices}.")


def _user_presets(folder: Path) -> tuple[dict[str, Preset], dict[str, str]]:
    """The user's presets, and a line for each invalid file, by name."""
    own: dict[str, Preset] = {}
    problems: dict[str, str] = {}
    for path in sorted(folder.glob("*.toml")):
        try:
            own[path.stem] = _read(path)
        except OSError as error:
            problems[path.stem] = f"Preset {path.name}: {error.strerror or error}."
        except ValueError as error:  # Includes errors of TOML and UTF-8
            problems[path.stem] = f"Preset {path.name}: {error}"
    return own, problems


def _read(file: Path | Traversable) -> Preset:
    """The preset in a file. Raises OSError, or ValueError with a message for people."""
    name = file.name.removesuffix(".toml")
    defaults = {"title": name, "summary": ""}
    # A text editor may put a byte order mark before the text.
    table = defaults | tomllib.loads(file.read_text("utf-8-sig"))
    if name == AUTO or not _NAME.fullmatch(name):
        raise ValueError(
            f"name the file in lower-case letters, digits and dashes, but not {AUTO}."
        )
    unknown = sorted(table.keys() - set(_KEYS))
    if unknown:
        keys = ", ".join(_KEYS)
        raise ValueError(f"unknown entry {unknown[0]!r}; a preset has {keys}.")
    entries = {key: _entry(key, table.get(key, "")) for key in _KEYS}
    return Preset(
        name,
        entries["title"],
        entries["summary"],
        keep=entries["keep"].rstrip("."),
        ask=entries["ask"],
    )


def _entry(key: str, value: object) -> str:
    """The text of an entry on one line. Raises ValueError."""
    if not isinstance(value, str):
        raise ValueError(f"{key} must be a text in quotes.")
    text = " ".join(value.split())
    if not text and key != "summary":
        raise ValueError(f"{key} is missing: a text in quotes.")
    if len(text) > MAX_ENTRY_CHARACTERS:
        raise ValueError(
            f"{key} has {len(text)} characters; the limit is {MAX_ENTRY_CHARACTERS}."
        )
    return text


# The default, also of memories older than presets
FICTION = built_in_presets()["fiction"]
