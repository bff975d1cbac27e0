"""Follows links.

Notes open under the paragraph that cites them; links out of the book open only if asked for.
"""

from bisect import bisect_left
from typing import NamedTuple
from urllib.parse import urlsplit

from gistread.book.model import Book
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.layers import Layer
from gistread.tui.reading.note_blocks import (
    AIR,
    has_note,
    note_blocks,
    note_key,
    note_of,
)
from gistread.tui.reading.note_previews import NotePreviews
from gistread.tui.screens.listing import ListScreen, Row
from gistread.tui.text import Clicked, Mark


class ShownLink(NamedTuple):
    """A link on the screen."""

    note: int | None  # The link of the open note in which it stands; None: the text
    link: int  # Index in the links of the book


def links_in(book: Book, start: int, end: int) -> list[int]:
    """Indexes of the links that begin between two offsets."""
    first = bisect_left(book.links, start, key=lambda link: link.start)
    last = bisect_left(book.links, end, key=lambda link: link.start)
    return list(range(first, last))


def shown_links(book: Book, start: int, end: int, notes: list[int]) -> list[ShownLink]:
    """The links between two offsets and in the open notes there, in screen order."""
    shown: list[ShownLink] = []
    for paragraph in book.paragraphs_between(start, end):
        first, last = max(start, paragraph.start), min(end, paragraph.end)
        shown += [ShownLink(None, index) for index in links_in(book, first, last)]
        for note in sorted(notes):
            reference = book.links[note]
            if paragraph.start <= reference.start < paragraph.end:
                shown += [ShownLink(note, index) for index in links_of_note(book, note)]
    return shown


def links_of_note(book: Book, note: int) -> list[int]:
    """Indexes of the links in the note that a link refers to; none if it refers to none."""
    reference = book.links[note]
    if reference.target is None or reference.target_end is None:
        return []
    return links_in(book, reference.target, reference.target_end)


# Schemes handed to the system's browser. Other addresses, files above all, are only copied.
_OPENABLE = frozenset({"http", "https", "mailto"})


