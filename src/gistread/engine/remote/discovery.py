"""What answers at an address: which program, which of its models is meant, and how much fits before it.

A few cheap questions, each of which a server may not know. What cannot be found out is left open.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from gistread.engine.remote.address import ServerAddress, short_name
from gistread.engine.remote.connection import Connection, Json
from gistread.engine.remote.dialects import (
    LLAMA_CPP_PYTHON,
    LLAMA_SERVER,
    LM_STUDIO,
    OLLAMA,
    OTHER,
    SGLANG,
    VLLM,
    Dialect,
)
from gistread.engine.remote.failures import RequestRefusedError, ServerLostError
from gistread.errors import EngineError

_V1 = "/v1"
_NAMED = 8
"""Models that an error names."""
_OWNERS = {
    "llamacpp": LLAMA_SERVER,
    "vllm": VLLM,
    "sglang": SGLANG,
    "library": OLLAMA,
    "organization_owner": LM_STUDIO,
    "me": LLAMA_CPP_PYTHON,
}
"""Who is said to own a model, by the programs that serve it."""


@dataclass(frozen=True, slots=True)
class DiscoveredModel:
    """A model on a server."""

    base: str
    """The path that the protocol's endpoints lie below: `/v1`."""
    model: str
    """As the server calls it."""
    dialect: Dialect
    context_tokens: int | None = None
    """None: the server does not say."""
    slots: int | None = None
    """Requests that it works on at the same time, where it says."""

    @property
    def root(self) -> str:
        """The path that the server's own endpoints lie below."""
        return self.base.removesuffix(_V1)

    @property
    def name(self) -> str:
        """For people, and the same on every server that has this model: no folder, no owner, no suffix."""
        return short_name(self.model)


async def find(connection: Connection) -> DiscoveredModel:
    """The model that the connection's address means. Raises EngineError, RequestRefusedError, ServerLostError."""
    address = connection.address
    base, listed = await _listed(connection, address)
    entry = _meant(address, listed)
    found = DiscoveredModel(base, entry["id"], _OWNERS.get(str(entry.get("owned_by", "")).casefold(), OTHER))
    return await _described(connection, found, entry)


async def window_in_use(connection: Connection, found: DiscoveredModel) -> int | None:
    """The window that the model was loaded with, which some programs tell once it is."""
    if found.dialect is not OLLAMA:
        return None
    match await _asked(connection, f"{found.root}/api/ps"):
        case {"models": [*models]}:
            for one in models:
                if isinstance(one, dict) and found.model in (one.get("name"), one.get("model")):
                    return _tokens(one.get("context_length"))
    return None


async def _listed(connection: Connection, address: ServerAddress) -> tuple[str, list[Mapping[str, Any]]]:
    """The base path, and the models that are listed below it. The person may have left out `/v1`."""
    why = ""
    for base in (address.path, address.path + _V1) if address.path else (_V1, ""):
        try:
            answer = await connection.get(f"{base}/models")
        except RequestRefusedError as error:
            if error.status not in (404, 405):
                raise
            why = why or f" ({error.status})"
            continue
        except ServerLostError as error:
            if error.busy or not error.answered:
                raise
            why = f": it {error.reason}"  # A page for people lies there, or it cannot list what it has.
            continue
        match answer:
            case {"data": [*entries]} | {"models": [*entries]}:
                return base, [one for one in entries if isinstance(one, dict) and isinstance(one.get("id"), str)]
    if address.model:
        return address.path or _V1, []
    raise EngineError(
        f"{address.origin} answers, and lists no models{why}.",
        "Name one, and the path of its OpenAI-compatible service: http://host:port/v1#name.",
    )


