"""Follows links.

Notes open under the paragraph that cites them, links out of the book only if asked for.
"""

from bisect import bisect_left
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

# A link: the open note in which it stands (None: the text), and its index
Place = tuple[int | None, int]


def links_in(book: Book, start: int, end: int) -> list[int]:
    first = bisect_left(book.links, start, key=lambda link: link.start)
    last = bisect_left(book.links, end, key=lambda link: link.start)
    return list(range(first, last))


def shown_links(book: Book, start: int, end: int, notes: list[int]) -> list[Place]:
    """The links between two offsets and in the open notes there, in screen order."""
    shown: list[Place] = []
    for paragraph in book.paragraphs_between(start, end):
        shown += (
            (None, link)
            for link in links_in(
                book, max(start, paragraph.start), min(end, paragraph.end)
            )
        )
        for note in sorted(notes):
            link = book.links[note]
            if paragraph.start <= link.start < paragraph.end:
                shown += (
                    (note, inner)
                    for inner in links_in(book, link.target or 0, link.target_end or 0)
                )
    return shown


# Schemes handed to the system's browser. Other addresses, files above all, are only copied.
_OPENABLE = frozenset({"http", "https", "mailto"})


class LinkController:
    def __init__(self, context: ReadingContext) -> None:
        self._context = context
        self._book = context.book
        self._pane = context.book_pane
        self._chosen: Place | None = None
        self._open_notes: dict[
            int, int
        ] = {}  # the place shown when each note was opened, by its link
        self.preview = NotePreviews(context)

    def step(self, step: int) -> None:
        """Choose another link on the screen, from the last to the first."""
        view = self._pane.visible_range
        if view is None:
            return
        links = shown_links(self._book, *view, self._notes())
        if not links:
            self._choose(None)
            self._context.warn("No link on the screen.")
            return
        if self._chosen in links:
            at = links.index(self._chosen) + step
        elif step > 0:
            at = step - 1
        else:
            at = step
        self._choose(links[at % len(links)])

    def _choose(self, chosen: Place | None) -> None:
        before, self._chosen = self._chosen, chosen
        concerned = [link[0] for link in (before, chosen) if link is not None]
        for note in self._notes():
            if note not in concerned:
                continue
            is_in_note = chosen is not None and chosen[0] == note
            redrawn = note_blocks(
                self._book, note, chosen[1] if chosen and is_in_note else None
            )
            for index, block in zip(
                self._pane.blocks_of(note_key(note)), redrawn, strict=True
            ):
                if self._pane.block(index) != block:
                    self._pane.splice(index, 1, (block,))
        marks = []
        if chosen is not None and chosen[0] is None:
            link = self._book.links[chosen[1]]
            marks = [Mark(link.start, link.end, "current-link")]
        self._context.layers.set(Layer.LINKS, marks)

    def follow_chosen(self) -> bool:
        """Follow the chosen link, or close its note. Returns False if neither is in view."""
        view = self._pane.visible_range
        if view is None or self._chosen is None:
            return False
        note, link = self._chosen
        if (
            note is None
            and link in self._notes()
            and self._pane.shows_key(note_key(link))
        ):
            self._close_note(link)
            return True
        if self._chosen not in shown_links(self._book, *view, self._notes()):
            self._choose(None)
            return False
        self._follow(*self._chosen)
        return True

    def clicked(self, event: Clicked) -> bool:
        """Show the note of a reference; a second click opens it in the text."""
        index = event.link
        if not isinstance(index, int):
            return False
        note = note_of(event.block_key)
        is_shown = index == self.preview.shown or index in self._notes()
        in_text = event.control is self._pane
        if (
            is_shown
            or not has_note(self._book.links[index])
            or (in_text and note is not None)
        ):
            self._follow(note, index)
        elif in_text:
            self._preview(index)
        else:
            self.preview.show_inner(index)
        return True

    def preview_next(self) -> None:
        """Show the note of the next reference in view: at first the nearest to where one reads."""
        view = self._pane.whole_range
        if view is None:
            return
        references = [
            index
            for index in links_in(self._book, *view)
            if has_note(self._book.links[index])
        ]
        if not references:
            self._context.warn("No note on the screen.")
            return
        shown = self.preview.shown
        if shown in references:
            at = references.index(shown) + 1
        else:
            here = self._cursor(view)
            after = (self._book.links[index].start >= here for index in references)
            at = next((number for number, is_after in enumerate(after) if is_after), -1)
        self._preview(references[at % len(references)])

    def _cursor(self, view: tuple[int, int]) -> int:
        """Where one reads: at the chosen link, the caret or the last click or hit, if in view."""
        pointed_at = self._pane.pointed_at
        places = [] if pointed_at is None else [pointed_at]
        if self._pane.caret is not None:
            places.insert(0, self._pane.caret.head[0])
        if self._chosen is not None and self._chosen[0] is None:
            places.insert(0, self._book.links[self._chosen[1]].start)
        return next((place for place in places if view[0] <= place < view[1]), view[0])

    def _preview(self, note: int) -> None:
        view = self._pane.whole_range
        reference = self._book.links[note].start
        if view is not None and view[0] <= reference < view[1]:
            self._choose((None, note))
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
        gone = [
            note
            for note in self._open_notes
            if not self._pane.blocks_of(note_key(note))
        ]
        for note in gone:
            del self._open_notes[note]
        return list(self._open_notes)

    def _open_note(self, note: int) -> None:
        pane = self._pane
        end = pane.blocks_of(
            self._book.paragraph_index(self._book.links[note].start)
        ).stop
        # Notes of earlier links come first.
        while (
            end < pane.block_count
            and (other := note_of(pane.block(end).key)) is not None
            and other < note
        ):
            end += 1
        place = pane.place
        pane.splice(end, 0, note_blocks(self._book, note))
        self._fit_air_below(note)
        self._open_notes[note] = place
        self._choose((None, note))
        pane.call_after_refresh(lambda: self._show_note(note))

    def _fit_air_below(self, note: int) -> None:
        """Leave an empty row between the last open note of a paragraph and the text below it."""
        pane = self._pane
        first = pane.blocks_of(
            self._book.paragraph_index(self._book.links[note].start)
        ).stop
        end = first
        while end < pane.block_count and note_of(pane.block(end).key) is not None:
            end += 1
        has_air = end < pane.block_count and pane.block(end) == AIR
        below = end + has_air
        follows_close = below < pane.block_count and pane.block(below).blank_before == 0
        needs_air = end > first and follows_close
        if needs_air is not has_air:
            pane.splice(end, int(has_air), (AIR,) * needs_air)

    def _show_note(self, note: int) -> None:
        """Scroll to the note, as far as its reference stays in view.

        Past it only if nothing of the note would show.
        """
        pane, place = self._pane, self._open_notes.get(note, self._pane.place)
        pane.scroll_to_key(note_key(note))
        view, reference = pane.visible_range, self._book.links[note].start
        if view is not None and reference < view[0]:
            pane.bring_into_view(reference)
            if not pane.shows_key(note_key(note)):
                pane.scroll_to_offset(place)
                pane.scroll_to_key(note_key(note))

    def _close_note(self, note: int) -> None:
        blocks = self._pane.blocks_of(note_key(note))
        self._pane.splice(blocks.start, len(blocks), ())
        self._fit_air_below(note)
        place = self._open_notes.pop(note, self._pane.place)
        self._choose((None, note))
        self._pane.call_after_refresh(lambda: self._scroll_back(note, place))

    def _scroll_back(self, note: int, place: int) -> None:
        view = self._pane.visible_range
        if view is not None and not view[0] <= self._book.links[note].start < view[1]:
            self._pane.scroll_to_offset(place)

    def close_note(self) -> bool:
        """Close the note that was shown or opened last. Returns False if there is none."""
        if self.preview.close():
            return True
        notes = self._notes()
        if notes:
            self._close_note(notes[-1])
        return bool(notes)
