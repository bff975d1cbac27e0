"""The errors that users see, and their exit statuses. Any other exception is a bug."""

import re
from enum import IntEnum

# Control and invisible characters, which file names and replies of servers may contain
_INVISIBLE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)


_LEAST_SECRET = 4  # Characters; local servers take any key, such as `x`
_secrets: set[str] = set()


def conceal(secret: str) -> None:
    """Leave this key out of every message from now on, also as a server or a URL repeats it."""
    import json  # Imported here: only servers have keys.
    from urllib.parse import quote

    if len(secret) < _LEAST_SECRET:
        return
    in_json = json.dumps(secret)[1:-1]  # Without the quotation marks around it
    in_path = quote(secret)
    in_query = quote(secret, safe="")
    _secrets.update((secret, in_json, in_path, in_query))


def without_keys(text: str) -> str:
    """The text with `…` in place of each key that was passed to `conceal`."""
    # The longest first: a key may contain another one.
    for secret in sorted(_secrets, key=len, reverse=True):
        text = text.replace(secret, "…")
    return text


def clean(text: str) -> str:
    """Text for a message: without keys, and with U+FFFD for control and invisible characters.

    Line breaks stay.
    """
    return _INVISIBLE.sub("\ufffd", without_keys(text))


def traceback_text(error: BaseException) -> str:
    """The traceback for a log, without messages: they may quote a book, a question or an answer."""
    from traceback import format_tb  # Imported here: only bugs need it.

    earlier = error.__cause__
    if earlier is None and not error.__suppress_context__:
        earlier = error.__context__
    parts = [traceback_text(earlier)] if earlier else []
    parts.append("Traceback:\n")
    parts += format_tb(error.__traceback__)
    parts.append(f"{type(error).__qualname__}\n")
    members = getattr(error, "exceptions", ())  # Of an ExceptionGroup
    parts += map(traceback_text, members)
    return "".join(parts)


class ExitStatus(IntEnum):
    DONE = 0
    FAILED = 1
    USAGE = 2
    BOOK = 3
    ENGINE = 4
    INTERRUPTED = 130
    TERMINATED = 143


class GistreadError(Exception):
    """What is wrong (`message`) and what to do (`hint`)."""

    exit_status = ExitStatus.FAILED

    def __init__(self, message: str, hint: str = "") -> None:
        self.message = clean(message)
        self.hint = clean(hint)
        super().__init__(self.message)

    def __str__(self) -> str:
        if not self.hint:
            return self.message
        return f"{self.message}\n{self.hint}"


class UsageError(GistreadError):
    """The command line or a setting asks for something that does not exist."""

    exit_status = ExitStatus.USAGE


class BookError(GistreadError):
    """The book cannot be read."""

    exit_status = ExitStatus.BOOK


class EngineError(GistreadError):
    """The model or its engine cannot be used."""

    exit_status = ExitStatus.ENGINE


class OutageError(EngineError):
    """A server does not answer now; it may do so later."""


class NotReadyError(GistreadError):
    """There is no model, nothing has been read yet, or the session is closed."""


class NotFoundError(GistreadError):
    """Nothing matches what was asked for."""


class NoChoiceError(EngineError):
    """A model on a server named none of the options that it was offered."""


class PromptTooLongError(EngineError):
    """The prompt and its answer exceed the context; known before anything is sent."""

    def __init__(
        self, prompt_tokens: int, answer_tokens: int, context_tokens: int
    ) -> None:
        super().__init__(
            f"The prompt has {prompt_tokens} tokens and the answer up to {answer_tokens}; "
            f"the model's context has {context_tokens}.",
            "Ask a shorter question, read in smaller sections (--max-words), "
            "or use a model with a longer context.",
        )
        self.prompt_tokens = prompt_tokens
        self.answer_tokens = answer_tokens
        self.context_tokens = context_tokens


class BudgetTooSmallError(UsageError):
    """The token budget is too small to show any part of the book."""

    def __init__(self, needed_tokens: int, budget_tokens: int) -> None:
        super().__init__(
            f"The budget is {budget_tokens} tokens; "
            f"the smallest piece of the book to show has {needed_tokens}.",
            "Allow more tokens, or choose smaller pages (--max-words).",
        )
        self.needed_tokens = needed_tokens


class FetchError(GistreadError):
    """A download failed, or the file is not the expected one."""


class StorageError(GistreadError):
    """Data cannot be written or read back: disk full, no permission, or a newer format."""
