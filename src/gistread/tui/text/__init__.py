"""The one widget for long text (design D11), and the pure arithmetic under it.

`document` says what is shown, `wrap` breaks it into rows, `rows` counts and finds them, `paint` draws one, and
`widget.LongText` scrolls. A book, a gist memory and an answer are the same thing here: a sequence of blocks.
"""

from gistread.tui.text.document import Block, BlockSource, Span
from gistread.tui.text.marks import Mark
from gistread.tui.text.widget import LongText

__all__ = ["Block", "BlockSource", "LongText", "Mark", "Span"]
