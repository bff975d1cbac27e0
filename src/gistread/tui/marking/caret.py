"""Text selection by keyboard.

A caret moves by words, lines, sentences and paragraphs, then extends the selection.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from textual import events
from textual.message import Message
from textual.selection import Selection

from gistread.book.model import Book, ParagraphKind
from gistread.memory.passages import sentence_at
from gistread.tui.commands import Command, CommandKeys, CommandTarget
from gistread.tui.marking.caret_commands import (
    DROP_SELECTION,
    EXTENDING,
    SELECTING,
    CaretText,
    Unit,
)
from gistread.tui.text import LongText, selecting
from gistread.word_patterns import HYPHENATED

Range = tuple[int, int]  # `[start, end)` of the book's text

_LOOK_BACK = 200


def word_at(book: Book, offset: int) -> Range:
    spans = (
        match.span()
        for match in HYPHENATED.finditer(book.text, max(0, offset - _LOOK_BACK))
    )
    return next((span for span in spans if span[1] > offset), None) or previous_word(
        book, len(book.text)
    )


def whole_words(book: Book, chosen: Range) -> Range:
    """Extend a selection to whole words, without white space at its ends."""
    start, end = chosen
    words = book.text[start:end]
    if not words.strip():
        return chosen
    start, end = end - len(words.lstrip()), start + len(words.rstrip())
    first = word_at(book, start)
    last = word_at(book, end - 1)
    if last[0] < end:
        end = max(end, last[1])
    return min(start, first[0]), end


def previous_word(book: Book, offset: int) -> Range:
    """The last word that ends at or before an offset, or the first of the book."""
    low = offset
    while low > 0:
        low = max(0, low - _LOOK_BACK)
        words = [match.span() for match in HYPHENATED.finditer(book.text, low, offset)]
        if words and (low == 0 or len(words) > 1):
            return words[-1]
    match = HYPHENATED.search(book.text)
    if match is None:
        return 0, len(book.text)
    return match.span()


def paragraph_at(book: Book, offset: int) -> Range:
    if not book.paragraphs:
        return 0, len(book.text)
    paragraph = book.paragraphs[book.paragraph_index(offset)]
    return paragraph.start, paragraph.end


_AT: dict[Unit, Callable[[Book, int], Range]] = {
    Unit.WORD: word_at,
    Unit.SENTENCE: sentence_at,
    Unit.PARAGRAPH: paragraph_at,
}
_INK = re.compile(r"\S")


def next_unit(unit: Unit, book: Book, here: Range) -> Range:
    """The word, sentence or paragraph after a range, or the last of the book."""
    _, end = here
    if unit is not Unit.WORD:
        _, end = _AT[unit](book, end - 1)
    ink = _INK.search(book.text, end)
    offset = ink.start() if ink else len(book.text) - 1
    return _AT[unit](book, offset)


def previous_unit(unit: Unit, book: Book, here: Range) -> Range:
    """The word, sentence or paragraph before a range, or the first of the book."""
    if unit is Unit.WORD:
        return previous_word(book, here[0])
    before = book.text[: _AT[unit](book, here[0])[0]].rstrip()
    return _AT[unit](book, max(0, len(before) - 1))


def _neighbour(unit: Unit, book: Book, here: Range, *, forward: bool) -> Range:
    if forward:
        return next_unit(unit, book, here)
    return previous_unit(unit, book, here)


@dataclass(frozen=True, slots=True)
class Caret:
    """A selection from `anchor` to `head`, both included."""

    anchor: Range
    head: Range
    extending: bool = False  # Whether moving extends the selection

    @property
    def range(self) -> Range:
        return min(self.anchor[0], self.head[0]), max(self.anchor[1], self.head[1])


def _is_whole(unit: Unit, book: Book, caret: Caret) -> bool:
    """Whether the caret is on a word, or on a whole sentence or paragraph."""
    return unit is Unit.WORD or caret.range == _AT[unit](book, caret.head[0])


_NO_PROSE = (ParagraphKind.HEADING, ParagraphKind.BREAK, ParagraphKind.IMAGE)


class SelectableText(CommandTarget, LongText):
    """A book with a caret for selecting by keyboard.

    Keys of `Scope.SELECTING` come before the pane's others.
    """

    class CaretMoved(Message):
        """The caret or the selection changed."""

    book: Book | None = None
    caret: Caret | None = None
    pointed_at: int | None = None  # Offset of the last click, caret, hit or source
    command_keys: CommandKeys | None = None  # None: no key selects

    _something_selected = False

    @property
    def selecting(self) -> bool:
        return self.caret is not None and self.selected_range is not None

    def selection_updated(self, selection: Selection | None) -> None:
        super().selection_updated(selection)
        if (selection is None) is self._something_selected:
            self._something_selected = not self._something_selected
            self.post_message(self.CaretMoved())

    def begin_selecting(self, unit: Unit = Unit.WORD) -> None:
        """Put the caret on the selection, or else where the user looks.

        That is the last click, hit or source, if it is in view, or else the first words in view.
        """
        book, view = self.book, self.visible_range
        if book is None or view is None:
            return
        selected = self.selected_range
        if selected is not None:
            start, end = selected
            self.caret = Caret((start, start), previous_word(book, end), True)
            self._show_caret(selected)
            return
        if self.pointed_at is not None and view[0] <= self.pointed_at < view[1]:
            head = _AT[unit](book, self.pointed_at)
        else:
            head = _AT[unit](book, view[0])
            # Begun above the view, or a heading.
            while (
                head[0] < view[0]
                or book.paragraphs[book.paragraph_index(head[0])].kind in _NO_PROSE
            ):
                following = next_unit(unit, book, head)
                if following == head or following[0] >= view[1]:
                    break
                head = following
        self.caret = Caret(head, head)
        self._show_caret()

    def drop_selection(self) -> None:
        """Clear the selection. The next caret starts where this one was."""
        if self.caret is not None:
            self.pointed_at = self.caret.head[0]
        self.caret = None
        selecting.drop(self)
        self.post_message(self.CaretMoved())

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if self.caret is not None:
            self.caret = None
            self.post_message(self.CaretMoved())

    async def on_key(self, event: events.Key) -> None:
        """Keys for selecting take precedence over all others."""
        command = self._command_of(event.key)
        if command is not None:
            event.stop()
            event.prevent_default()
            await self.run_command(command)

    def _command_of(self, key: str) -> Command[CaretText] | None:
        """The command for selecting that this key runs now."""
        if self.book is None or self.command_keys is None:
            return None
        for command in SELECTING:
            if key in self.command_keys.pressed(command) and self._can_run(command):
                return command
        return None

    def _can_run(self, command: Command[CaretText]) -> bool:
        if command is DROP_SELECTION:
            return self.selected_range is not None
        return self.selecting or command in EXTENDING

    def toggle_anchor(self) -> None:
        """Begin the selection at the caret; again: cancel it."""
        caret = self.caret
        if caret is not None:
            if caret.extending:
                self.caret = Caret(caret.head, caret.head)
            else:
                self.caret = replace(caret, extending=True)
            self._show_caret()

    def move_caret(self, unit: Unit, *, forward: bool) -> None:
        self._step(unit, forward=forward, extend=False)

    def extend_selection(self, unit: Unit, *, forward: bool) -> None:
        self._step(unit, forward=forward, extend=True)

    def _step(self, unit: Unit, *, forward: bool, extend: bool) -> None:
        if not self.selecting:
            self.begin_selecting()
            if self.caret is not None and not self.caret.extending:
                self.caret = replace(self.caret, extending=True)
                self.post_message(self.CaretMoved())
                return
        book, caret = self.book, self.caret
        if book is None or caret is None:
            return
        extend = extend or caret.extending
        if unit is Unit.ROW:
            head = self._word_in_next_row(book, caret.head, 1 if forward else -1)
        elif extend or _is_whole(unit, book, caret):
            head = _neighbour(unit, book, caret.head, forward=forward)
        else:
            head = _AT[unit](book, caret.head[0])  # before any other
        self.caret = Caret(head, head)
        if extend:
            self.caret = Caret(caret.anchor, head, True)
        self._show_caret()

    def _word_in_next_row(self, book: Book, word: Range, rows: int) -> Range:
        """The word below (above, if `rows` is negative) a word; at the end of the book the same."""
        offset = self.offset_below(word[0], rows)
        if offset is None:
            return word
        return word_at(book, offset)

    def _show_caret(self, selected: Range | None = None) -> None:
        if self.caret is None:
            return
        self.select_range(*(selected or self.caret.range))
        self.bring_into_view(self.caret.head[0])
        self.bring_into_view(max(self.caret.head[0], self.caret.head[1] - 1))
        self.post_message(self.CaretMoved())
