"""What can go wrong between here and a server, told apart by what can be done about it.

These never reach a person: they are tried again, worked around, or become an EngineError.
"""

_TOO_LONG = ("context length", "context size", "context window", "context_length", "too long", "too large", "exceed")


_CROWDED = "context size has been exceeded"
"""llama-server, when requests that share one window have filled it. One that is too long by itself it refuses."""


def is_crowded(said: str) -> bool:
    """Whether a server that failed says that its requests did not fit its memory together."""
    return _CROWDED in said.casefold()


class RequestRefusedError(Exception):
    """The server understood, and will not: asking the same again is of no use."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(f"{status}: {said}")
        self.status = status
        self.said = said
        """In the server's words, shortened, without secrets."""

    @property
    def is_too_long(self) -> bool:
        """Whether the prompt and its answer do not fit the model's window. Servers say it in many ways."""
        said = self.said.casefold()
        return self.status in (400, 413, 422) and any(words in said for words in _TOO_LONG)


class ServerLostError(Exception):
    """No answer, or half of one: the same request may succeed later."""

    def __init__(
        self,
        reason: str,
        *,
        answered: bool = False,
        busy: bool = False,
        crowded: bool = False,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        """For people: what happened, to follow the server's name: `did not answer within 10 s`."""
        self.answered = answered
        """There was an answer, and it was of no use."""
        self.busy = busy or crowded
        """The server said that it has too much to do."""
        self.crowded = crowded
        """Requests that were worked on together did not fit its memory together."""
        self.retry_after_s = retry_after_s
        """When the server wants to be asked again, where it said so."""


class UnreachableError(ServerLostError):
    """No connection could be made at all."""


class UntrustedError(UnreachableError):
    """The server does not prove to be the one that it is named."""
