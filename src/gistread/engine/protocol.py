"""The interface of engines: `Engine` answers prompts.

Cancelling the task that awaits a request stops it in the engine. Prompts put long, stable text
first and the task last: an engine caches prefixes and evaluates only what is new.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Literal, Protocol, TypeVar

from gistread.errors import EngineError, NoChoiceError

T = TypeVar("T")
Role = Literal["system", "user", "assistant"]
Finish = Literal["end", "length", "filter"]
"""Why a text ends.

The model ended its turn or reached a stop string; `max_tokens` or the window was reached; the
filter of a server withheld the rest.
"""


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    content: str
    cacheable_prefix: int = 0
    """Only in the last message: characters at its beginning that other prompts share, such as a
    memory before several questions. An engine may keep their KV state.
    """
    allow_kv_shift: bool = False
    """Whether text may keep the KV state from an earlier prompt that had it at a later position.
    The state is close to that of a new evaluation, and saves time.
    """


# A conversation. If the last message is the assistant's, a local model continues it.
Prompt = tuple[Message, ...]


class Priority(IntEnum):
    """Scheduling class. An interactive request preempts background work."""

    INTERACTIVE = 0
    BACKGROUND = 1


@dataclass(frozen=True, slots=True)
class Sampling:
    """How text is decoded. The default is greedy."""

    max_tokens: int = 256
    temperature: float = 0.0
    seed: int = 0
    # Above 1, recently decoded tokens become less likely: weak models loop without it
    repeat_penalty: float = 1.0
    # Above 0, continuing a repeated sequence becomes less likely (the DRY sampler)
    dry_multiplier: float = 0.0
    # Decoding ends before any of these strings; they are left out of the text
    stop: tuple[str, ...] = ()
    # GBNF grammar with a rule `root` that the text follows. The text may be cut off at
    # `max_tokens`.
    grammar: str = ""
    # The same as a JSON schema, for servers: an object with required properties.
    schema: str = ""
    scored: bool = False  # Whether `Completion.log_probability` is wanted


GREEDY = Sampling()


@dataclass(frozen=True, slots=True)
class Usage:
    """Cost of a request. Add with `+`."""

    prefilled: int = 0  # Prompt tokens evaluated
    reused: int = 0  # Prompt tokens found in the prefix cache
    generated: int = 0  # Tokens decoded
    seconds: float = 0.0  # Time the engine worked on this request

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.prefilled + other.prefilled,
            self.reused + other.reused,
            self.generated + other.generated,
            self.seconds + other.seconds,
        )


NO_USAGE = Usage()


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str
    usage: Usage = NO_USAGE  # Cost of the request so far


@dataclass(frozen=True, slots=True)
class StreamRestarted:
    """The request starts over: discard the text streamed so far."""

    reason: str


@dataclass(frozen=True, slots=True)
class Completion:
    """The whole answer, the last event of a stream."""

    text: str
    finish: Finish
    usage: Usage
    # Mean over its tokens, before penalties; None if not wanted, or from a server
    log_probability: float | None = None


StreamEvent = TextDelta | StreamRestarted | Completion


@dataclass(frozen=True, slots=True)
class Choice:
    index: int
    probability: float | None  # Among the options offered; None if unknown
    usage: Usage


@dataclass(frozen=True, slots=True)
class Rates:
    """Speed of a model on this machine, in tokens a second, as its latest requests showed."""

    prefill: float
    decode: float  # Of all sequences decoded together


# Prompt tokens evaluated per token of a book in single-pass mode
SINGLE_PASS_PREFILLED = 1.2
# The same in careful mode, where a page shares its beginning with the passage it was found in
CAREFUL_PREFILLED = 1.6
DECODED = 0.2  # Tokens decoded per token of a book: gists and pause points


# Most tokens of a request in a stream, prompt and answer: 1,000 words and their gist
STREAM_TOKENS = 2304


@dataclass(frozen=True, slots=True)
class Placement:
    gpu_layers: int
    layers: int  # All layers, the output layer included
    cells: int  # KV cache size in tokens, shared by requests
    kv_type: str  # Data type of the KV cache: `f16`, `q8_0` or `q4_0`
    batch_tokens: int  # Most tokens in one batch
    threads: int
    notice: str = ""  # What was reduced for lack of memory, for the user
    # Further KV caches of `STREAM_TOKENS`, each for one background request
    streams: int = 0

    @property
    def kv_tokens(self) -> int:
        return self.cells + self.streams * STREAM_TOKENS


# Fewer: a model that people run on a laptop's processor
_SMALL_PARAMETERS = 6_000_000_000


@dataclass(frozen=True, slots=True)
class EngineInfo:
    name: str
    fingerprint: str  # Identifies the weights, wherever the file is
    context_tokens: int  # Window of prompt and answer together
    device: str  # For people: `CPU, 2 threads`, `NVIDIA H100 (33 of 33 layers)`
    # Useful number of concurrent requests. May change: read `Engine.info` each time.
    parallel: int = 1
    rates: Rates | None = None  # None: not known yet
    # Whether a server does the work; concurrent requests then do not compete for this machine
    is_remote: bool = False
    # Quantization in use, for people: `Q4_K_M`, `Q8_0 copy of Q4_1`; empty if unknown
    weights: str = ""
    placement: Placement | None = None  # None for a model on a server
    parameters: int = 0  # Number of weights; 0: unknown
    # False for a base model, which gets prompts as plain text
    has_template: bool = True
    # The wording of the prompts that it was trained on (`prompts/`); empty: the usual one
    wording: str = ""

    @property
    def is_small(self) -> bool:
        """Whether a laptop's processor runs it; False if its size is unknown."""
        return 0 < self.parameters < _SMALL_PARAMETERS


