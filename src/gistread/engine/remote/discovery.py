"""Discovers the program, model and window of a server with a few cheap requests.

`Dialect` is what known server programs do differently.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from gistread.engine.remote.address import ServerAddress, short_name
from gistread.engine.remote.connection import Connection, Json
from gistread.engine.remote.failures import RequestRefusedError, ServerLostError
from gistread.errors import EngineError
from gistread.units import format_list

_V1 = "/v1"


@dataclass(frozen=True, slots=True)
class Dialect:
    title: str  # For people
    connections: int = 4  # Concurrent requests, unless the settings or the server say otherwise
    no_reasoning: dict[str, Any] = field(default_factory=dict)  # Fields that turn reasoning off
    default_window: int = 8192  # Window in tokens if neither the server nor the settings give one


_NO_REASONING = {"chat_template_kwargs": {"enable_thinking": False}}

LLAMA_SERVER = Dialect("llama-server", no_reasoning=_NO_REASONING)
OLLAMA = Dialect("Ollama", 1, {"reasoning_effort": "none"}, default_window=4096)
LM_STUDIO = Dialect("LM Studio", connections=1, default_window=4096)

# Server programs by the `owned_by` of their models.
_OWNERS = {
    "vllm": Dialect("vLLM", 16, _NO_REASONING),
    "sglang": Dialect("SGLang", 16, _NO_REASONING),
    "organization_owner": LM_STUDIO,
    # One request at a time: a second one aborts the first.
    "me": Dialect("llama_cpp.server", connections=1, default_window=2048),
}
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

    @property
    def name(self) -> str:
        """For people: without folder, owner and suffix, so the same on every server."""
        return short_name(self.model)


async def find(connection: Connection) -> DiscoveredModel:
    """Find the model that an address names. Raises EngineError, RequestRefusedError, ServerLostError."""
    base, listed = await _list_models(connection, connection.address)
    entry = _select(connection.address, listed)
    dialect = _OWNERS.get(str(entry.get("owned_by", "")).casefold(), _OTHER)
    found = DiscoveredModel(base, entry["id"], dialect, _listed_window(entry))
    if dialect is LM_STUDIO:
        details = await _query(connection, f"{found.root}/api/v0/models/{found.model}")
        return replace(found, context_tokens=_tokens(_field(details, "loaded_context_length")))
    if dialect is not _OTHER:
        return found
    # With its model, because a server of several loads it first.
    props = await _query(connection, f"{found.root}/props?model={quote(found.model, safe='')}", may_be_busy=True)
    if (settings := _field(props, "default_generation_settings")) is not None:
        window = _tokens(_field(settings, "n_ctx")) or found.context_tokens
        return replace(found, dialect=LLAMA_SERVER, context_tokens=window, slots=_tokens(_field(props, "total_slots")))
    if isinstance(_field(await _query(connection, f"{found.root}/api/ps"), "models"), list):
        return replace(found, dialect=OLLAMA, context_tokens=None)
    return found


async def loaded_window(connection: Connection, found: DiscoveredModel) -> int | None:
    """The window that the model was loaded with; only Ollama reports it, after loading."""
    if found.dialect is not OLLAMA:
        return None
    for one in _field(await _query(connection, f"{found.root}/api/ps"), "models") or ():
        if found.model in (_field(one, "name"), _field(one, "model")):
            return _tokens(_field(one, "context_length"))
    return None


async def _list_models(connection: Connection, address: ServerAddress) -> tuple[str, list[Mapping[str, Any]]]:
    why = ""
    for base in (address.path, address.path + _V1) if address.path else (_V1, ""):
        try:
            answer = await connection.fetch(f"{base}/models")
        except RequestRefusedError as error:
            if error.status not in (404, 405):
                raise
            why = why or f" ({error.status})"
            continue
        except ServerLostError as error:
            if error.busy or not error.answered:
                raise
            why = f": it {error.reason}"  # An HTML page, or a server that cannot list its models.
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


def _select(address: ServerAddress, listed: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    wanted = address.model.casefold()
    if not wanted:
        texts = [one for one in listed if "embed" not in one["id"].casefold()] or listed
        if len(texts) == 1:
            return texts[0]
        if not texts:
            raise EngineError(f"{address.origin} has no model.", "Load one there and try again.")
        raise EngineError(
            f"{address.origin} has several models: {_names(texts)}.",
            f"Name one: {address.origin}{address.path or _V1}#{texts[0]['id']}",
        )
    names = [(one, str(one["id"]).casefold()) for one in listed]
    for matches in (
        [one for one, name in names if name == wanted],
        [one for one, name in names if short_name(name) == short_name(wanted)],
        [one for one, name in names if wanted in name],
    ):
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise EngineError(f"{address.model!r} is ambiguous: {_names(matches)}.", "Name one of them.")
    if listed:
        raise EngineError(f"{address.origin} has no model {address.model!r}.", f"It has: {_names(listed)}.")
    return {"id": address.model}


def _names(entries: list[Mapping[str, Any]]) -> str:
    return format_list([one["id"] for one in entries], 8)


def _listed_window(entry: Mapping[str, Any]) -> int | None:
    for name in ("max_model_len", "context_length", "context_window", "max_context_length"):
        if tokens := _tokens(entry.get(name)):
            return tokens
    meta = entry.get("meta")
    return _tokens(_field(meta, "n_ctx") or _field(meta, "n_ctx_train"))


def _field(value: Json, name: str) -> Json:
    return value.get(name) if isinstance(value, dict) else None


def _tokens(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


async def _query(connection: Connection, path: str, *, may_be_busy: bool = False) -> Json:
    """What is there; None if nothing is. `may_be_busy`: raise ServerLostError while the server is."""
    try:
        return await connection.fetch(path)
    except (RequestRefusedError, ServerLostError) as error:
        if may_be_busy and isinstance(error, ServerLostError) and error.busy:
            raise
        return None