def _meant(address: ServerAddress, listed: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The listed model that the name in the address means, or a part of a name that only one has; or the only one."""
    wanted = address.model.casefold()
    texts = [one for one in listed if "embed" not in one["id"].casefold()] or listed
    if not wanted:
        if len(texts) == 1:
            return texts[0]
        if not texts:
            raise EngineError(f"{address.origin} has no model.", "Load one there, then ask again.")
        raise EngineError(
            f"{address.origin} has several models: {_names(texts)}.",
            f"Name one: {address.origin}{address.path or _V1}#{texts[0]['id']}",
        )
    names = [(one, str(one["id"]).casefold()) for one in listed]
    for matches in (
        [one for one, name in names if name == wanted],
        [one for one, name in names if short_name(name) == short_name(wanted)],
        [one for one, name in names if name.startswith(wanted)],
        [one for one, name in names if wanted in name],
    ):
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise EngineError(f"{address.model!r} may be {_names(matches)}.", "Name one of them.")
    if listed:
        raise EngineError(f"{address.origin} has no model {address.model!r}.", f"It has: {_names(listed)}.")
    return {"id": address.model}


def _names(entries: list[Mapping[str, Any]]) -> str:
    names = [str(one["id"]) for one in entries[:_NAMED]]
    return ", ".join(names) + (f" and {len(entries) - _NAMED} more" if len(entries) > _NAMED else "")


async def _described(connection: Connection, found: DiscoveredModel, entry: Mapping[str, Any]) -> DiscoveredModel:
    """What else the server says of the model, asked in its own way."""
    found = replace(found, context_tokens=_of_entry(entry))
    if found.dialect is OTHER:
        found = await _recognised(connection, found)
    match found.dialect.title:
        case LLAMA_SERVER.title:
            return _with_props(found, await _props(connection, found))
        case OLLAMA.title:
            shown = await _asked(connection, f"{found.root}/api/show", {"model": found.model})
            return replace(found, context_tokens=_shown_window(shown))
        case LM_STUDIO.title:
            told = await _asked(connection, f"{found.root}/api/v0/models/{found.model}")
            told = told if isinstance(told, dict) else {}
            tokens = _tokens(told.get("loaded_context_length")) or _tokens(told.get("max_context_length"))
            return replace(found, context_tokens=tokens)
        case SGLANG.title if found.context_tokens is None:
            info = await _asked(connection, f"{found.root}/get_server_info")
            return replace(
                found, context_tokens=_tokens(info.get("context_length")) if isinstance(info, dict) else None
            )
    return found


async def _recognised(connection: Connection, found: DiscoveredModel) -> DiscoveredModel:
    """A server that does not say whose models it has, by endpoints that only one kind has."""
    props = await _asked(connection, f"{found.root}/props")
    if isinstance(props, dict) and "default_generation_settings" in props:
        return replace(found, dialect=LLAMA_SERVER)
    version = await _asked(connection, f"{found.root}/api/version")
    shown = await _asked(connection, f"{found.root}/api/show", {"model": found.model}) if version else None
    if isinstance(shown, dict) and ("model_info" in shown or "modelfile" in shown):
        return replace(found, dialect=OLLAMA)
    return found


def _of_entry(entry: Mapping[str, Any]) -> int | None:
    """The window in the list of models, by the names that it goes by."""
    for name in ("max_model_len", "context_length", "context_window", "max_context_length"):
        if tokens := _tokens(entry.get(name)):
            return tokens
    meta = entry.get("meta")
    return _tokens(meta.get("n_ctx") or meta.get("n_ctx_train")) if isinstance(meta, dict) else None


async def _props(connection: Connection, found: DiscoveredModel) -> Json:
    """What llama-server says of itself and its model; None where it says nothing.

    One that has several models says it of the one that is named, which it loads if it is not. Raises ServerLostError
    while it is loading: some versions list their models before they know anything of them.
    """
    path = f"{found.root}/props"
    try:
        match await connection.get(path):
            case {"role": "router"}:
                return await connection.get(f"{path}?model={quote(found.model, safe='')}", loads=True)
            case props:
                return props
    except RequestRefusedError:
        return None
    except ServerLostError as lost:
        if lost.busy:
            raise
        return None


def _with_props(found: DiscoveredModel, props: Json) -> DiscoveredModel:
    """What llama-server says of itself: the window of one slot, and how many there are."""
    match props:
        case {"default_generation_settings": {"n_ctx": n_ctx}}:
            found = replace(found, context_tokens=_tokens(n_ctx) or found.context_tokens)
    match props:
        case {"total_slots": int(slots)} if slots > 0:
            found = replace(found, slots=slots)
    return found


def _shown_window(shown: Json) -> int | None:
    """What Ollama loads a model with, if its file says so; what it was trained for would be more than is there."""
    match shown:
        case {"parameters": str(parameters)}:
            for line in parameters.splitlines():
                match line.split():
                    case ["num_ctx", number] if number.isdecimal():
                        return int(number)
    return None


def _tokens(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


async def _asked(connection: Connection, path: str, body: Json = None) -> Json:
    """The answer to what a server need not know; None where it does not."""
    try:
        return await (connection.get(path) if body is None else connection.post(path, body))
    except (RequestRefusedError, ServerLostError):
        return None
