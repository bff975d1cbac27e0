"""The panes of the reading screen, and the sizes at which the layout changes."""

from enum import StrEnum

ROOMY_COLUMNS = 140  # from this width the conversation stands below the memory, beside the book
WIDE_COLUMNS = 100  # from this width book and memory stand side by side; below it, one pane at a time
KEY_LINE_ROWS = 14
HEADER_ROWS = 8  # below these heights the key line and the header give their rows to the text
STRIP_ROWS = 3


class Pane(StrEnum):
    BOOK = "book"
    MEMORY = "memory"
    ANSWERS = "answers"


PANE_TITLES = {Pane.BOOK: "Book", Pane.MEMORY: "Memory", Pane.ANSWERS: "Question"}