class LinkController:
    """Chooses and follows links, and opens notes.

    A note is named by the index of the link that refers to it.
    """

    def __init__(self, context: ReadingContext) -> None:
        self._context = context
        self._book = context.book
        self._pane = context.book_pane
        self._chosen: ShownLink | None = None
        # The open notes, with the place that was shown when each was opened
        self._open_notes: dict[int, int] = {}
        self.preview = NotePreviews(context)

    def step(self, step: int) -> None:
        """Choose the link `step` links further on the screen; after the last one, the first."""
        view = self._pane.visible_range
        if view is None:
            return
        links = shown_links(self._book, *view, self._notes())
        if not links:
            self._choose(None)
            self._context.warn("No link on the screen.")
            return
        if self._chosen in links:
            index = links.index(self._chosen) + step
        else:
            # The first link, or the last one backwards
            index = step - 1 if step > 0 else step
        self._choose(links[index % len(links)])

    def _choose(self, chosen: ShownLink | None) -> None:
        """Mark this link as the chosen one, in place of the one before."""
        before, self._chosen = self._chosen, chosen
        notes_with_change = [link.note for link in (before, chosen) if link is not None]
        for note in self._notes():
            if note in notes_with_change:
                self._redraw_note(note)
        marks = []
        if chosen is not None and chosen.note is None:
            link = self._book.links[chosen.link]
            marks = [Mark(link.start, link.end, "current-link")]
        self._context.layers.set(Layer.LINKS, marks)

    def _redraw_note(self, note: int) -> None:
        """Draw an open note with its chosen link, if any."""
        chosen_index = None
        if self._chosen is not None and self._chosen.note == note:
            chosen_index = self._chosen.link
        indexes = self._pane.blocks_of(note_key(note))
        blocks = note_blocks(self._book, note, chosen_index)
        for index, block in zip(indexes, blocks, strict=True):
            if self._pane.block(index) != block:
                self._pane.splice(index, 1, (block,))

    def follow_chosen(self) -> bool:
        """Follow the chosen link, or close its note.

        Returns whether that was done: neither may be in view.
        """
        view = self._pane.visible_range
        if view is None or self._chosen is None:
            return False
        note, index = self._chosen
        has_open_note = note is None and index in self._notes()
        if has_open_note and self._pane.shows_key(note_key(index)):
            self._close_note(index)
            return True
        if self._chosen not in shown_links(self._book, *view, self._notes()):
            self._choose(None)
            return False
        self._follow(note, index)
        return True

    def clicked(self, event: Clicked) -> bool:
        """Show the note of a reference; a second click opens it in the text.

        Returns whether a link was clicked.
        """
        index = event.link
        if not isinstance(index, int):
            return False
        note = note_of(event.block_key)
        in_pane = event.control is self._pane
        in_open_note = in_pane and note is not None
        is_reference = has_note(self._book.links[index])
        is_shown = index == self.preview.shown or index in self._notes()
        if is_shown or in_open_note or not is_reference:
            self._follow(note, index)
        elif in_pane:
            self._preview(index)
        else:
            self.preview.show_inner(index)
        return True

    def preview_next(self) -> None:
        """Show the note of the next reference in view; at first, of the next after the cursor."""
        view = self._pane.whole_range
        if view is None:
            return
        links = self._book.links
        references = [
            index for index in links_in(self._book, *view) if has_note(links[index])
        ]
        if not references:
            self._context.warn("No note on the screen.")
            return
        shown = self.preview.shown
        if shown in references:
            after_shown = references.index(shown) + 1
            self._preview(references[after_shown % len(references)])
            return
        here = self._cursor(view)
        after_cursor = [index for index in references if links[index].start >= here]
        self._preview(after_cursor[0] if after_cursor else references[-1])

    def _cursor(self, view: tuple[int, int]) -> int:
        """Where the user is: at the chosen link, the caret, or the last click or hit, if in view.

        Otherwise at the top of the view.
        """
        top, bottom = view
        places: list[int] = []
        if self._chosen is not None and self._chosen.note is None:
            places.append(self._book.links[self._chosen.link].start)
        if self._pane.caret is not None:
            start, _ = self._pane.caret.head
            places.append(start)
        if self._pane.pointed_at is not None:
            places.append(self._pane.pointed_at)
        for place in places:
            if top <= place < bottom:
                return place
        return top

    def _preview(self, note: int) -> None:
        """Show a note over the book, and choose its reference if that is in view."""
        view = self._pane.whole_range
        reference = self._book.links[note].start
        if view is not None and view[0] <= reference < view[1]:
            self._choose(ShownLink(None, note))
        self.preview.show(note)

    def pointed_at(self, link: int | None) -> None:
        """The mouse is on this link of the text, or on none."""
        if link is None or not has_note(self._book.links[link]):
            if self.preview.by_mouse:
                self.preview.close()
        elif link not in self._notes() and link != self.preview.shown:
            self.preview.show(link, by_mouse=True)

    def _follow(self, note: int | None, index: int) -> None:
        """Open or close the note of a link in the text; go to the target of any other link."""
        self.preview.close()
        link = self._book.links[index]
        if note is None and has_note(link):
            if index in self._notes():
                self._close_note(index)
            else:
                self._open_note(index)
        elif link.target is not None:
            self._choose(None)
            self._context.navigation.jump(link.target)
        elif link.address:
            self._show_address(link.address)

    def _show_address(self, address: str) -> None:
        """Let the user copy or open an address."""
        rows = [Row("copy", "Copy the address")]
        if urlsplit(address).scheme.lower() in _OPENABLE:
            rows.append(Row("open", "Open in the browser"))

        def act(chosen: str) -> None:
            if chosen == "open":
                self._context.screen.app.open_url(address)
            else:
                self._context.screen.app.copy_to_clipboard(address)
                self._context.notify(f"Copied: {address}")

        self._context.push(ListScreen("This link leaves the book", address, rows), act)

    def _notes(self) -> list[int]:
        """The open notes. A new layout of the page has closed them all."""
        for note in list(self._open_notes):
            if not self._pane.blocks_of(note_key(note)):
                del self._open_notes[note]
        return list(self._open_notes)

    def _open_note(self, note: int) -> None:
        """Show a note below the paragraph that refers to it."""
        pane = self._pane
        index = self._first_block_below(note)
        # Notes of earlier links come first.
        while (other := self._note_at(index)) is not None and other < note:
            index += 1
        place = pane.place
        pane.splice(index, 0, note_blocks(self._book, note))
        self._fit_air_below(note)
        self._open_notes[note] = place
        self._choose(ShownLink(None, note))
        pane.call_after_refresh(lambda: self._show_note(note))

    def _first_block_below(self, note: int) -> int:
        """Index of the first block below the paragraph that refers to a note."""
        reference = self._book.links[note].start
        paragraph = self._book.paragraph_index(reference)
        return self._pane.blocks_of(paragraph).stop

    def _note_at(self, index: int) -> int | None:
        """The note that a block belongs to; None if it is none, or there is no such block."""
        if index >= self._pane.block_count:
            return None
        return note_of(self._pane.block(index).key)

    def _fit_air_below(self, note: int) -> None:
        """Leave an empty row between the last open note of a paragraph and the text below it."""
        pane = self._pane
        first = self._first_block_below(note)
        notes_end = first
        while self._note_at(notes_end) is not None:
            notes_end += 1
        has_air = notes_end < pane.block_count and pane.block(notes_end) == AIR
        below = notes_end + 1 if has_air else notes_end
        follows_close = below < pane.block_count and pane.block(below).blank_before == 0
        needs_air = notes_end > first and follows_close
        if needs_air and not has_air:
            pane.splice(notes_end, 0, (AIR,))
        elif has_air and not needs_air:
            pane.splice(notes_end, 1, ())

    def _show_note(self, note: int) -> None:
        """Scroll to a note that has just been opened, but keep its reference in view.

        The reference leaves the view only if nothing of the note could be shown otherwise.
        """
        pane = self._pane
        place = self._open_notes.get(note, pane.place)
        pane.scroll_to_key(note_key(note))
        view, reference = pane.visible_range, self._book.links[note].start
        is_reference_above = view is not None and reference < view[0]
        if is_reference_above:
            pane.bring_into_view(reference)
            if not pane.shows_key(note_key(note)):
                pane.scroll_to_offset(place)
                pane.scroll_to_key(note_key(note))

    def _close_note(self, note: int) -> None:
        blocks = self._pane.blocks_of(note_key(note))
        self._pane.splice(blocks.start, len(blocks), ())
        self._fit_air_below(note)
        place = self._open_notes.pop(note, self._pane.place)
        self._choose(ShownLink(None, note))
        self._pane.call_after_refresh(lambda: self._scroll_back(note, place))

    def _scroll_back(self, note: int, place: int) -> None:
        """Show the place where a note was opened, unless its reference is in view."""
        view = self._pane.visible_range
        if view is None:
            return
        top, bottom = view
        reference = self._book.links[note].start
        if not top <= reference < bottom:
            self._pane.scroll_to_offset(place)

    def close_note(self) -> bool:
        """Close the note that was shown or opened last. Returns False if there is none."""
        if self.preview.close():
            return True
        notes = self._notes()
        if notes:
            self._close_note(notes[-1])
        return bool(notes)
