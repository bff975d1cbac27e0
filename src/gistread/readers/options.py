"""What can be set for any reader."""

from dataclasses import dataclass

from gistread.engine.protocol import Embedder


@dataclass(frozen=True, slots=True)
class ReaderOptions:
    """Bounds of one question, and what may be used for it."""

    max_pages: int = 5
    """Look-ups at most (ReadAgent: 1 to 5, and 1 to 6 for QuALITY)."""
    answer_tokens: int = 256
    """Length of the answer at most."""
    budget_tokens: int = 0
    """Tokens of the book, gists, summaries and notes that may stand before the model for the answer
    (`Answered.context_tokens`); 0: what the window takes. On the way to the answer a reader may see more, a part at
    a time."""
    choices: tuple[str, ...] = ()
    """Of a question with options: all of them, in the order in which they are shown. The answer is one of them."""
    is_reliable: bool = True
    """The model chooses by what it has read (`memory/check_results.py`), so that it is believed when it says that
    the book
    does not say. False: it says so at random."""
    embedder: Embedder | None = None
    """For readers that search by meaning; loaded when one first does. None: there is no embedding model."""
