"""Estimates the time an engine needs to read a book."""

from gistread.engine.protocol import Rates

SINGLE_PASS_PREFILLED = 1.2  # Prompt tokens evaluated per token of a book in single-pass mode (design D4)
CAREFUL_PREFILLED = 1.6  # The same in careful mode, where a page shares its beginning with the passage it was found in
DECODED = 0.2  # Tokens decoded per token of a book: gists and pause points
DEPTH = 1.7  # How much longer a token takes at the depth of a page than in the short prompts that are measured


def seconds_per_token(rates: Rates, parallel: int, *, prefilled: float = SINGLE_PASS_PREFILLED) -> float:
    """Seconds per token of a book, with `parallel` sequences decoding together."""
    return prefilled / rates.prefill + DECODED / decode_rate(rates, parallel)


def decode_rate(rates: Rates, parallel: int) -> float:
    fitting = [rate for sequences, rate in rates.decode if sequences <= parallel]
    return fitting[-1] if fitting else rates.decode[0][1]
