"""Finds GGUF models on this machine, and resolves names to files. Reads headers only."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from gistread.engine.model_files import ModelFile, describe
from gistread.engine.model_search import (
    SUFFIX,
    FoundModel,
    found_models,
    own_adapter,
    parts_of,
    starter_path,
    whole_name,
)
from gistread.errors import EngineError
from gistread.units import format_list

STARTER = "starter"  # Name of the model installed as a Python package, with gistread's adapter for it
STARTER_BASE = "starter-base"  # The same model without the adapter
_AND = "+"  # Between a model and its adapter
_GET_STARTER = "gistread models get starter"
_LIST = "`gistread models list` shows the models on this machine."
_NAMED = 8


def find_models() -> list[ModelFile]:
    """Every model in the known folders, usable ones first, by name. Others have a `problem`."""
    return sorted(each_model(), key=lambda model: (not model.usable, model.name.casefold(), model.path))


def each_model() -> Iterator[ModelFile]:
    """Yield the same models in no order, each as soon as its header is read."""
    return map(describe, found_models())


def resolve_model(spec: str) -> Path:
    """Find a model by path, `starter`, name or unambiguous part of a name. Raises EngineError."""
    if spec in (STARTER, STARTER_BASE):
        starter = starter_path()
        if starter is None:
            raise EngineError("The starter model is not installed.", f"Download it with: {_GET_STARTER}")
        return starter
    return _resolve(spec, lambda model: model.usable)


def find_any_model(spec: str) -> Path:
    """Find a model as `resolve_model` does, but of any kind, even unusable. Raises EngineError."""
    return resolve_model(spec) if spec in (STARTER, STARTER_BASE) else _resolve(spec, lambda _: True)


def resolve_adapted(spec: str) -> tuple[Path, Path | None]:
    """The files of `MODEL+ADAPTER`, or of the only model if empty. The starter has an adapter. Raises EngineError."""
    name, adapter = split_adapter(spec)
    path = resolve_model(name or default_spec())
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


def _resolve(spec: str, is_wanted: Callable[[ModelFile], bool]) -> Path:
    path = _as_path(spec)
    if path is not None:
        return path
    # Read only the headers of models whose name matches.
    models = [describe(found) for found in _matching(found_models(), spec)]
    candidates = list(filter(is_wanted, models)) or models
    if not candidates:
        raise _unknown(spec)
    if len(candidates) > 1:
        raise EngineError(f"{spec!r} is ambiguous: {_names(candidates)}.", "Name one of them, or give its path.")
    if not is_wanted(candidates[0]) and candidates[0].problem:
        raise EngineError(f"{candidates[0].name} cannot be used: {candidates[0].problem}.", _LIST)
    return candidates[0].path


def default_spec() -> str:
    """The model to use while none is chosen: the starter, else the only one here. Raises EngineError."""
    if starter_path() is not None:
        return STARTER
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
    return str(usable[0].path)


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


def _unknown(spec: str) -> EngineError:
    if "://" in spec:
        return EngineError(f"{spec} is not a file.", f"A model is a GGUF file. {_LIST}")
    with contextlib.suppress(OSError):  # too long for a path
        if Path(spec).is_dir():
            return EngineError(f"{spec} is a folder.", "Give the path of a .gguf file in it.")
    there = [model for model in find_models() if model.usable]
    hint = f"Available: {_names(there)}." if there else "No model was found; give the path of a .gguf file."
    return EngineError(f"No such file or model: {spec!r}", hint)


def _names(models: Sequence[ModelFile]) -> str:
    starter = starter_path()
    names = [STARTER if model.path == starter else model.name for model in models]
    # Files with the same name are identified by their paths.
    pairs = zip(models, names, strict=True)
    return format_list([str(model.path) if names.count(name) > 1 else name for model, name in pairs], _NAMED)
