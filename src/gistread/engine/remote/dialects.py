"""What known server programs do differently."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Dialect:
    title: str  # For people
    connections: int = 4  # Concurrent requests, unless the settings or the server say otherwise
    # Fields that continue the assistant's last message; None if it cannot be continued.
    continuation: dict[str, Any] | None = None
    no_reasoning: dict[str, Any] = field(default_factory=dict)  # Fields that turn reasoning off
    has_prefix_cache: bool = False
    default_window: int = 8192  # Window in tokens if neither the server nor the settings give one


_NO_REASONING = {"chat_template_kwargs": {"enable_thinking": False}}

LLAMA_SERVER = Dialect("llama-server", continuation={}, no_reasoning=_NO_REASONING, has_prefix_cache=True)
# One request at a time: a second one aborts the first.
LLAMA_CPP_PYTHON = Dialect("llama_cpp.server", connections=1, default_window=2048)
VLLM = Dialect(
    "vLLM",
    connections=16,
    continuation={"add_generation_prompt": False, "continue_final_message": True},
    no_reasoning=_NO_REASONING,
    has_prefix_cache=True,
)
SGLANG = Dialect(
    "SGLang",
    connections=16,
    continuation={"continue_final_message": True},
    no_reasoning=_NO_REASONING,
    has_prefix_cache=True,
)
OLLAMA = Dialect(
    "Ollama",
    connections=1,
    continuation={},
    no_reasoning={"reasoning_effort": "none"},
    has_prefix_cache=True,
    default_window=4096,
)
LM_STUDIO = Dialect("LM Studio", connections=1, has_prefix_cache=True, default_window=4096)
OTHER = Dialect("OpenAI-compatible server")
