"""Messages between client and worker: JSON lines.

`kind` names a dataclass, `id` the request, or 0, and the other keys are its fields.
"""

from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import orjson

from gistread.engine.llama.fit import LoadOptions
from gistread.engine.protocol import (
    Choice,
    Completion,
    EngineInfo,
    EngineState,
    Message,
    Priority,
    Sampling,
    TextDelta,
)

FAST_COPY = -1  # In place of the number of a layout: the model's fast copy

# To the worker. The first message is `Load`.


@dataclass(frozen=True, slots=True)
class Load:
    """Load a model that writes text. Answered by `Loaded` or `Failed`."""

    path: str
    options: LoadOptions
    cache_directory: str = ""  # Directory of prompt cache files; empty: none are used
    adapter: str = ""  # Path of a LoRA adapter; empty: none
    copies: str = ""  # Directory of fast copies; empty: none are made
    # Number of the layout to try; those before it failed. `FAST_COPY`: the fast copy, or without
    # one the first layout
    layout: int = FAST_COPY


@dataclass(frozen=True, slots=True)
class Cancel:
    """Cancel the request with this id, which is not answered then."""


@dataclass(frozen=True, slots=True)
class Generate:
    """Answered by `TextDelta`s and a `Completion`."""

    prompt: tuple[Message, ...]
    sampling: Sampling
    priority: Priority
    # Whether only the KV state of the cacheable beginning matters, not the text
    only_warms: bool = False


@dataclass(frozen=True, slots=True)
class Choose:
    """Answered by a `Choice`."""

    prompt: tuple[Message, ...]
    options: tuple[str, ...]
    priority: Priority


@dataclass(frozen=True, slots=True)
class Count:
    """Count a text, or a prompt with its chat template. Answered by `Counted`."""

    text: str = ""
    prompt: tuple[Message, ...] = ()


# From the worker.


@dataclass(frozen=True, slots=True)
class LoadAttempt:
    """A layout is about to be tried."""

    number: int  # Of the layout, or `FAST_COPY`
    remaining: int  # Layouts to try after it
    notice: str  # For the user: what was reduced for lack of memory


@dataclass(frozen=True, slots=True)
class Loaded:
    info: EngineInfo
    library: str  # Version of llama.cpp and its instruction sets


@dataclass(frozen=True, slots=True)
class Counted:
    tokens: int


@dataclass(frozen=True, slots=True)
class TooLong:
    """Prompt and answer do not fit the window."""

    prompt_tokens: int
    answer_tokens: int
    context_tokens: int


@dataclass(frozen=True, slots=True)
class Failed:
    message: str
    hint: str = ""
    next_may_succeed: bool = False  # Of a load: whether to try the next layout


Request = Generate | Choose | Count
Command = Load | Cancel
Answer = Completion | Choice | Counted  # The last reply to a request
Reply = TextDelta | Answer | TooLong | Failed
Event = LoadAttempt | EngineState | Reply

_hints = cache(get_type_hints)
_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in get_args(Request | Command | Loaded | Event)
}


def encode(message: Request | Command | Loaded | Event, request_id: int) -> bytes:
    """The line for a message; `decode` reverses it."""
    content = {field.name: getattr(message, field.name) for field in fields(message)}
    line = {"kind": type(message).__name__, "id": request_id, **content}
    return orjson.dumps(line) + b"\n"


def decode(line: bytes) -> tuple[int, Any]:
    """The id and the dataclass of one line.

    Raises ValueError for any other line, such as one cut off.
    """
    try:
        content = orjson.loads(line)
        request_id = content.pop("id")
        kind = _KINDS[content.pop("kind")]
        return request_id, _build(kind, content)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ValueError(f"a line of {len(line):,} bytes is no message") from None


def _build(kind: Any, value: Any) -> Any:
    """The object of type `kind`, a class or an annotation, for decoded JSON."""
    if is_dataclass(kind) and isinstance(kind, type):
        hints = _hints(kind)
        members = {name: _build(hints[name], item) for name, item in value.items()}
        return kind(**members)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    arguments = get_args(kind)
    if get_origin(kind) is UnionType:  # `Type | None`
        if value is None:
            return None
        return _build(arguments[0], value)
    if get_origin(kind) is tuple:  # Of any length
        return tuple(_build(arguments[0], item) for item in value)
    return value
