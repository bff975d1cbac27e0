"""Failures of a server, by their remedy: they are retried, worked around, or become an EngineError."""

from dataclasses import dataclass

_TOO_LONG = ("context length", "context size", "context window", "context_length", "too long", "too large", "exceed")
_CACHE_FULL = "context size has been exceeded"  # llama-server, when concurrent requests filled the window they share


@dataclass(eq=False)
class RequestRefusedError(Exception):
    """The server rejected the request: retrying is useless."""

    status: int
    said: str  # The server's message, shortened, without the key

    @property
    def is_too_long(self) -> bool:
        """Whether prompt and answer exceed the window, going by the message."""
        said = self.said.casefold()
        return self.status in (400, 413, 422) and any(words in said for words in _TOO_LONG)


@dataclass(eq=False)
class ServerLostError(Exception):
    """No answer or an incomplete one: a retry may succeed."""

    reason: str  # For people, to follow the server's name: `did not answer in time`
    answered: bool = False  # Whether there was an answer, though a useless one
    busy: bool = False  # Whether the server said it is overloaded
    said: str = ""  # The server's own message, without the key
    retry_after_s: float | None = None  # Delay requested by the server, if any

    def __post_init__(self) -> None:
        self.busy = self.busy or _CACHE_FULL in self.said.casefold()


class SilentError(ServerLostError):
    """The server sent nothing within the time limit."""


class UnreachableError(ServerLostError):
    """No connection could be made."""


class UntrustedError(UnreachableError):
    """The server's certificate is not trusted."""
