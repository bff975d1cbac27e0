"""Turns a model specification (name, path or server address) into an engine. Engine modules are imported on demand."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gistread.config import Config
from gistread.engine.llama.fit import DEFAULT_CONTEXT_TOKENS, batch_tokens_of, needed_bytes, sizes_of
from gistread.engine.llama.gguf import GgufHeader, read_adapted_header, read_header
from gistread.engine.llama.machine import available_bytes
from gistread.engine.model_search import found_models, own_adapter, starter_path
from gistread.engine.models import STARTER, resolve_adapted
from gistread.engine.remote.address import ServerAddress, is_address, parse_address
from gistread.errors import EngineError
from gistread.paths import Paths, default_paths

if TYPE_CHECKING:
    from gistread.engine.protocol import Engine


@dataclass(frozen=True, slots=True)
class ModelSource:
    name: str  # For people, until the engine reports its own
    path: Path | None  # None for a model on a server
    server: ServerAddress | None = None
    adapter: Path | None = None


def find_source(spec: str) -> ModelSource:
    """Resolve a model specification; empty: the only model here. Does not contact servers. Raises EngineError."""
    if is_address(spec):
        address = parse_address(spec)
        return ModelSource(str(address), None, address)
    path, adapter = resolve_adapted(spec)
    is_starter = adapter is not None and adapter == own_adapter(path)
    return ModelSource(STARTER if is_starter else path.stem, path, adapter=adapter)


def find_chosen(named: str | None, config: Config) -> ModelSource:
    """The model named, else that of the settings, else the one used while none is chosen. Raises EngineError."""
    if named:
        return find_source(named)
    with naming_setting("model", config.model):
        return find_source(config.model)


@contextlib.contextmanager
def naming_setting(key: str, value: str) -> Iterator[None]:
    """Let an EngineError name the setting that a model comes from, if it has a value."""
    try:
        yield
    except EngineError as error:
        if not value:
            raise
        message = f"{key} in {default_paths().config_file}: {error.message}"
        raise EngineError(message, error.hint) from None


def settings_name(spec: str) -> str:
    """The form of a specification to store in settings. Raises EngineError for an address with a secret."""
    if is_address(spec):
        return str(parse_address(spec))
    return STARTER if spec == str(starter_path()) else spec  # its folder changes with the environment


def same_model(one: str, other: str) -> bool:
    """Whether two specifications name the same existing model. Reads folders."""
    if one == other:
        return True
    try:
        return find_source(one) == find_source(other)
    except EngineError:
        return False


def is_local(spec: str) -> bool:
    return not is_address(spec)


def fits_in_memory(spec: str, config: Config) -> bool:
    """Whether a model is estimated to fit in free memory."""
    try:
        path = find_source(spec).path
        if path is None:
            return True
        header = read_header(path)
    except EngineError:
        return True
    window = config.context_tokens or min(DEFAULT_CONTEXT_TOKENS, header.context_length or DEFAULT_CONTEXT_TOKENS)
    sizes = sizes_of(header, batch_tokens_of(header.parameters, on_gpu=False))
    kv_type = "f16" if config.kv_cache == "auto" else config.kv_cache
    return needed_bytes(sizes, window, kv_type) < available_bytes()


def fingerprint_of(source: ModelSource) -> str:
    """The fingerprint the engine will report; empty for a server. Raises EngineError."""
    return header_of(source).fingerprint if source.path is not None else ""


def header_of(source: ModelSource) -> GgufHeader:
    """The header of a local model with its adapter applied. Raises EngineError."""
    assert source.path is not None
    return read_adapted_header(source.path, source.adapter)


def new_engine(source: ModelSource, config: Config, paths: Paths) -> "Engine":
    """Create an engine for a model, not started."""
    if source.server is not None:
        from gistread.engine.remote.client import RemoteEngine
        from gistread.engine.remote.connection import RetryPolicy

        return RemoteEngine(
            source.server,
            context_tokens=config.context_tokens,
            connections=config.connections,
            retry_policy=RetryPolicy(answer_s=config.server_timeout_s),
            local_fingerprints=_fingerprints_here,
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


def _fingerprints_here(name: str) -> tuple[str, ...]:
    fingerprints = []
    for model in found_models():
        if model.name.casefold() == name.casefold():
            with contextlib.suppress(EngineError):
                fingerprints.append(read_header(model.parts[0]).fingerprint)
    return tuple(fingerprints)
