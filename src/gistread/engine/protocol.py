"""What an engine is: something that turns a prompt into tokens. Nothing above this package knows which.

Data first: prompts, what is wanted of the model, what it cost, what it is doing. Then the protocols: `Engine`, and
`Embedder` for a model that turns texts into vectors. All of it is asyncio; a request is cancelled by cancelling the
task that awaits it, and the engine then stops at once, in whatever stage it is.

Prompts are laid out text first, task last (design D4): what is long and stable at the beginning, the question
at the end. An engine remembers prefixes and evaluates only what is new; `Usage` says how much that was.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    content: str
    stable: int = 0
    """Of the last message: so many characters at its beginning will come again in other prompts (a memory that
    questions are asked about). An engine may go to some length to keep what it evaluated for them."""


Prompt = tuple[Message, ...]
"""A conversation. When its last message is the assistant's, the model continues that message."""


class Priority(IntEnum):
    """Who waits for the answer. A person's request goes before background work, even one that is running."""

    INTERACTIVE = 0
    BACKGROUND = 1


@dataclass(frozen=True, slots=True)
class Sampling:
    """How free text is decoded. The default is greedy."""

    max_tokens: int = 256
    temperature: float = 0.0
    seed: int = 0
    repeat_penalty: float = 1.0
    """Above 1 the tokens decoded lately become less likely: weak models loop without it."""
    dry_multiplier: float = 0.0
    """Above 0, a continuation that would repeat a long sequence is made less likely (the DRY sampler)."""
    stop: tuple[str, ...] = ()
    """Decoding ends before any of these strings; they are not part of the text."""
    grammar: str = ""
    """The text has this form, in llama.cpp's notation with a rule `root`. It may end in the middle, at `max_tokens`."""


GREEDY = Sampling()


@dataclass(frozen=True, slots=True)
class Usage:
    """What a request cost. Adds up with `+`."""

    prefilled: int = 0
    """Prompt tokens evaluated."""
    reused: int = 0
    """Prompt tokens taken from the prefix cache instead."""
    generated: int = 0
    """Tokens decoded."""
    seconds: float = 0.0
    """Time in which the engine worked on this request."""

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
    """The next piece of a streamed answer."""

    text: str
    usage: Usage = NO_USAGE
    """What the request has cost so far: who ends it here knows the whole of it."""


@dataclass(frozen=True, slots=True)
class Restarted:
    """The engine was lost and the request is asked again: what was streamed so far is void."""

    reason: str


@dataclass(frozen=True, slots=True)
class Completion:
    """The whole answer; the last thing a stream yields."""

    text: str
    finish: Literal["end", "length"]
    """`end`: the model ended its turn or reached a stop string. `length`: `max_tokens` or the window ended it."""
    usage: Usage


