"""What known server programs support beyond the common protocol. Each server is also probed."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class ConstraintMethod(StrEnum):
    GRAMMAR = "grammar"  # GBNF, in llama-server and llama_cpp.server
    STRUCTURED = "structured_outputs"  # vLLM since 0.12
    GUIDED = "guided"  # vLLM before 0.12: guided_choice, guided_grammar
    REGEX = "regex"  # SGLang: a regular expression, or a grammar as `ebnf`
    JSON_SCHEMA = "json_schema"  # OpenAI's `response_format`: a JSON object with a schema


class Tokenizer(StrEnum):
    LLAMA_SERVER = "llama-server"
    LLAMA_CPP_PYTHON = "llama_cpp.server"
    VLLM = "vllm"  # And SGLang
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Dialect:
    title: str  # For people
    # In the order tried: methods that return the bare option, as the local engine does, come before JSON.
    methods: tuple[ConstraintMethod, ...] = (
        ConstraintMethod.JSON_SCHEMA,
        ConstraintMethod.STRUCTURED,
        ConstraintMethod.GRAMMAR,
        ConstraintMethod.REGEX,
    )
    tokenizer: Tokenizer = Tokenizer.NONE
    # Name of the repetition penalty. The default is subtracted from logits, others divide them.
    repetition: str = "frequency_penalty"
    # Fields that override sampling settings shipped with a model.
    sampling_overrides: dict[str, Any] = field(default_factory=dict)
    has_llama_sampling: bool = False
    # Fields that continue the assistant's last message; None if it cannot be continued.
    continuation: dict[str, Any] | None = None
    no_reasoning: dict[str, Any] = field(default_factory=dict)  # Fields that turn reasoning off
    aborts_answers: bool = False  # Whether it may abort an answer and report a normal end
    has_prefix_cache: bool = False
    default_window: int = 8192  # Window in tokens if neither the server nor the settings give one
    initial_parallel: int = 4
    max_parallel: int = 64
    has_slots: bool = True  # Whether a fixed number of requests run and others wait; otherwise all run together
    may_share_window: bool = False  # Whether the reported window may be shared by concurrent requests


_NO_REASONING = {"chat_template_kwargs": {"enable_thinking": False}}

LLAMA_SERVER = Dialect(
    "llama-server",
    methods=(ConstraintMethod.GRAMMAR, ConstraintMethod.JSON_SCHEMA),
    tokenizer=Tokenizer.LLAMA_SERVER,
    repetition="repeat_penalty",
    has_llama_sampling=True,
    continuation={},
    no_reasoning=_NO_REASONING,
    has_prefix_cache=True,
    initial_parallel=2,
    may_share_window=True,
)
LLAMA_CPP_PYTHON = Dialect(
    "llama_cpp.server",
    methods=(ConstraintMethod.GRAMMAR,),
    tokenizer=Tokenizer.LLAMA_CPP_PYTHON,
    repetition="repeat_penalty",
    sampling_overrides={"top_k": 0, "top_p": 1.0, "min_p": 0.0},
    # One request at a time: a second one aborts the first.
    aborts_answers=True,
    default_window=2048,
    initial_parallel=1,
    max_parallel=1,
)
VLLM = Dialect(
    "vLLM",
    methods=(ConstraintMethod.STRUCTURED, ConstraintMethod.GUIDED, ConstraintMethod.JSON_SCHEMA),
    tokenizer=Tokenizer.VLLM,
    # Its repetition_penalty also applies to the words of the prompt.
    sampling_overrides={"repetition_penalty": 1.0},
    continuation={"add_generation_prompt": False, "continue_final_message": True},
    no_reasoning=_NO_REASONING,
    has_prefix_cache=True,
    initial_parallel=8,
    max_parallel=256,
    has_slots=False,
)
SGLANG = Dialect(
    "SGLang",
    methods=(ConstraintMethod.REGEX, ConstraintMethod.JSON_SCHEMA),
    tokenizer=Tokenizer.VLLM,
    repetition="repetition_penalty",
    continuation={"continue_final_message": True},
    no_reasoning=_NO_REASONING,
    has_prefix_cache=True,
    initial_parallel=8,
    max_parallel=256,
    has_slots=False,
)
OLLAMA = Dialect(
    "Ollama",
    methods=(ConstraintMethod.JSON_SCHEMA,),
    continuation={},
    no_reasoning={"reasoning_effort": "none"},
    has_prefix_cache=True,
    default_window=4096,
    initial_parallel=1,
    max_parallel=16,
)
LM_STUDIO = Dialect(
    "LM Studio",
    methods=(ConstraintMethod.JSON_SCHEMA,),
    repetition="repeat_penalty",
    has_prefix_cache=True,
    default_window=4096,
    initial_parallel=1,
    max_parallel=16,
)
OTHER = Dialect("OpenAI-compatible server", has_slots=False)
