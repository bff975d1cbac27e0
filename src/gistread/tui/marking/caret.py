"""Selects text by keyboard.

A caret moves by words, lines, sentences and paragraphs, and then extends the selection.
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
from gistread.units import stripped_range
from gistread.word_patterns import HYPHENATED

Range = tuple[int, int]  # `[start, end)` of the book's text

_LOOK_BACK = 200  # Characters before an offset in which the word around it begins


def word_at(book: Book, offset: int) -> Range:
    """The word at an offset, or the next one; behind the last word, that one."""
    from_offset = max(0, offset - _LOOK_BACK)
    for match in HYPHENATED.finditer(book.text, from_offset):
        if match.end() > offset:
            return match.span()
    return previous_word(book, len(book.text))


def whole_words(book: Book, chosen: Range) -> Range:
    """Extend a selection to whole words, without white space at its ends."""
    if not book.text[slice(*chosen)].strip():
        return chosen
    start, end = stripped_range(book.text, *chosen)
    first_start, _ = word_at(book, start)
    last_start, last_end = word_at(book, end - 1)
    # After a comma at the end, that is the next word, which does not belong to the selection.
    if last_start < end:
        end = max(end, last_end)
    return min(start, first_start), end


def previous_word(book: Book, offset: int) -> Range:
    """The last word before an offset, or what is before it of a word around it.

    At the beginning, the first word of the book.
    """
    start = offset
    while start > 0:
        start = max(0, start - _LOOK_BACK)
        words = [
            match.span() for match in HYPHENATED.finditer(book.text, start, offset)
        ]
        # The first one may have been cut at `start`.
        is_whole = start == 0 or len(words) > 1
        if words and is_whole:
            return words[-1]
    first_word = HYPHENATED.search(book.text)
    if first_word is None:
        return 0, len(book.text)
    return first_word.span()


def paragraph_at(book: Book, offset: int) -> Range:
    """The paragraph that contains an offset."""
    if not book.paragraphs:
        return 0, len(book.text)
    paragraph = book.paragraphs[book.paragraph_index(offset)]
    return paragraph.start, paragraph.end


_UNIT_AT: dict[Unit, Callable[[Book, int], Range]] = {
    Unit.WORD: word_at,
    Unit.SENTENCE: sentence_at,
    Unit.PARAGRAPH: paragraph_at,
}
_INK = re.compile(r"\S")  # A character other than white space


def next_unit(unit: Unit, book: Book, here: Range) -> Range:
    """The word, sentence or paragraph after a range, or the last of the book."""
    unit_at = _UNIT_AT[unit]
    _, end = here
    if unit is not Unit.WORD:
        # The range may be only a part of its sentence or paragraph.
        _, end = unit_at(book, end - 1)
    ink = _INK.search(book.text, end)
    offset = ink.start() if ink else len(book.text) - 1
    return unit_at(book, offset)


def previous_unit(unit: Unit, book: Book, here: Range) -> Range:
    """The word, sentence or paragraph before a range, or the first of the book."""
    offset, _ = here
    if unit is Unit.WORD:
        return previous_word(book, offset)
    unit_at = _UNIT_AT[unit]
    start, _ = unit_at(book, offset)
    text_before = book.text[:start].rstrip()
    return unit_at(book, max(0, len(text_before) - 1))


def _neighbour(unit: Unit, book: Book, here: Range, *, forward: bool) -> Range:
    """The next word, sentence or paragraph, or the one before."""
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
        """The selected range of the book."""
        anchor_start, anchor_end = self.anchor
        head_start, head_end = self.head
        return min(anchor_start, head_start), max(anchor_end, head_end)


def _is_whole(unit: Unit, book: Book, caret: Caret) -> bool:
    """Whether the caret is on a word, or on a whole sentence or paragraph."""
    start, _ = caret.head
    return unit is Unit.WORD or caret.range == _UNIT_AT[unit](book, start)


def _next_head(
    unit: Unit, book: Book, caret: Caret, *, forward: bool, extend: bool
) -> Range:
    """Where the head of the caret goes from a word, sentence or paragraph."""
    if extend or _is_whole(unit, book, caret):
        return _neighbour(unit, book, caret.head, forward=forward)
    # First the whole sentence or paragraph around the caret
    start, _ = caret.head
    return _UNIT_AT[unit](book, start)


_NO_PROSE = (ParagraphKind.HEADING, ParagraphKind.BREAK, ParagraphKind.IMAGE)


def _first_in_view(unit: Unit, book: Book, view: Range) -> Range:
    """The first word, sentence or paragraph of prose that begins in view.

    If there is none, the last one before the end of the view.
    """
    top, bottom = view
    here = _UNIT_AT[unit](book, top)
    while True:
        start, _ = here
        paragraph = book.paragraphs[book.paragraph_index(start)]
        if start >= top and paragraph.kind not in _NO_PROSE:
            return here
        following = next_unit(unit, book, here)
        if following == here or following[0] >= bottom:
            return here
        here = following


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
        """Whether the user is selecting by keyboard."""
        return self.caret is not None and self.selected_range is not None

    def selection_updated(self, selection: Selection | None) -> None:
        super().selection_updated(selection)
        is_something_selected = selection is not None
        if is_something_selected is not self._something_selected:
            self._something_selected = is_something_selected
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
            # Its end moves from now on, word by word.
            start, end = selected
            self.caret = Caret(
                anchor=(start, start), head=previous_word(book, end), extending=True
            )
            self._show_caret(selected)
            return
        top, bottom = view
        if self.pointed_at is not None and top <= self.pointed_at < bottom:
            head = _UNIT_AT[unit](book, self.pointed_at)
        else:
            head = _first_in_view(unit, book, view)
        self.caret = Caret(head, head)
        self._show_caret()

    def drop_selection(self) -> None:
        """Clear the selection. The next caret starts where this one was."""
        if self.caret is not None:
            self.pointed_at, _ = self.caret.head
        self.caret = None
        selecting.drop(self)
        self.post_message(self.CaretMoved())

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if self.caret is not None:
            self.caret = None
            self.post_message(self.CaretMoved())

    async def on_key(self, event: events.Key) -> None:
        """Run the command for selecting that has this key, before any other with the key."""
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
        """Whether the command works now: most do only while the user is selecting."""
        if command is DROP_SELECTION:
            return self.selected_range is not None
        return self.selecting or command in EXTENDING

    def toggle_anchor(self) -> None:
        """Begin the selection at the caret; if it has begun, cancel it."""
        caret = self.caret
        if caret is None:
            return
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
        """Move the caret, or extend the selection. Without a selection, begin one."""
        if not self.selecting:
            self.begin_selecting()
            # With a selection that the mouse has made, the step itself extends it.
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
        else:
            head = _next_head(unit, book, caret, forward=forward, extend=extend)
        if extend:
            self.caret = Caret(caret.anchor, head, extending=True)
        else:
            self.caret = Caret(head, head)
        self._show_caret()

    def _word_in_next_row(self, book: Book, word: Range, rows: int) -> Range:
        """The word so many rows below a word; the same if there is none.

        `rows` is negative for a word above.
        """
        start, _ = word
        offset = self.offset_below(start, rows)
        if offset is None:
            return word
        return word_at(book, offset)

    def _show_caret(self, selected: Range | None = None) -> None:
        """Select this range, or that of the caret, and bring the caret into view."""
        if self.caret is None:
            return
        start, end = selected or self.caret.range
        self.select_range(start, end)
        head_start, head_end = self.caret.head
        self.bring_into_view(head_start)
        self.bring_into_view(max(head_start, head_end - 1))
        self.post_message(self.CaretMoved())
