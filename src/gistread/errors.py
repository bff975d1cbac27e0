"""Every error a person can be shown, and the exit status that goes with each.

An error says in one or two lines what happened and what to do. Anything that is not a `GistreadError` and
reaches the top is a defect of the program.
"""

import re
from enum import IntEnum

# A message names files, and parts of files, that may be called anything.
_UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


class ExitStatus(IntEnum):
    """What the command `gistread` returns to the shell."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    BOOK = 3
    ENGINE = 4
    INTERRUPTED = 130


class GistreadError(Exception):
    """What happened, and (`hint`) what the person can do about it."""

    exit_status = ExitStatus.FAILED

    def __init__(self, message: str, hint: str = "") -> None:
        message = _UNSEEN.sub("\ufffd", message)
        super().__init__(message)
        self.message = message
        self.hint = _UNSEEN.sub("\ufffd", hint)

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


class NoEmbeddingModelError(EngineError):
    """What is asked for searches by meaning, and there is no model to do it with."""

    def __init__(self, reader: str) -> None:
        super().__init__(
            f"The reader {reader} needs an embedding model, and none was named or found on this machine.",
            "Name a GGUF file with --embedding-model (all-minilm-l6-v2, nomic-embed-text-v1.5, bge-small-en-v1.5 …).",
        )


class PromptTooLongError(EngineError):
    """A prompt and its answer do not fit the window. Both numbers are known before anything is sent."""

    def __init__(self, prompt_tokens: int, answer_tokens: int, context_tokens: int) -> None:
        super().__init__(
            f"The prompt needs {prompt_tokens} tokens and its answer up to {answer_tokens}; "
            f"the model's window has {context_tokens}.",
            "Choose smaller pages (--max-words), expand fewer pages, or use a model with a longer context.",
        )
        self.prompt_tokens = prompt_tokens
        self.answer_tokens = answer_tokens
        self.context_tokens = context_tokens


class BudgetTooSmallError(UsageError):
    """So few tokens are allowed before the model that nothing of the book can be shown in them."""

    def __init__(self, needed_tokens: int, budget_tokens: int) -> None:
        super().__init__(
            f"{budget_tokens} tokens of the book are allowed before the model; the smallest piece to show has "
            f"{needed_tokens}.",
            "Allow more tokens, or choose smaller pages (--max-words).",
        )
        self.needed_tokens = needed_tokens
        self.budget_tokens = budget_tokens


class FetchError(GistreadError):
    """A file cannot be had over the network, or is not what it should be."""


class StorageError(GistreadError):
    """Something cannot be written or read back: a full disk, a folder without permission, a later format."""
