"""The widget for long text.

Blocks (`document`) become rows (`layout`), which are indexed, painted and scrolled.
"""

from gistread.tui.text.cells import clean
from gistread.tui.text.document import (
    Block,
    Clicked,
    EndChanged,
    Mark,
    OffsetChanged,
    Span,
)
from gistread.tui.text.widget import LongText

__all__ = [
    "Block",
    "Clicked",
    "EndChanged",
    "LongText",
    "Mark",
    "OffsetChanged",
    "Span",
    "clean",
]
