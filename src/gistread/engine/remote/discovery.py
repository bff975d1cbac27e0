"""Discovers the program, model and window of a server with a few cheap requests; all may fail.

`Dialect` is what known server programs do differently.
"""

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gistread.engine.remote.address import ServerAddress, short_name
from gistread.engine.remote.connection import Connection, Json, member
from gistread.engine.remote.failures import RequestRefusedError, ServerLostError
from gistread.errors import EngineError
from gistread.units import format_list

_V1 = "/v1"
_NO_SUCH_PATH = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)
_MOST_NAMED = 8  # Models in a message
# What servers call the window in their list of models
_WINDOW_NAMES = (
    "max_model_len",
    "context_length",
    "context_window",
    "max_context_length",
)
# The window in Ollama's list of parameters: `num_ctx    8192`
_NUM_CTX = re.compile(r"^\s*num_ctx\s+(\d+)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Dialect:
    title: str  # For people
    # Concurrent requests, unless the settings or the server say otherwise
    connections: int = 4
    # Fields that turn reasoning off
    no_reasoning: dict[str, Any] = field(default_factory=dict)
    has_prefix_cache: bool = False
    # Window in tokens if neither the server nor the settings give one
    default_window: int = 8192


_TABLES = tomllib.loads(Path(__file__).with_name("servers.toml").read_text("utf-8"))
# By the `owned_by` of their models
_DIALECTS = {owner: Dialect(**table) for owner, table in _TABLES.items()}
_LLAMA_SERVER, _OLLAMA, _LM_STUDIO = (
    _DIALECTS[owner] for owner in ("llamacpp", "library", "organization_owner")
)
_OTHER = Dialect("OpenAI-compatible server")


@dataclass(frozen=True, slots=True)
class DiscoveredModel:
    base: str  # Base path of the OpenAI-compatible endpoints: `/v1`
    model: str  # The server's name for it
    dialect: Dialect
    context_tokens: int | None = None  # None if not reported
    slots: int | None = None  # Concurrent requests; None if not reported

    @property
    def root(self) -> str:
        return self.base.removesuffix(_V1)


async def find(connection: Connection) -> DiscoveredModel:
    """Find the model that an address names.

    Raises EngineError, RequestRefusedError, ServerLostError.
    """
    address = connection.address
    base, listed = await _list_models(connection, address)
    entry = _select(address, listed)
    dialect = _DIALECTS.get(str(entry.get("owned_by", "")).casefold(), _OTHER)
    model = DiscoveredModel(base, entry["id"], dialect, _listed_window(entry))
    if dialect is _OTHER:
        model = await _detect_dialect(connection, model)
    return await _with_details(connection, model)


async def loaded_window(connection: Connection, model: DiscoveredModel) -> int | None:
    """The window that the model was loaded with; only Ollama reports it, after loading."""
    if model.dialect is not _OLLAMA:
        return None
    running = member(await _query(connection, f"{model.root}/api/ps"), "models")
    if not isinstance(running, list):
        return None
    for entry in running:
        if model.model in (member(entry, "name"), member(entry, "model")):
            return tokens_of(member(entry, "context_length"))
    return None


async def _list_models(
    connection: Connection, address: ServerAddress
) -> tuple[str, list[Mapping[str, Any]]]:
    """The base path of the service, and the models that it lists."""
    why = ""
    # The path may have been given with the usual end or without it.
    bases = (address.path, address.path + _V1) if address.path else (_V1, "")
    for base in bases:
        try:
            answer = await connection.fetch(f"{base}/models")
        except RequestRefusedError as error:
            if error.status not in _NO_SUCH_PATH:
                raise
            why = why or f" ({error.status})"
            continue
        except ServerLostError as error:
            if error.busy or not error.answered:
                raise
            # An HTML page, or a server that cannot list its models.
            why = f": it {error.reason}"
            continue
        match answer:
            case {"data": [*entries]} | {"models": [*entries]}:
                return base, list(filter(_has_id, entries))
    if address.model:
        return address.path or _V1, []
    raise EngineError(
        f"{address.origin} answers, and lists no models{why}.",
        "Name one, and the path of its OpenAI-compatible service: http://host:port/v1#name.",
    )


def _has_id(entry: Json) -> bool:
    return isinstance(member(entry, "id"), str)


def _select(
    address: ServerAddress, listed: list[Mapping[str, Any]]
) -> Mapping[str, Any]:
    """The listed model that the address names, or the only one for texts."""
    if not address.model:
        return _only_model(address, listed)
    for has_name in _name_tests(address.model):
        matches = [entry for entry in listed if has_name(str(entry["id"]).casefold())]
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise EngineError(
                f"{address.model!r} is ambiguous: {_names(matches)}.",
                "Name one of them.",
            )
    if listed:
        raise EngineError(
            f"{address.origin} has no model {address.model!r}.",
            f"It has: {_names(listed)}.",
        )
    # The server lists no models: the name is taken as it was typed.
    return {"id": address.model}


def _name_tests(name: str) -> tuple[Callable[[str], bool], ...]:
    """Whether a listed name is meant, the surest test first."""
    typed = name.casefold()
    return (
        lambda listed: listed == typed,
        lambda listed: short_name(listed) == short_name(typed),
        lambda listed: typed in listed,
    )


def _only_model(
    address: ServerAddress, listed: list[Mapping[str, Any]]
) -> Mapping[str, Any]:
    """The only model, apart from those for embeddings. Raises EngineError if there are more."""
    if not listed:
        raise EngineError(
            f"{address.origin} has no model.", "Load one there and try again."
        )
    for_text = [entry for entry in listed if "embed" not in entry["id"].casefold()]
    entries = for_text or listed
    if len(entries) == 1:
        return entries[0]
    example = f"{address.origin}{address.path or _V1}#{entries[0]['id']}"
    raise EngineError(
        f"{address.origin} has several models: {_names(entries)}.",
        f"Name one: {example}",
    )


def _names(entries: list[Mapping[str, Any]]) -> str:
    return format_list([entry["id"] for entry in entries], _MOST_NAMED)


async def _with_details(
    connection: Connection, model: DiscoveredModel
) -> DiscoveredModel:
    """Add the window and slots that the program reports in a way of its own."""
    match model.dialect.title:
        case _LLAMA_SERVER.title:
            props = await _props(connection, model)
            settings = member(props, "default_generation_settings")
            window = tokens_of(member(settings, "n_ctx")) or model.context_tokens
            slots = tokens_of(member(props, "total_slots"))
            return replace(model, context_tokens=window, slots=slots)
        case _OLLAMA.title:
            description = await _ollama_description(connection, model)
            parameters = str(member(description, "parameters"))
            num_ctx = _NUM_CTX.search(parameters)
            return replace(model, context_tokens=int(num_ctx[1]) if num_ctx else None)
        case _LM_STUDIO.title:
            path = f"{model.root}/api/v0/models/{model.model}"
            details = await _query(connection, path)
            loaded_window = tokens_of(member(details, "loaded_context_length"))
            longest = tokens_of(member(details, "max_context_length"))
            return replace(model, context_tokens=loaded_window or longest)
    return model


async def _detect_dialect(
    connection: Connection, model: DiscoveredModel
) -> DiscoveredModel:
    """Recognise llama-server and Ollama by their own endpoints."""
    props = await _query(connection, f"{model.root}/props")
    if member(props, "default_generation_settings") is not None:
        return replace(model, dialect=_LLAMA_SERVER)
    version = await _query(connection, f"{model.root}/api/version")
    if not version:
        return model
    description = await _ollama_description(connection, model)
    for name in ("model_info", "modelfile"):
        if member(description, name) is not None:
            return replace(model, dialect=_OLLAMA)
    return model


async def _ollama_description(connection: Connection, model: DiscoveredModel) -> Json:
    """Ollama's description of a model; None if there is none."""
    return await _query(connection, f"{model.root}/api/show", {"model": model.model})


def _listed_window(entry: Mapping[str, Any]) -> int | None:
    """The window that a list of models reports; None if it does not."""
    for name in _WINDOW_NAMES:
        if tokens := tokens_of(entry.get(name)):
            return tokens
    meta = entry.get("meta")
    return tokens_of(member(meta, "n_ctx") or member(meta, "n_ctx_train"))


async def _props(connection: Connection, model: DiscoveredModel) -> Json:
    """llama-server's properties of the model, if any.

    Raises ServerLostError while a router loads the model.
    """
    path = f"{model.root}/props"
    try:
        props = await connection.fetch(path)
        if member(props, "role") != "router":
            return props
        name = quote(model.model, safe="")
        return await connection.fetch(f"{path}?model={name}", loads=True)
    except RequestRefusedError:
        return None
    except ServerLostError as lost:
        if lost.busy:
            raise
        return None


def tokens_of(value: Json) -> int | None:
    """A number of tokens; None if the value is none."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if value > 0 else None


async def _query(connection: Connection, path: str, body: Json = None) -> Json:
    """The answer to an optional request; None if the server gives none."""
    try:
        return await connection.fetch(path, body)
    except (RequestRefusedError, ServerLostError):
        return None
