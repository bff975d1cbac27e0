"""Finds GGUF models on this machine, and resolves names to files. Reads headers only."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from gistread.engine.llama.gguf import read_header
from gistread.engine.model_files import ModelFile, describe
from gistread.engine.model_kinds import check_makes_vectors
from gistread.engine.model_search import (
    SUFFIX,
    FoundModel,
    found_models,
    own_adapter,
    parts_of,
    starter_path,
    whole_name,
)
from gistread.errors import EngineError, NoEmbeddingModelError
from gistread.units import format_list

STARTER = "starter"  # Name of the model installed as a Python package, with gistread's adapter for it
STARTER_BASE = "starter-base"  # The same model without the adapter
_AND = "+"  # Between a model and its adapter
_GET_STARTER = "gistread models get starter"
_LIST = "`gistread models list` shows the models on this machine."
_FOR_VECTORS = "Use it with --embedding-model, or permanently with `gistread models use NAME --for embedding`."
_NAMED = 8


def find_models(extra: Sequence[Path] = ()) -> list[ModelFile]:
    """Every model in the known folders and in `extra`, usable ones first, by name. Others have a `problem`."""
    return sorted(each_model(extra), key=lambda model: (not model.usable, model.name.casefold(), model.path))


def each_model(extra: Sequence[Path] = ()) -> Iterator[ModelFile]:
    """Yield the same models in no order, each as soon as its header is read."""
    return map(describe, found_models(extra))


def resolve_model(spec: str) -> Path:
    """Find a model by path, `starter`, name or unambiguous part of a name. Raises EngineError."""
    if spec in (STARTER, STARTER_BASE):
        starter = starter_path()
        if starter is None:
            raise EngineError("The starter model is not installed.", f"Download it with: {_GET_STARTER}")
        return starter
    return _resolve(spec, "model", lambda model: model.usable)


def find_any_model(spec: str) -> Path:
    """Find a model as `resolve_model` does, but of any kind, even unusable. Raises EngineError."""
    return resolve_model(spec) if spec in (STARTER, STARTER_BASE) else _resolve(spec, "model", lambda _: True)


def resolve_adapted(spec: str) -> tuple[Path, Path | None]:
    """The files of `MODEL+ADAPTER`, or of the only model if empty. The starter has an adapter. Raises EngineError."""
    name, adapter = split_adapter(spec)
    path = resolve_model(name) if name else default_model()
    if adapter is None:
        return path, None if name == STARTER_BASE else own_adapter(path)
    if not Path(adapter).expanduser().is_file():
        raise EngineError(f"No such adapter: {adapter}.", "An adapter is the path of a GGUF file.")
    return path, Path(adapter).expanduser().absolute()


def split_adapter(spec: str) -> tuple[str, str | None]:
    """The model's own name in `MODEL+ADAPTER`, and the path of the adapter."""
    name, _, adapter = spec.rpartition(_AND)
    is_adapter = adapter != spec and adapter.casefold().endswith(SUFFIX) and not Path(spec).expanduser().is_file()
    return (name, adapter) if is_adapter else (spec, None)


def with_adapter(spec: str, adapter: str | None) -> str:
    """The specification of a model with this adapter instead of its default, if any."""
    return f"{split_adapter(spec)[0]}{_AND}{adapter}" if adapter else spec


def resolve_embedding_model(spec: str) -> Path:
    path = starter_path() if spec == STARTER else None
    path = path or _resolve(spec, "embedding model", lambda model: model.embeds)
    check_makes_vectors(read_header(path))
    return path


def find_embedding_model(spec: str, reader: str) -> Path:
    """The embedding model named, or the only one, for `reader`. Raises NoEmbeddingModelError, EngineError."""
    if spec:
        return resolve_embedding_model(spec)
    found = [model for model in find_models() if model.embeds]
    if not found:
        raise NoEmbeddingModelError(reader)
    if len(found) > 1:
        raise EngineError(
            f"There are several embedding models: {_names(found)}.",
            "Choose one with --embedding-model NAME, or permanently with embedding_model in the settings.",
        )
    return found[0].path


def _resolve(spec: str, kind: str, is_wanted: Callable[[ModelFile], bool]) -> Path:
    path = _as_path(spec)
    if path is not None:
        return path
    # Read only the headers of models whose name matches.
    models = [describe(found) for found in _matching(found_models(), spec)]
    candidates = list(filter(is_wanted, models)) or models
    if not candidates:
        raise _unknown(spec, kind, is_wanted)
    if len(candidates) > 1:
        raise EngineError(f"{spec!r} is ambiguous: {_names(candidates)}.", "Name one of them, or give its path.")
    if not is_wanted(candidates[0]) and candidates[0].problem:
        hint = _FOR_VECTORS if candidates[0].embeds else _LIST
        raise EngineError(f"{candidates[0].name} cannot be used: {candidates[0].problem}.", hint)
    return candidates[0].path


def default_model() -> Path:
    """The only model on the machine. Raises EngineError if there is none, or several."""
    usable = [model for model in find_models() if model.usable]
    if not usable:
        raise EngineError(
            "No model was found on this machine. `gistread models get` downloads a suitable one, after asking.",
            f"Or name a GGUF file with --model, or download the small starter: {_GET_STARTER}",
        )
    if len(usable) > 1:
        raise EngineError(
            f"There are several models: {_names(usable)}.",
            "Choose one permanently with `gistread models use NAME`, or once with --model NAME.",
        )
    return usable[0].path


def _as_path(spec: str) -> Path | None:
    if not spec or "\0" in spec:
        raise EngineError("The name of the model is empty.", _LIST)
    try:
        path = Path(spec).expanduser()
        if path.is_file():
            parts = parts_of(path)
            for number, part in enumerate(parts, 1):
                if len(parts) > 1 and not part.exists():
                    raise EngineError(f"{path.name} cannot be used: part {number} of {len(parts)} is missing.", _LIST)
            return parts[0]
    except (OSError, RuntimeError):  # too long for a path, no such user
        return None
    if path.suffix.lower() == SUFFIX and len(path.parts) > 1 and not path.is_dir():
        raise EngineError(f"No such file: {spec}", _LIST)
    return None


def _matching(models: Sequence[FoundModel], spec: str) -> list[FoundModel]:
    wanted = whole_name(spec).casefold()
    tests: list[Callable[[str], bool]] = [
        lambda name: name == wanted,
        lambda name: name == f"{wanted}:latest",  # as in Ollama
        lambda name: name.startswith(wanted),
        lambda name: wanted in name,
    ]
    for test in tests:
        if found := [model for model in models if any(test(name.casefold()) for name in (model.name, *model.aliases))]:
            return found
    return []


def _unknown(spec: str, kind: str, is_wanted: Callable[[ModelFile], bool]) -> EngineError:
    if "://" in spec:
        return EngineError(f"{spec} is not a file.", f"A model is a GGUF file. {_LIST}")
    with contextlib.suppress(OSError):  # too long for a path
        if Path(spec).is_dir():
            return EngineError(f"{spec} is a folder.", "Give the path of a .gguf file in it.")
    there = list(filter(is_wanted, find_models()))
    hint = f"Available: {_names(there)}." if there else f"No {kind} was found; give the path of a .gguf file."
    return EngineError(f"No such file or {kind}: {spec!r}", hint)


def _names(models: Sequence[ModelFile]) -> str:
    names = [model.name for model in models]
    # Files with the same name are identified by their paths.
    return format_list([str(one.path) if names.count(one.name) > 1 else one.name for one in models], _NAMED)
