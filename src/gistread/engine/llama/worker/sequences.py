"""What is known of each request while it is worked on, and of each sequence of a KV cache."""

from dataclasses import dataclass, field

from gistread.engine.llama.worker.sampling import FreeSampler, OptionSampler
from gistread.engine.llama.worker.streaming import TextStream
from gistread.engine.protocol import Priority, Usage


@dataclass(eq=False, slots=True)
class Slot:
    """One sequence of a KV cache, and what it holds: also after its request has ended, for the next one."""

    number: int
    tokens: list[int] = field(default_factory=list)
    """Evaluated, in order of position: `tokens[i]` stands at position i."""
    busy: bool = False
    used_at: float = 0.0
    """When a request last ended in it (`time.monotonic`), for eviction."""


@dataclass(eq=False, slots=True)
class Request:
    """A prompt on its way to an answer."""

    id: int
    priority: Priority
    prompt: list[int]
    max_tokens: int
    sampler: FreeSampler | OptionSampler
    stream: TextStream
    slot: Slot | None = None
    """None: it waits."""
    generated: list[int] = field(default_factory=list)
    reused: int = 0
    """Prompt tokens found in the cache."""
    prefilled: int = 0
    worked_s: float = 0.0
    cancelled: bool = False

    @property
    def all_tokens(self) -> list[int]:
        """Prompt and answer so far: what the slot has to hold before the next token can be decided."""
        return self.prompt + self.generated

    @property
    def pending(self) -> int:
        """Tokens not evaluated yet: 1 while decoding."""
        held = len(self.slot.tokens) if self.slot else 0
        return len(self.prompt) + len(self.generated) - held

    @property
    def prefilling(self) -> bool:
        return not self.generated

    def usage(self) -> Usage:
        return Usage(self.prefilled, self.reused, len(self.generated), self.worked_s)


def common_prefix(one: list[int], other: list[int]) -> int:
    """Length of the longest common beginning."""
    limit = min(len(one), len(other))
    if one[:limit] == other[:limit]:
        return limit
    low, high = 0, limit
    while low < high:  # the slices compare in C: a bisection beats a loop over thousands of tokens
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
