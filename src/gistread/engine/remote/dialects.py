"""The programs that serve models, and what each understands beside the common part of the protocol.

Data alone. What a particular server really does is tried out (`discovery.py`): versions differ, and so do the
programs that stand between.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class ConstraintMethod(StrEnum):
    """How a server is told that an answer must be one of a few, or have a form."""

    GRAMMAR = "grammar"
    """llama.cpp's grammars, as llama-server and llama_cpp.server take them."""
    STRUCTURED = "structured_outputs"
    """vLLM since 0.12."""
    GUIDED = "guided"
    """vLLM before that: guided_choice, guided_grammar."""
    REGEX = "regex"
    """SGLang: an expression, or a grammar as `ebnf`."""
    JSON_SCHEMA = "json_schema"
    """The protocol's own: a JSON object of this schema."""


class Tokenizer(StrEnum):
    """Where a server counts tokens."""

    LLAMA_SERVER = "llama-server"
    LLAMA_CPP_PYTHON = "llama_cpp.server"
    VLLM = "vllm"
    """SGLang has the same."""
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Dialect:
    """One kind of server."""

    title: str
    """For people."""
    means: tuple[ConstraintMethod, ...] = (
        ConstraintMethod.JSON_SCHEMA,
        ConstraintMethod.STRUCTURED,
        ConstraintMethod.GRAMMAR,
        ConstraintMethod.REGEX,
    )
    """In the order in which they are tried. Those that give the bare option come before JSON: the prompts ask for it,
    and a local engine answers with it."""
    tokenizer: Tokenizer = Tokenizer.NONE
    repetition: str = "frequency_penalty"
    """What it calls the setting that makes tokens decoded lately less likely. This one is taken from logits, and
    others divide them."""
    unlike_model: dict[str, Any] = field(default_factory=dict)
    """What to add so that the settings which come with a model do not count."""
    samples_as_llama: bool = False
    """Whether it takes llama.cpp's settings of sampling, by llama.cpp's names."""
    continues: dict[str, Any] | None = None
    """What to add so that an assistant's last message is continued. None: it begins a new one."""
    no_thinking: dict[str, Any] = field(default_factory=dict)
    """What to add so that the model does not think before it answers."""
    cuts_off: bool = False
    """Whether it may end an answer in the middle and say that it has ended in order."""
    keeps_prefixes: bool = False
    """Whether what was evaluated once is found again by its beginning."""
    usual_window: int = 8192
    """Tokens that are taken to fit where neither the server nor the settings say."""
    at_first: int = 4
    """Requests at work at the same time before anything is known of what pays."""
    at_most: int = 64
    has_slots: bool = True
    """Whether a request beyond those at work waits for one of them to end; else all are worked on together."""
    may_share_window: bool = False
    """Whether each may be told the whole of a window that they fill together."""


_NO_THINKING = {"chat_template_kwargs": {"enable_thinking": False}}

LLAMA_SERVER = Dialect(
    "llama-server",
    means=(ConstraintMethod.GRAMMAR, ConstraintMethod.JSON_SCHEMA),
    tokenizer=Tokenizer.LLAMA_SERVER,
    repetition="repeat_penalty",
    samples_as_llama=True,
    continues={},
    no_thinking=_NO_THINKING,
    keeps_prefixes=True,
    at_first=2,
    may_share_window=True,
)
LLAMA_CPP_PYTHON = Dialect(
    "llama_cpp.server",
    means=(ConstraintMethod.GRAMMAR,),
    tokenizer=Tokenizer.LLAMA_CPP_PYTHON,
    repetition="repeat_penalty",
    # One request at a time, and a second one ends the first in the middle.
    cuts_off=True,
    usual_window=2048,
    at_first=1,
    at_most=1,
)
VLLM = Dialect(
    "vLLM",
    means=(ConstraintMethod.STRUCTURED, ConstraintMethod.GUIDED, ConstraintMethod.JSON_SCHEMA),
    tokenizer=Tokenizer.VLLM,
    # Its repetition_penalty is on every word of the prompt as well.
    unlike_model={"repetition_penalty": 1.0},
    continues={"add_generation_prompt": False, "continue_final_message": True},
    no_thinking=_NO_THINKING,
    keeps_prefixes=True,
    at_first=8,
    at_most=256,
    has_slots=False,
)
SGLANG = Dialect(
    "SGLang",
    means=(ConstraintMethod.REGEX, ConstraintMethod.JSON_SCHEMA),
    tokenizer=Tokenizer.VLLM,
    repetition="repetition_penalty",
    continues={"continue_final_message": True},
    no_thinking=_NO_THINKING,
    keeps_prefixes=True,
    at_first=8,
    at_most=256,
    has_slots=False,
)
OLLAMA = Dialect(
    "Ollama",
    means=(ConstraintMethod.JSON_SCHEMA,),
    continues={},
    no_thinking={"reasoning_effort": "none"},
    keeps_prefixes=True,
    usual_window=4096,
    at_first=1,
    at_most=16,
)
LM_STUDIO = Dialect(
    "LM Studio",
    means=(ConstraintMethod.JSON_SCHEMA,),
    repetition="repeat_penalty",
    keeps_prefixes=True,
    usual_window=4096,
    at_first=1,
    at_most=16,
)
OTHER = Dialect("OpenAI-compatible server", has_slots=False)
