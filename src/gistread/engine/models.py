"""Resolves a model's name, path or address, and turns it into an engine.

Engine modules are imported on demand.
"""

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gistread.config import Config
from gistread.engine.llama.gguf import GgufHeader, read_header
from gistread.engine.llama.machine import available_bytes
from gistread.engine.model_files import describe, memory_fit_of
from gistread.engine.model_search import (
    SUFFIX,
    ModelFile,
    found_models,
    own_adapter,
    plain_name,
    starter_path,
)
from gistread.engine.protocol import Engine
from gistread.engine.remote.address import (
    ServerAddress,
    is_address,
    meant_address,
    parse_address,
)
from gistread.errors import EngineError
from gistread.paths import Paths, default_paths
from gistread.units import format_list

# Name of the model installed as a Python package, with gistread's adapter for it
STARTER = "starter"
STARTER_BASE = "starter-base"  # The same model without the adapter
_LIST = "`gistread models list` shows the models on this machine."
_MOST_LISTED = 8  # Models in a message


def find_models() -> list[ModelFile]:
    """Every model in the known folders, usable ones first, by name. Others have a `problem`."""
    models = sorted(each_model(), key=lambda model: (model.name.casefold(), model.path))
    return sorted(models, key=lambda model: not model.usable)


def each_model() -> Iterator[ModelFile]:
    """Yield the same models in no order, each as soon as its header is read."""
    return map(describe, found_models())


def models_by_path(
    specs: Iterable[str], known: Collection[ModelFile]
) -> list[ModelFile]:
    """The models that settings name by path, without those known."""
    known_files = {model.path.resolve() for model in known}
    by_path: dict[Path, ModelFile] = {}
    for spec in specs:
        base, _ = split_adapter(spec)
        with contextlib.suppress(EngineError, OSError):
            path = _as_path(base)
            if path is None or path.resolve() in known_files:
                continue
            model = ModelFile(path, plain_name(path.name), path.stat().st_size)
            by_path[path] = describe(model)
    return list(by_path.values())


def resolve_model(spec: str, *, usable: bool = True) -> Path:
    """Find a model by path, `starter`, name or unambiguous part of a name. Raises EngineError.

    `usable`: whether the model has to be usable.
    """
    if spec in (STARTER, STARTER_BASE):
        return _installed_starter()
    path = _as_path(spec)
    if path is not None:
        return path
    # Read only the headers of models whose name matches.
    models = [describe(model) for model in _matching(found_models(), spec)]
    candidates = models
    if usable:
        # An unusable model is named below if there is no other.
        candidates = [model for model in models if model.usable] or models
    if not candidates:
        address = meant_address(spec)
        hint = f"Did you mean {address}?" if address else _models_hint()
        raise EngineError(f"No such file or model: {spec!r}", hint)
    if len(candidates) > 1:
        raise EngineError(
            f"{spec!r} is ambiguous: {_names(candidates)}.",
            "Name one of them, or give its path.",
        )
    model = candidates[0]
    if usable and model.problem:
        raise EngineError(f"{model.name} cannot be used: {model.problem}.", _LIST)
    return model.path


def _installed_starter() -> Path:
    """Raises EngineError if there is none."""
    starter = starter_path()
    if starter is None:
        raise EngineError(
            "The starter model is not installed.",
            "Download it with: gistread models get starter",
        )
    return starter


def _models_hint() -> str:
    usable = [model for model in find_models() if model.usable]
    if not usable:
        return "No model was found; give the path of a .gguf file."
    return f"Available: {_names(usable)}."


def split_adapter(spec: str) -> tuple[str, str | None]:
    """The model's own name in `MODEL+ADAPTER`, and the path of the adapter; None without one."""
    name, plus, adapter = spec.rpartition("+")
    # A file's own name may contain a plus.
    is_adapter = (
        bool(plus)
        and adapter.casefold().endswith(SUFFIX)
        and not Path(spec).expanduser().is_file()
    )
    if not is_adapter:
        return spec, None
    return name, adapter


def default_spec() -> str:
    """The model to use while none is chosen: the starter, else the only one here.

    Raises EngineError.
    """
    if starter_path() is not None:
        return STARTER
    usable = [model for model in find_models() if model.usable]
    if not usable:
        raise EngineError(
            "No model was found on this machine. `gistread models get` downloads a suitable one, "
            "after asking.",
            "Or name a GGUF file with --model, or download the small starter: gistread models "
            "get starter",
        )
    if len(usable) > 1:
        raise EngineError(
            f"There are several models: {_names(usable)}.",
            "Choose one permanently with `gistread models use NAME`, or once with --model NAME.",
        )
    return str(usable[0].path)


def _as_path(spec: str) -> Path | None:
    """The file that a specification names; None if it may be a name.

    Raises EngineError if it is empty, or the path of a missing file.
    """
    if not spec or "\0" in spec:
        raise EngineError("The name of the model is empty.", _LIST)
    try:
        path = Path(spec).expanduser()
        if path.is_file():
            return path
    except (OSError, RuntimeError):  # too long for a path, no such user
        return None
    # A name of a model may have a slash, or end in .gguf, but not both.
    is_path = path.suffix.lower() == SUFFIX and len(path.parts) > 1
    if is_path and not path.is_dir():
        raise EngineError(f"No such file: {spec}", _LIST)
    return None