StreamEvent = TextDelta | Restarted | Completion


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the options that were offered."""

    index: int
    probability: float | None
    """Of this option among the legal ones, where the engine can tell."""
    usage: Usage


@dataclass(frozen=True, slots=True)
class Likelihood:
    """How well a text goes on from a prompt."""

    mean: float
    """Of the natural logarithms of the probabilities of its tokens; at most 0."""
    tokens: int
    """Of the text."""
    usage: Usage


@dataclass(frozen=True, slots=True)
class Rates:
    """How fast an engine is where it runs, from a short measurement."""

    prefill: float
    """Tokens a second of a prompt of a few hundred tokens."""
    decode: tuple[tuple[int, float], ...]
    """Sequences decoded together and tokens a second of all of them, in ascending order of sequences."""


@dataclass(frozen=True, slots=True)
class Placement:
    """How a model was laid into this machine."""

    gpu_layers: int
    layers: int
    """Of which `gpu_layers` are on a graphics card; the output is one of them."""
    cells: int
    """Tokens that the KV cache holds of all requests together."""
    kv_type: str
    """What its numbers are kept as: `f16`, `q8_0`, `q4_0`."""
    batch_tokens: int
    """Evaluated at once."""
    threads: int
    flash_attention: bool
    notice: str = ""
    """For the person: what was given up for lack of memory."""


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """What is known of the model in use once it is loaded."""

    name: str
    fingerprint: str
    """The same for the same weights, wherever the file lies."""
    context_tokens: int
    """Prompt and answer together must fit into this many tokens."""
    device: str
    """For people: `CPU, 2 threads`, `NVIDIA H100 (33 of 33 layers)`."""
    parallel: int = 1
    """Requests that are worth having at work at the same time. May change: ask `Engine.info` each time."""
    rates: Rates | None = None
    """None: not measured."""
    aliases: tuple[str, ...] = ()
    """Fingerprints that the same weights may have elsewhere: a server tells of a model no more than its name."""
    is_remote: bool = False
    """The work is done on other machines, where requests at work at the same time do not take turns as they do here."""
    weights: str = ""
    """For people: the form of the weights in use, `Q4_K_M`, or `Q8_0 copy of Q4_1`; empty: not known."""
    placement: Placement | None = None
    """None: it runs elsewhere."""
    has_template: bool = True
    """False: it was trained to go on with text, not to follow tasks, and prompts are laid out plainly for it."""
    pinnable_tokens: int = 0
    """Tokens that `Engine.pin` has room for, about; 0: it holds nothing, or does not say."""


class Phase(StrEnum):
    """What the engine is doing, as far as a person can be told."""

    STOPPED = "stopped"
    LOADING = "loading"
    IDLE = "idle"
    PREFILL = "prefill"
    DECODE = "decode"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class EngineState:
    """A snapshot for status lines."""

    phase: Phase
    fraction: float | None = None
    """Of the load or of the prompt, from 0 to 1."""
    tokens_per_s: float | None = None
    """Of the running phase: prefill or decode."""
    priority: Priority | None = None
    """Whose request it is, when one runs."""
    notice: str = ""
    """One line for the person: why it failed, that it was restarted."""


class Engine(Protocol):
    """A model that answers. Made cheap; `start` loads it."""

    @property
    def info(self) -> EngineInfo:
        """Of the loaded model. Raises EngineError before `start` has ended."""

    @property
    def state(self) -> EngineState: ...

    def watch(self, callback: Callable[[EngineState], None]) -> Callable[[], None]:
        """Call back on every change of state, in the event loop; the returned function ends it."""

    async def start(self) -> EngineInfo:
        """Load the model. Idempotent. Raises EngineError when it cannot be used.

        Cancelling it stops the load, unless others wait for it too.
        """

    async def close(self) -> None:
        """End the engine and everything it holds. Idempotent."""

    async def count(self, text: str) -> int:
        """Tokens in `text` alone."""

    async def measure(self, prompt: Prompt) -> int:
        """Tokens in the whole prompt as the model would see it, chat template included."""

    async def prepare(self, prompt: Prompt, priority: Priority = Priority.BACKGROUND) -> Usage:
        """Evaluate the stable beginning of this prompt, so that a request that begins so is answered sooner."""

    async def pin(self, prompt: Prompt, priority: Priority = Priority.BACKGROUND) -> Usage | None:
        """As `prepare`, in memory alone: for many prompts that each are worth something to this process only.

        None: it could not be held beside what is held already. What is held makes way for what people ask, where
        that needs all the room, and is gone when the engine is lost: `held` says what is there.
        """

    async def pinned(self, prompts: Sequence[Prompt]) -> list[bool]:
        """Of each whether its stable beginning is there still, however it came to be evaluated."""

    def stream(
        self, prompt: Prompt, sampling: Sampling = GREEDY, priority: Priority = Priority.INTERACTIVE
    ) -> AsyncGenerator[StreamEvent, None]:
        """Text as it is decoded, then a `Completion`.

        Raises PromptTooLongError before anything is sent when `max_tokens` of answer do not fit, EngineError
        when the engine fails twice. Thinking of the model is never part of the text.
        """

    async def complete(
        self, prompt: Prompt, sampling: Sampling = GREEDY, priority: Priority = Priority.INTERACTIVE
    ) -> Completion:
        """The whole answer at once; as `stream`."""

    async def choose(self, prompt: Prompt, options: Sequence[str], priority: Priority = Priority.INTERACTIVE) -> Choice:
        """Which of `options` (distinct, not empty) the model answers with. It can answer nothing else (D3)."""

    async def likelihood(
        self, prompt: Prompt, continuation: str, priority: Priority = Priority.INTERACTIVE
    ) -> Likelihood | None:
        """How likely it is that the model answers with `continuation` (not empty), word for word.

        Ask for several at once: they are evaluated side by side. None: this engine cannot tell. Nothing of the prompt
        is kept for later ones: this is for prompts that will not come again. Raises as `choose`.
        """


class TextKind(StrEnum):
    """What a text is to a search. Many embedding models want to be told, in words that were part of their training."""

    QUERY = "query"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class EmbedderInfo:
    """What is known of an embedding model once it is loaded."""

    name: str
    fingerprint: str
    """The same for the same weights used in the same way: vectors of one fingerprint can be compared."""
    dimension: int
    """Numbers in a vector."""
    max_tokens: int
    """Of one text; a longer one is cut."""
    device: str


@dataclass(frozen=True, slots=True)
class Embedded:
    """Texts as vectors."""

    vectors: "npt.NDArray[np.float32]"
    """A row a text, in their order, each of length 1: the dot product of two is their cosine."""
    cut: int
    """Texts longer than the model takes, of which only the beginning is in their vector."""
    usage: Usage


class Embedder(Protocol):
    """A model that turns texts into vectors, near ones for texts about the same. Made cheap; `start` loads it."""

    @property
    def info(self) -> EmbedderInfo:
        """Of the loaded model. Raises EngineError before `start` has ended."""

    @property
    def state(self) -> EngineState: ...

    def watch(self, callback: Callable[[EngineState], None]) -> Callable[[], None]:
        """As `Engine.watch`."""

    async def start(self) -> EmbedderInfo:
        """Load the model. Idempotent. Raises EngineError when it cannot be used.

        Cancelling it stops the load, unless others wait for it too.
        """

    async def close(self) -> None:
        """End the model and everything it holds. Idempotent."""

    @property
    def tokens_per_s(self) -> float | None:
        """How fast it was with the texts that it was last asked for; None before that."""

    async def embed(
        self, texts: Sequence[str], kind: TextKind = TextKind.DOCUMENT, priority: Priority = Priority.INTERACTIVE
    ) -> Embedded:
        """The vectors of these texts, but for rounding the same whatever is embedded with them. Loads the model.

        A text of nothing but white space has a vector too, near to none in particular. Raises EngineError.
        """
