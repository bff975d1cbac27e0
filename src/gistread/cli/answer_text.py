"""Prints an answer on a terminal, with its Markdown drawn: bold words, lists and tables.

It is printed as it is written: each word once its signs are known, a table once it ends.
"""

import os
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from gistread.cli.output import sanitize, write_drawn

if TYPE_CHECKING:
    from gistread.tui.text import Span

# The beginning of a line that may still become an item or a heading: "-", "12.", "##"
_BEGINS = re.compile(r"[ \t]*(?:[-*+_]{1,2}|#{1,6}|\d{1,2}[.)]?)?[ \t]*")
_TABLE = re.compile(r"[ \t]*\|")
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]+(?=\S)")
# Stand for the words of a line that are printed: the rest is drawn as their continuation.
_WORDS_BEFORE = "x "
_HEADING_BEFORE = "# x "
# Words between signs ("**Emma**", "_Emma_", "`Emma`"), or a sign whose end is still to come. A
# closing sign at the end of the text may still become a longer one.
_SIGNS = re.compile(
    r"(?P<open>[*_`]+\Z)"
    r"|\*\*(?=\S)[^\n]+?(?<=\S)\*\*(?!\Z)"
    r"|(?<!\w)__(?=\S)[^\n]+?(?<=\S)__(?!\w|\Z)"
    r"|(?<![\w*])\*(?=[^\s*])[^*\n]+?(?<=\S)\*(?![\w*]|\Z)"
    r"|(?<!\w)_(?=[^\s_])[^_\n]+?(?<=\S)_(?!\w|\Z)"
    r"|`[^`\n]+`(?!\Z)"
    r"|(?P<begun>\*\*(?=\S)|(?<!\w)__(?=\S)|(?<![\w*])\*(?=[^\s*])|(?<!\w)_(?=[^\s_])|`)"
)
_SGR = {"strong": ("\x1b[1m", "\x1b[22m"), "emphasis": ("\x1b[3m", "\x1b[23m")}


class AnswerPrinter:
    """Prints an answer piece by piece.

    A piece may end anywhere, also within a sign.
    """

    def __init__(self) -> None:
        # Lines of a table, or the line being written, without words that are printed already
        self._waiting = ""
        self._printed = 0  # Characters printed of its drawn text

    def add(self, piece: str) -> None:
        """Print as much of the answer as later pieces cannot draw differently."""
        self._waiting += piece
        while "\n" in self._waiting and not self._is_table_open():
            self._print_lines()
        known = _known(self._waiting)
        if known.strip() and not _TABLE.match(known):
            self._print_drawn(known)
            self._leave_out_words(known)

    def _leave_out_words(self, printed: str) -> None:
        """Drop printed words from the line being written, so that they are not drawn again.

        Drawing a long line anew for each word would take quadratic time.
        """
        last_words = _last_words(printed)
        before = _HEADING_BEFORE if _HEADING.match(printed) else _WORDS_BEFORE
        is_shorter = len(before) + len(last_words) < len(printed)
        if not is_shorter:
            return
        unknown = self._waiting.removeprefix(printed)
        self._waiting = before + last_words + unknown
        self._printed = len(_drawn(before + last_words).text)

    def end(self) -> None:
        """Print the rest, and end the line. Prints nothing for an empty answer."""
        is_open = bool(self._waiting or self._printed)
        self._print_drawn(self._waiting)
        if is_open:
            write_drawn("\n")
        self._waiting = ""
        self._printed = 0

    def _is_table_open(self) -> bool:
        """Whether all lines waiting are rows of a table, and the next may be one too."""
        *rows, last = self._waiting.split("\n")
        if not all(_TABLE.match(row) for row in rows):
            return False
        return not last.strip() or _TABLE.match(last) is not None

    def _print_lines(self) -> None:
        """Print the first line waiting, or the whole table that begins there."""
        lines = self._waiting.split("\n")
        rows = len(list(takewhile(_TABLE.match, lines)))
        count = max(1, rows)
        self._print_drawn("\n".join(lines[:count]))
        write_drawn("\n")
        self._waiting = "\n".join(lines[count:])
        self._printed = 0

    def _print_drawn(self, text: str) -> None:
        """Print what is new in the drawn text, whose first `_printed` characters are there."""
        drawn = _drawn(text)
        start = self._printed
        changes: list[tuple[int, str]] = []  # (offset, sign that changes the style)
        for span in drawn.spans:
            if span.end > start and span.style in _SGR:
                on, off = _SGR[span.style]
                changes += [(max(span.start, start), on), (span.end, off)]
        write_drawn(_styled(drawn.text, sorted(changes), start))
        self._printed = max(start, len(drawn.text))


def print_answer(text: str) -> None:
    """Print a whole answer."""
    printer = AnswerPrinter()
    printer.add(text)
    printer.end()


@dataclass(frozen=True, slots=True)
class _Drawn:
    text: str
    spans: "tuple[Span, ...]"  # Bold and italic words


def _drawn(text: str) -> _Drawn:
    from gistread.tui.answer_markup import drawn_text  # 0.2 s, while the model answers

    columns = shutil.get_terminal_size().columns
    drawn, spans = drawn_text(sanitize(text), columns)
    return _Drawn(drawn, spans)


def _last_words(line: str) -> str:
    """What follows the last space outside signs; the whole line without such a space."""
    after_signs = 0
    for match in _SIGNS.finditer(line):
        after_signs = match.end()
    space = line.rfind(" ", after_signs)
    return line[space + 1 :]


def _known(line: str) -> str:
    """The beginning of an unfinished line that later words cannot draw differently."""
    beginning = line
    for match in _SIGNS.finditer(line):
        is_unfinished = match.lastgroup is not None
        if is_unfinished:
            beginning = line[: match.start()]
            break
    if _BEGINS.fullmatch(beginning):
        return ""
    return beginning


def _styled(drawn: str, changes: Iterable[tuple[int, str]], start: int) -> str:
    """`drawn[start:]` with the signs that change its style at their offsets."""
    if os.environ.get("TERM") == "dumb":
        return drawn[start:]
    pieces: list[str] = []
    at = start
    for offset, sign in changes:
        pieces += [drawn[at:offset], sign]
        at = offset
    return "".join([*pieces, drawn[at:]])