class Phase(StrEnum):
    STOPPED = "stopped"
    LOADING = "loading"
    IDLE = "idle"
    PREFILL = "prefill"
    DECODE = "decode"
    FAILED = "failed"


# Ends what failed in a notice, before the seconds until the next attempt
AGAIN_IN = "; again in "


@dataclass(frozen=True, slots=True)
class EngineState:
    """A snapshot for status lines."""

    phase: Phase
    fraction: float | None = None  # Progress of the load or of the prompt, from 0 to 1
    tokens_per_s: float | None = None  # Rate of the current phase, prefill or decode
    priority: Priority | None = None  # Priority of the running request
    notice: str = ""  # One line for the user, such as why it failed
    # Whether the notice is about a lost or stopped process, or a server that fails
    is_fault: bool = False

    @property
    def fault(self) -> str:
        """What failed, without the seconds until the next attempt; empty without a fault."""
        if not self.is_fault:
            return ""
        failure, _, _ = self.notice.partition(AGAIN_IN)
        return failure


class Engine(Protocol):
    """A model that answers prompts. Cheap to create; `start` loads it."""

    @property
    def info(self) -> EngineInfo:
        """Raises EngineError before `start` has finished."""

    @property
    def state(self) -> EngineState: ...

    def watch(self, callback: Callable[[EngineState], None]) -> Callable[[], None]:
        """Call `callback` on every change of state, in the event loop.

        Returns a function that unsubscribes it.
        """

    async def start(self) -> EngineInfo:
        """Load the model. Idempotent. Raises EngineError. `close` stops the load."""

    async def close(self) -> None:
        """Release everything. Idempotent."""

    async def count(self, text: str) -> int:
        """Count the tokens of a text."""

    async def measure(self, prompt: Prompt) -> int:
        """Count the tokens of a prompt, chat template included."""

    async def prepare(
        self, prompt: Prompt, priority: Priority = Priority.BACKGROUND
    ) -> Usage:
        """Evaluate the stable beginning of a prompt ahead of the requests that share it."""

    def stream(
        self,
        prompt: Prompt,
        sampling: Sampling = GREEDY,
        priority: Priority = Priority.INTERACTIVE,
    ) -> AsyncGenerator[StreamEvent, None]:
        """Yield text as it is decoded, then a `Completion`.

        Raises PromptTooLongError, EngineError.
        """

    async def complete(
        self,
        prompt: Prompt,
        sampling: Sampling = GREEDY,
        priority: Priority = Priority.INTERACTIVE,
    ) -> Completion:
        """The final `Completion` of `stream`."""
        return await first_of(self.stream(prompt, sampling, priority), Completion)

    async def choose(
        self,
        prompt: Prompt,
        options: Sequence[str],
        priority: Priority = Priority.INTERACTIVE,
    ) -> Choice:
        """Constrain the model to one of these distinct options.

        Raises NoChoiceError if a server's reply names none.
        """


async def choose_or(
    engine: Engine,
    prompt: Prompt,
    options: Sequence[str],
    default: int,
    priority: Priority = Priority.INTERACTIVE,
) -> Choice:
    """As `Engine.choose`, but the option `default` if the model names none."""
    try:
        return await engine.choose(prompt, options, priority)
    except NoChoiceError:
        return Choice(default, None, NO_USAGE)


async def first_of(events: AsyncGenerator[object, None], kind: type[T]) -> T:
    """The first event of this kind. Raises EngineError if there is none."""
    async with aclosing(events):
        async for event in events:
            if isinstance(event, kind):
                return event
    raise EngineError("The model ended without an answer.")


def check_options(options: Sequence[str]) -> None:
    """Raises ValueError unless options are distinct and not empty."""
    if not options or len(set(options)) < len(options) or not all(options):
        raise ValueError(f"options must be distinct and not empty: {options!r}")
