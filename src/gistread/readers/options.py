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
    reasons: bool = True
    """Ask why a page is opened. Costs up to two dozen tokens a look-up."""
    budget_tokens: int = 0
    """Tokens of the book, or of its gists, that may stand before the model for the answer; 0: what the window takes."""
    embedder: Embedder | None = None
    """For readers that search by meaning; loaded when one first does. None: there is no embedding model."""
