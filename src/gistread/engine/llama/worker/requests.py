"""What is known of a request while it is worked on."""

from dataclasses import dataclass, field

from gistread.engine.llama.worker.likelihood import Scorer
from gistread.engine.llama.worker.sampling import FreeSampler, OptionSampler
from gistread.engine.llama.worker.streaming import TextStream
from gistread.engine.protocol import Priority, Usage


@dataclass(eq=False, slots=True)
class Request:
    """A prompt on its way to an answer."""

    id: int
    priority: Priority
    prompt: list[int]
    max_tokens: int
    sampler: FreeSampler | OptionSampler | None
    """None: nothing is decided, the prompt is only evaluated."""
    stream: TextStream
    scorer: Scorer | None = None
    """Of a request that asks how likely the end of its prompt is."""
    stable: int = 0
    """Tokens at the beginning of the prompt that others will begin with too: worth a snapshot."""
    holds: bool = False
    """Whether what was evaluated is to be held in memory, when nothing is decided."""
    sought: bool = False
    """Whether a snapshot has been looked for."""
    sequence: int | None = None
    """Of the KV cache. None: it waits."""
    generated: list[int] = field(default_factory=list)
    reused: int = 0
    """Prompt tokens found in the cache."""
    prefilled: int = 0
    worked_s: float = 0.0
    cancelled: bool = False

    @property
    def tokens(self) -> list[int]:
        """Prompt and answer so far: what has to be evaluated before the next token can be decided."""
        return self.prompt + self.generated

    @property
    def length(self) -> int:
        return len(self.prompt) + len(self.generated)

    @property
    def tokens_left(self) -> int:
        """Of the answer, at most."""
        return self.max_tokens - len(self.generated)

    @property
    def reusable(self) -> int:
        """Tokens at the beginning of which nothing is wanted but that they have been evaluated."""
        return self.length - 1 if self.scorer is None else self.scorer.next_position

    def wants_logits(self, position: int) -> bool:
        """Whether what follows the token at `position` is to be decided, or scored."""
        if self.scorer is not None:
            return position >= self.scorer.next_position
        return self.sampler is not None and position == self.length - 1

    def usage(self) -> Usage:
        return Usage(self.prefilled, self.reused, len(self.generated), self.worked_s)
