"""Follows links: notes open under the paragraph that cites them, links out of the book only if
asked for.
"""

from bisect import bisect_left
from collections.abc import Hashable
from dataclasses import replace
from urllib.parse import urlsplit

from gistread.book.model import Book
from gistread.tui.book_blocks import inline_spans
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.layers import Layer
from gistread.tui.screens.listing import ListScreen, Row
from gistread.tui.text import Block, Clicked, Mark

Place = tuple[
    int | None, int
]  # A link: the open note in which it stands (None: the text), and its index
_RAIL = "┊ "


def links_in(book: Book, start: int, end: int) -> list[int]:
    first = bisect_left(book.links, start, key=lambda link: link.start)
    last = bisect_left(book.links, end, key=lambda link: link.start)
    return list(range(first, last))


def note_key(note: int) -> tuple[str, int]:
    return "note", note


def note_blocks(book: Book, note: int, chosen: int | None = None) -> list[Block]:
    """The note that a link refers to, without offsets in the book; `chosen`.

    Index of a link in it.
    """
    link = book.links[note]
    if link.target is None or link.target_end is None:
        return []
    blocks: list[Block] = []
    for paragraph in book.paragraphs_between(link.target, link.target_end):
        start, end = max(paragraph.start, link.target), min(paragraph.end, link.target_end)
        spans = inline_spans(book, start, end)
        if chosen is not None:
            spans += tuple(
                replace(span, style="current-link") for span in spans if span.link == chosen
            )
        blocks.append(
            Block(
                book.text[start:end],
                key=note_key(note),
                style="note",
                indent=2,
                rail=_RAIL,
                blank_before=1 if not blocks else 0,
                spans=spans,
            )
        )
    return blocks or [Block("This note is empty.", key=note_key(note), style="muted", rail=_RAIL)]


def shown_links(book: Book, start: int, end: int, notes: list[int]) -> list[Place]:
    """The links between two offsets and in the open notes there, in screen order."""
    shown: list[Place] = []
    for paragraph in book.paragraphs_between(start, end):
        shown += (
            (None, link)
            for link in links_in(book, max(start, paragraph.start), min(end, paragraph.end))
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
        at = links.index(self._chosen) + step if self._chosen in links else step - (step > 0)
        self._choose(links[at % len(links)])

    def _choose(self, chosen: Place | None) -> None:
        before, self._chosen = self._chosen, chosen
        concerned = [one[0] for one in (before, chosen) if one is not None]
        for note in (note for note in self._notes() if note in concerned):
            redrawn = note_blocks(
                self._book, note, chosen[1] if chosen is not None and chosen[0] == note else None
            )
            for index, block in zip(self._pane.blocks_of(note_key(note)), redrawn, strict=True):
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
        if note is None and link in self._notes() and self._pane.shows_key(note_key(link)):
            self._close_note(link)
            return True
        if self._chosen not in shown_links(self._book, *view, self._notes()):
            self._choose(None)
            return False
        self._follow(*self._chosen)
        return True

    def clicked(self, event: Clicked) -> bool:
        if not isinstance(event.link, int):
            return False
        self._follow(_note_of(event.block_key), event.link)
        return True

    def _follow(self, note: int | None, index: int) -> None:
        """Open or close the note of a link in the text; go to the target of any other link."""
        link = self._book.links[index]
        if note is None and link.target is not None and link.target_end is not None:
            (self._close_note if index in self._notes() else self._open_note)(index)
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
        gone = [note for note in self._open_notes if not self._pane.blocks_of(note_key(note))]
        for note in gone:
            del self._open_notes[note]
        return list(self._open_notes)

    def _open_note(self, note: int) -> None:
        pane = self._pane
        end = pane.blocks_of(self._book.paragraph_index(self._book.links[note].start)).stop
        # Notes of earlier links come first.
        while (
            end < pane.block_count
            and (other := _note_of(pane.block(end).key)) is not None
            and other < note
        ):
            end += 1
        place = pane.place
        pane.splice(end, 0, note_blocks(self._book, note))
        self._open_notes[note] = place
        self._choose((None, note))
        pane.call_after_refresh(lambda: self._show_note(note))

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
        place = self._open_notes.pop(note, self._pane.place)
        self._choose((None, note))
        self._pane.call_after_refresh(lambda: self._scroll_back(note, place))

    def _scroll_back(self, note: int, place: int) -> None:
        view = self._pane.visible_range
        if view is not None and not view[0] <= self._book.links[note].start < view[1]:
            self._pane.scroll_to_offset(place)

    def close_last_note(self) -> bool:
        """Close the note that was opened last. Returns False if none is open."""
        notes = self._notes()
        if notes:
            self._close_note(notes[-1])
        return bool(notes)


def _note_of(key: Hashable) -> int | None:
    """The note that has blocks with this key."""
    match key:
        case ("note", int(note)):
            return note
    return None
