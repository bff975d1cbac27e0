"""The interface of readers: a reader is a method of answering questions, as a stream of events."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from gistread.engine.protocol import Trust

if TYPE_CHECKING:
    from collections.abc import Callable

    from gistread.readers.answering import Asking
    from gistread.readers.events import ReaderEvents
    from gistread.readers.thread import Thread


@dataclass(frozen=True, slots=True)
class ReaderOptions:
    """Limits for one question, and what may be used for it."""

    max_pages: int = 5  # Most look-ups (ReadAgent: 1 to 5, and 1 to 6 for QuALITY)
    answer_tokens: int = 256  # Longest answer
    budget_tokens: int = 0
    """Most tokens of passages in the prompt of the answer, for readers of the book's own text; 0: as many as fit."""
    first_word_s: float = 0.0  # Time to evaluate text before the first word of the answer; 0: as long as it takes
    # The options of a multiple-choice question, in the order shown; the answer is one of them.
    choices: tuple[str, ...] = ()
    trust: Trust = Trust.UNKNOWN
    # Whether "the book does not say" is reliable from a model that failed its check.
    abstains_reliably: bool = False
    thread: "Thread" = ()  # Earlier questions and answers; only those within the spoiler bound are used
    selection: tuple[int, int] | None = None  # Start and end of the selected text that the question is about
    wording: str = ""  # Of the prompts; see `EngineInfo.wording`


# One method of answering questions: it yields events, the last `Answered`.
# Raises EngineError, PromptTooLongError, BudgetTooSmallError.
Reader: TypeAlias = "Callable[[Asking], ReaderEvents]"
