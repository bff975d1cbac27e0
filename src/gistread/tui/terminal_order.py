"""Who puts words that run from right to left in order: gistread, which knows where a pane ends, or the terminal.

A few terminals order every line themselves. They take the rows of two panes for one sentence, so those that can be
asked to leave the order alone are (ECMA-48, bidirectional support mode), and the others are left to it.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from gistread.config import Bidi

_AS_IT_STANDS, _BY_ITSELF = "\x1b[8l", "\x1b[8h"


def reorders(bidi: Bidi, environ: Mapping[str, str]) -> bool:
    """Whether gistread is to order the words."""
    if bidi != "auto":
        return bidi == "on"
    stubborn = "KONSOLE_VERSION" in environ or "MLTERM" in environ or environ.get("TERM_PROGRAM") == "Apple_Terminal"
    return not stubborn


@contextmanager
def asked_to_leave_order(bidi: Bidi, environ: Mapping[str, str]) -> Iterator[None]:
    """For as long as the program is on the screen. A terminal that orders nothing ignores it."""
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
