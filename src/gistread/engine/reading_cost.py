"""What reading a book costs an engine: one formula, for whoever chooses between engines or promises a time."""

from gistread.engine.protocol import Rates

SINGLE_PASS_PREFILLED = 1.2
"""Tokens evaluated for each token of the book when it is read in one pass (design D4)."""
CAREFUL_PREFILLED = 2.2
"""The same in the papers' two passes: pagination, then gists."""
DECODED = 0.2
"""Tokens decoded for each token of the book: its gists, and the choice of pause points."""


def seconds_per_token(rates: Rates, parallel: int, *, prefilled: float = SINGLE_PASS_PREFILLED) -> float:
    """Seconds for one token of a book at these rates, with `parallel` sequences decoding together."""
    return prefilled / rates.prefill + DECODED / decode_rate(rates, parallel)


def decode_rate(rates: Rates, parallel: int) -> float:
    """Tokens a second of all sequences together, with at most `parallel` of them."""
    fitting = [rate for sequences, rate in rates.decode if sequences <= parallel]
    return fitting[-1] if fitting else rates.decode[0][1]
