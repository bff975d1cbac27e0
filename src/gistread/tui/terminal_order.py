"""Whether gistread or the terminal orders right-to-left text.

A few terminals order every line themselves, across panes. Those that can be told not to are (ECMA-48, bidirectional
support mode); the others are left to it.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from gistread.config import Bidi

_AS_IT_STANDS, _BY_ITSELF = "\x1b[8l", "\x1b[8h"


def reorders(bidi: Bidi, environ: Mapping[str, str]) -> bool:
    """Whether gistread orders the text."""
    if bidi != "auto":
        return bidi == "on"
    stubborn = "KONSOLE_VERSION" in environ or "MLTERM" in environ or environ.get("TERM_PROGRAM") == "Apple_Terminal"
    return not stubborn


@contextmanager
def asked_to_leave_order(bidi: Bidi, environ: Mapping[str, str]) -> Iterator[None]:
    """Tell the terminal not to order text while the program runs. Others ignore it."""
    if not reorders(bidi, environ) or "VTE_VERSION" not in environ:
        yield
        return
    sys.__stdout__.write(_AS_IT_STANDS)  # type: ignore[union-attr]  # there is a terminal
    sys.__stdout__.flush()  # type: ignore[union-attr]
    try:
        yield
    finally:
        sys.__stdout__.write(_BY_ITSELF)  # type: ignore[union-attr]
        sys.__stdout__.flush()  # type: ignore[union-attr]
