"""Folders where common programs keep models, by their own conventions, and the person's own folders.

Each entry follows another program's documentation or source. Nothing is written.
"""

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gistread.config import load_config
from gistread.errors import GistreadError
from gistread.paths import default_paths

_POINTER = ".lmstudio-home-pointer"
_UNITS = (Path("/etc/systemd/system"), Path("/usr/lib/systemd/system"), Path("/lib/systemd/system"))
_OLLAMA_VARIABLE = re.compile(r"OLLAMA_MODELS=([^\"'\n]+)")
_OLLAMA_SYSTEM = (
    Path("/usr/share/ollama/.ollama/models"),  # the service created by Ollama's install script
    Path("/var/lib/ollama/.ollama/models"),
    Path("/var/lib/ollama/models"),  # NixOS, Fedora
    Path("/var/lib/ollama"),  # Arch
    Path("/var/snap/ollama/common/models"),
)


class ModelFolder(NamedTuple):
    """A folder that may contain models."""

    owner: str
    """The program it belongs to; empty for the person's own."""
    path: Path


def model_folders() -> list[ModelFolder]:
    """Folders to search for GGUF files, the person's own first. Most do not exist."""
    places = [ModelFolder("", folder) for folder in own_folders()]
    home = _home()
    if home is None:
        return places
    cache = _from_environment("XDG_CACHE_HOME") or home / ".cache"
    data = _from_environment("XDG_DATA_HOME") or home / ".local" / "share"
    places += [ModelFolder("", default_paths().models), ModelFolder("", home / "models")]
    places += [ModelFolder("llama.cpp", folder) for folder in _llama_cpp(home, cache)]
    places += [ModelFolder("Hugging Face", folder) for folder in _hugging_face(cache)]
    places += [ModelFolder("LM Studio", folder) for folder in _lm_studio(home)]
    places += [ModelFolder("Jan", folder / "llamacpp" / "models") for folder in jan_folders()]
    places += [ModelFolder("Jan", folder / "models") for folder in jan_folders()]
    places += [ModelFolder("GPT4All", folder) for folder in _gpt4all(home, cache, data)]
    return places


def own_folders() -> list[Path]:
    """`model_folders` of the settings; empty if they cannot be read, which is reported elsewhere."""
    try:
        folders = load_config(default_paths().config_file).model_folders
    except GistreadError:
        return []
    return [path for folder in folders if (path := _expanded(folder)) is not None]


def ollama_folders() -> list[Path]:
    """Folders of Ollama's manifests and blobs: from the environment, the person's, those of services."""
    home = _home()
    named = _from_environment("OLLAMA_MODELS")
    folders = [named, home / ".ollama" / "models" if home else None, *_of_services(), *_OLLAMA_SYSTEM]
    return [folder for folder in folders if folder is not None]


def jan_folders() -> list[Path]:
    """Jan's data folders: its default on each system, and the one in its settings."""
    home = _home()
    if home is None:
        return []
    if sys.platform == "darwin":
        places = [home / "Library" / "Application Support" / "Jan"]
    else:
        config = _from_environment("XDG_CONFIG_HOME") or home / ".config"
        data = _from_environment("XDG_DATA_HOME") or home / ".local" / "share"
        places = [data / "Jan", config / "Jan"]
    moved = (_text_in(_json(place / "settings.json"), "data_folder") for place in places)
    named = [path for folder in moved if folder and (path := _expanded(folder)) is not None]
    return [*named, *(place / "data" for place in places), home / "jan"]


def _llama_cpp(home: Path, cache: Path) -> Iterator[Path]:
    """As fs_get_cache_directory() of its common.cpp. Newer versions use the Hugging Face layout or cache."""
    if named := _from_environment("LLAMA_CACHE"):
        yield named
    if sys.platform == "darwin":
        yield home / "Library" / "Caches" / "llama.cpp"
    yield cache / "llama.cpp"


def _hugging_face(cache: Path) -> Iterator[Path]:
    """As in huggingface_hub's constants; the first that is set."""
    hub = _from_environment("HF_HUB_CACHE") or _from_environment("HUGGINGFACE_HUB_CACHE")
    yield hub or (_from_environment("HF_HOME") or cache / "huggingface") / "hub"


def _lm_studio(home: Path) -> Iterator[Path]:
    """Its home is named by a pointer file; `downloadsFolder` in its settings overrides the models folder."""
    pointed = _first_line(home / _POINTER)
    homes = [_expanded(pointed) if pointed else None, home / ".lmstudio", home / ".cache" / "lm-studio"]
    for place in filter(None, homes):
        named = _text_in(_json(place / "settings.json"), "downloadsFolder")
        if named and (folder := _expanded(named)) is not None:
            yield folder
        yield place / "models"


def _gpt4all(home: Path, cache: Path, data: Path) -> Iterator[Path]:
    """Its documented folders, the one in its settings, and that of its Python package."""
    config = _from_environment("XDG_CONFIG_HOME") or home / ".config"
    named = _in_ini(config / "nomic.ai" / "GPT4All.ini", "modelPath")
    if named and (folder := _expanded(named)) is not None:
        yield folder
    if sys.platform == "darwin":
        yield home / "Library" / "Application Support" / "nomic.ai" / "GPT4All"
    yield data / "nomic.ai" / "GPT4All"
    yield cache / "gpt4all"


def _of_services() -> Iterator[Path]:
    """Folders set in systemd units."""
    for units in _UNITS:
        for unit in (units / "ollama.service", *_sorted(units / "ollama.service.d", "*.conf")):
            for found in _OLLAMA_VARIABLE.finditer(_text(unit)):
                if (folder := _expanded(found[1].strip())) is not None:
                    yield folder


# Reading other programs' files.


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:  # no HOME, and no such user
        return None


def _from_environment(variable: str) -> Path | None:
    value = os.environ.get(variable, "")
    return _expanded(value) if value else None


def _expanded(text: str) -> Path | None:
    """Expand `~`; None unless the path is absolute and valid."""
    try:
        path = Path(text).expanduser()
    except RuntimeError:
        return None
    return path if path.is_absolute() and "\0" not in text else None


def _text(path: Path) -> str:
    try:
        return path.read_bytes()[:1_000_000].decode("utf-8-sig", "replace")
    except (OSError, ValueError):
        return ""


def _first_line(path: Path) -> str:
    return next((line.strip() for line in _text(path).splitlines()), "")


def _json(path: Path) -> object:
    try:
        return json.loads(_text(path) or "null")
    except (ValueError, RecursionError):
        return None


def _text_in(table: object, key: str) -> str:
    value = table.get(key) if isinstance(table, dict) else None
    return value if isinstance(value, str) else ""


def _in_ini(path: Path, key: str) -> str:
    lines = (line.partition("=") for line in _text(path).splitlines())
    return next((value.strip().strip('"') for name, _, value in lines if name.strip() == key), "")


def _sorted(folder: Path, pattern: str) -> list[Path]:
    try:
        return sorted(folder.glob(pattern))
    except OSError:
        return []
