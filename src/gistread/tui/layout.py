"""Which panes there are, and from what size on they stand side by side."""

from enum import StrEnum

WIDE_COLUMNS = 100
"""Book and memory side by side from here on; below, one pane at a time."""
KEY_LINE_ROWS = 14
HEADER_ROWS = 8
"""Below these heights the key line and the header give their rows to the text."""
STRIP_ROWS = 3


class Pane(StrEnum):
    BOOK = "book"
    MEMORY = "memory"
    ANSWERS = "answers"


NAMES = {Pane.BOOK: "Book", Pane.MEMORY: "Memory", Pane.ANSWERS: "Question"}
