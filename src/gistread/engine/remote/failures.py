"""Failures of a server, by what can be done about them. They are retried, worked around, or become an EngineError."""

_TOO_LONG = ("context length", "context size", "context window", "context_length", "too long", "too large", "exceed")


_CACHE_FULL = "context size has been exceeded"
"""llama-server, when concurrent requests filled the window they share."""


def is_cache_full(said: str) -> bool:
    """Whether a server's error says that concurrent requests did not fit its KV cache."""
    return _CACHE_FULL in said.casefold()


class RequestRefusedError(Exception):
    """The server rejected the request: retrying is useless."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(f"{status}: {said}")
        self.status = status
        self.said = said
        """The server's message, shortened, without secrets."""

    @property
    def is_too_long(self) -> bool:
        """Whether prompt and answer exceed the window, going by the message."""
        said = self.said.casefold()
        return self.status in (400, 413, 422) and any(words in said for words in _TOO_LONG)


class ServerLostError(Exception):
    """No answer or an incomplete one: a retry may succeed."""

    def __init__(
        self,
        reason: str,
        *,
        answered: bool = False,
        busy: bool = False,
        cache_full: bool = False,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        """For people, to follow the server's name: `did not answer in time`."""
        self.answered = answered
        """Whether there was an answer, though a useless one."""
        self.busy = busy or cache_full
        """Whether the server said it is overloaded."""
        self.cache_full = cache_full
        """Whether concurrent requests did not fit its KV cache."""
        self.retry_after_s = retry_after_s
        """Delay requested by the server, if any."""


class UnreachableError(ServerLostError):
    """No connection could be made."""


class UntrustedError(UnreachableError):
    """The server's certificate is not trusted."""
