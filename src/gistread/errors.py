"""The errors that users see, and their exit statuses. Any other exception is a bug."""

import re
from enum import IntEnum

# File names in a message may contain control and invisible characters.
_INVISIBLE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


def traceback_text(error: BaseException) -> str:
    """The traceback for a log, without messages: they may quote a book, a question or an answer."""
    import traceback  # imported here: it is needed for bugs only

    earlier = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    lines = [traceback_text(earlier)] if earlier else []
    lines += ["Traceback:\n", *traceback.format_tb(error.__traceback__), f"{type(error).__qualname__}\n"]
    return "".join((*lines, *map(traceback_text, getattr(error, "exceptions", ()))))


class ExitStatus(IntEnum):
    DONE = 0
    FAILED = 1
    USAGE = 2
    BOOK = 3
    ENGINE = 4
    INTERRUPTED = 130


class GistreadError(Exception):
    """What is wrong (`message`) and what to do (`hint`)."""

    exit_status = ExitStatus.FAILED

    def __init__(self, message: str, hint: str = "") -> None:
        message = _INVISIBLE.sub("\ufffd", message)
        super().__init__(message)
        self.message = message
        self.hint = _INVISIBLE.sub("\ufffd", hint)

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message


class UsageError(GistreadError):
    """The command line or a setting asks for something that does not exist."""

    exit_status = ExitStatus.USAGE


class BookError(GistreadError):
    """The book cannot be read."""

    exit_status = ExitStatus.BOOK


class EngineError(GistreadError):
    """The model or its engine cannot be used."""

    exit_status = ExitStatus.ENGINE


class NotReadyError(GistreadError):
    """A question cannot be asked yet: there is no model, nothing has been read, or another question is running."""


class NoEmbeddingModelError(EngineError):
    """The reader needs an embedding model and none is installed."""

    def __init__(self, reader: str) -> None:
        super().__init__(
            f"The reader {reader} needs an embedding model, and none is installed.",
            "Give a GGUF file with --embedding-model (all-minilm-l6-v2, nomic-embed-text-v1.5, bge-small-en-v1.5 …).",
        )


class PromptTooLongError(EngineError):
    """The prompt and its answer exceed the context; known before anything is sent."""

    def __init__(self, prompt_tokens: int, answer_tokens: int, context_tokens: int) -> None:
        super().__init__(
            f"The prompt has {prompt_tokens} tokens and the answer up to {answer_tokens}; "
            f"the model's context has {context_tokens}.",
            "Choose smaller pages (--max-words), expand fewer pages, or use a model with a longer context.",
        )
        self.prompt_tokens = prompt_tokens
        self.answer_tokens = answer_tokens
        self.context_tokens = context_tokens


class BudgetTooSmallError(UsageError):
    """The token budget is too small to show any part of the book."""

    def __init__(self, needed_tokens: int, budget_tokens: int) -> None:
        super().__init__(
            f"The budget is {budget_tokens} tokens; the smallest piece of the book to show has {needed_tokens}.",
            "Allow more tokens, or choose smaller pages (--max-words).",
        )
        self.needed_tokens = needed_tokens


class FetchError(GistreadError):
    """A download failed, or the file is not the expected one."""


class StorageError(GistreadError):
    """Data cannot be written or read back: disk full, no permission, or a newer format."""
