"""What can go wrong between here and a server, told apart by what can be done about it.

These never reach a person: they are tried again, worked around, or become an EngineError.
"""

_TOO_LONG = ("context length", "context size", "context window", "context_length", "too long", "too large", "exceed")


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

    def __init__(self, reason: str, *, busy: bool = False, retry_after_s: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        """For people: what happened, to follow the server's name: `did not answer within 10 s`."""
        self.busy = busy
        """The server said that it has too much to do."""
        self.retry_after_s = retry_after_s
        """When the server wants to be asked again, where it said so."""


class NothingThereError(ServerLostError):
    """No connection could be made at all."""
