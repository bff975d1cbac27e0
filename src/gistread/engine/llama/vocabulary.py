"""The vocabulary that a GGUF file carries, as its header has it. Nothing is made of it here, and nothing checked."""

from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from gistread.engine.llama.gguf import read_values
from gistread.engine.llama.gguf_contents import Value

_KEYS = ("model", "pre", "tokens", "token_type", "merges")


class Kind(IntEnum):
    """Of a token, as llama.cpp numbers them."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Tokens and how texts are divided into them. Lists are empty and texts too where the file says nothing."""

    model: str
    """The method: `gpt2` is byte-level BPE."""
    pre: str
    """The name of the rule that divides a text into words before anything is merged."""
    tokens: list[bytes]
    """In the order of their ids, as they are written: byte-level BPE writes bytes as printable characters."""
    kinds: list[int]
    """Of each token; may be shorter than `tokens`, or longer."""
    merges: list[bytes]
    """Pairs with a space between, the most wanted first."""
    title: str
    """What the model is called. llama.cpp decides by it how the tokens of some models behave."""

    def kind(self, token: int) -> int:
        return self.kinds[token] if token < len(self.kinds) else Kind.NORMAL


def read_vocabulary(path: Path) -> Vocabulary:
    """Of this model file; a fifth of a second for 150,000 tokens. Raises EngineError as `gguf.read_header`."""
    prefix = "tokenizer.ggml."
    values = read_values(path, {*(prefix + key for key in _KEYS), "general.name"})
    return Vocabulary(
        model=_text(values.get(prefix + "model")),
        pre=_text(values.get(prefix + "pre")),
        tokens=_strings(values.get(prefix + "tokens")),
        kinds=_numbers(values.get(prefix + "token_type")),
        merges=_strings(values.get(prefix + "merges")),
        title=_text(values.get("general.name")),
    )


def _text(value: Value | None) -> str:
    return value if isinstance(value, str) else ""


def _strings(value: Value | None) -> list[bytes]:
    return [item for item in value if isinstance(item, bytes)] if isinstance(value, list) else []


def _numbers(value: Value | None) -> list[int]:
    return [item for item in value if isinstance(item, int)] if isinstance(value, list) else []
