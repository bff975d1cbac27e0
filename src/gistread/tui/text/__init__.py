"""The widget for long text: a book, a gist memory and answers are sequences of blocks.

`document` defines blocks, `wrap` and `layout` break them into rows, `rows` indexes them, `paint` draws one, and
`widget.LongText` scrolls.
"""

from gistread.tui.text.cells import clean
from gistread.tui.text.document import Block, Clicked, Mark, OffsetChanged, Span
from gistread.tui.text.widget import LongText

__all__ = ["Block", "Clicked", "LongText", "Mark", "OffsetChanged", "Span", "clean"]