def _matching(models: Sequence[ModelFile], spec: str) -> list[ModelFile]:
    """The models with this name; without any, those whose name begins with it, or contains it."""
    typed = plain_name(spec).casefold()
    tests: list[Callable[[str], bool]] = [
        lambda name: name in (typed, f"{typed}:latest"),  # as in Ollama
        lambda name: name.startswith(typed),
        lambda name: typed in name,
    ]
    for test in tests:
        matching = [model for model in models if _any_name(model, test)]
        if matching:
            return matching
    return []


def _any_name(model: ModelFile, test: Callable[[str], bool]) -> bool:
    """Whether one of the model's names passes a test."""
    return any(test(name.casefold()) for name in (model.name, *model.aliases))


def _names(models: Sequence[ModelFile]) -> str:
    """The names of models for a message; the paths of those with the same name."""
    starter = starter_path()
    names = [STARTER if model.path == starter else model.name for model in models]
    listed: list[str] = []
    for model, name in zip(models, names, strict=True):
        is_unique = names.count(name) == 1
        listed.append(name if is_unique else str(model.path))
    return format_list(listed, _MOST_LISTED)


@dataclass(frozen=True, slots=True)
class ModelSource:
    name: str  # For people, until the engine reports its own
    path: Path | None  # None for a model on a server
    server: ServerAddress | None = None
    adapter: Path | None = None


def find_source(spec: str) -> ModelSource:
    """Resolve `MODEL+ADAPTER`, or an address; empty: the only model here.

    Contacts no servers. Raises EngineError.
    """
    if is_address(spec):
        address = parse_address(spec)
        return ModelSource(str(address), None, address)
    name, adapter_spec = split_adapter(spec)
    path = resolve_model(name or default_spec())
    adapter: Path | None = None
    if adapter_spec:
        adapter = Path(adapter_spec).expanduser().absolute()
    elif name != STARTER_BASE:
        adapter = own_adapter(path)
    if adapter is not None and not adapter.is_file():
        hint = "An adapter is the path of a GGUF file."
        raise EngineError(f"No such adapter: {adapter_spec}.", hint)
    # Only the starter has an adapter of its own.
    is_starter = adapter is not None and adapter == own_adapter(path)
    return ModelSource(STARTER if is_starter else path.stem, path, adapter=adapter)


def find_chosen(spec: str | None, config: Config) -> ModelSource:
    """The model of this specification, else of the settings, else the default.

    Raises EngineError.
    """
    if spec:
        return find_source(spec)
    with naming_setting(config.model):
        return find_source(config.model)


@contextlib.contextmanager
def naming_setting(model: str) -> Iterator[None]:
    """Let an EngineError say that a model comes from the settings, unless they name none."""
    try:
        yield
    except EngineError as error:
        if not model:
            raise
        raise EngineError(
            f"model in {default_paths().config_file}: {error.message}", error.hint
        ) from None


def settings_name(spec: str) -> str:
    """The form of a specification to store in settings.

    Raises EngineError for an address with a secret.
    """
    if is_address(spec):
        return str(parse_address(spec))
    if spec == str(starter_path()):
        return STARTER
    return spec


def same_model(spec: str, other: str) -> bool:
    """Whether two specifications name the same existing model. Reads folders."""
    if spec == other:
        return True
    try:
        return find_source(spec) == find_source(other)
    except EngineError:
        return False


def fits_in_memory(spec: str) -> bool:
    """Whether a model is estimated to fit in free memory with the default window.

    True also if it needs none here, as on a server, or its needs are unknown.
    """
    try:
        path = find_source(spec).path
    except EngineError:
        return True
    if path is None:
        return True
    model = describe(ModelFile(path, ""))
    fit = memory_fit_of(model, available_bytes())
    return fit is None or fit.needed_bytes < fit.free_bytes


def fingerprint_of(source: ModelSource) -> str:
    """The fingerprint that the engine will report; empty for a server. Raises EngineError."""
    if source.path is None:
        return ""
    return header_of(source).fingerprint


def header_of(source: ModelSource) -> GgufHeader:
    """The header of a local model with its adapter applied. Raises EngineError."""
    assert source.path is not None
    return read_header(source.path, source.adapter)


def new_engine(source: ModelSource, config: Config, paths: Paths) -> Engine:
    """Create an engine for a model, not started."""
    if source.server is not None:
        from gistread.engine.remote.client import RemoteEngine
        from gistread.engine.remote.failures import RetryPolicy

        return RemoteEngine(
            source.server,
            context_tokens=config.context_tokens,
            connections=config.connections,
            retry_policy=RetryPolicy(answer_s=config.server_timeout_s),
        )
    assert source.path is not None
    from gistread.engine.llama.client import LlamaEngine
    from gistread.engine.llama.fit import LoadOptions

    return LlamaEngine(
        source.path,
        name=STARTER if source.name == STARTER else "",
        adapter=source.adapter,
        options=LoadOptions(
            context_tokens=config.context_tokens,
            gpu_layers=config.gpu_layers,
            kv_cache=config.kv_cache,
            threads=config.threads,
        ),
        log=paths.worker_log,
        cache=paths.cache,
    )
