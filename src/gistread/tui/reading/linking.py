"""Links of the book: chosen by keys or clicked, followed with a way back; notes open under what cites them.

A part of the reading screen. A link that leads out of the book is shown; nothing is opened that a person has not asked
for twice.
"""

from collections.abc import Hashable
from urllib.parse import urlsplit

from textual import on

from gistread.tui.marking.layers import Layer, Layers
from gistread.tui.reading.moving import Moving
from gistread.tui.reading.note_blocks import Way, note_blocks, note_key, shown_links
from gistread.tui.text.marks import Mark
from gistread.tui.text.messages import Clicked

_OPENED = frozenset({"http", "https", "mailto"})
"""What may be handed to the system's browser: an address of anything else, a file's above all, is only copied."""


class Linking(Moving):
    """What a screen with a book pane and marks in layers needs for links."""

    mark_layers: Layers

    def __init__(self) -> None:
        super().__init__()
        self._chosen_link: tuple[Way, int] | None = None
        self._open_notes: dict[Way, int] = {}
        """Notes that stand open, and where the person read when each was opened."""

    # Choosing

    def action_next_link(self) -> None:
        self._choose(self._count())

    def action_previous_link(self) -> None:
        self._choose(-self._count())

    def _choose(self, step: int) -> None:
        """So many links on, of those on the screen; from the last to the first."""
        view = self.book_pane.visible_range
        if self.book is None or view is None:
            return
        links = shown_links(self.book, *view, self._notes())
        if not links:
            self.choose_link(None)
            self.warn("There is no link on the screen.")
            return
        if self._chosen_link in links:
            at = (links.index(self._chosen_link) + step) % len(links)
        else:
            at = (step - 1 if step > 0 else step) % len(links)
        self.choose_link(links[at])

    def choose_link(self, chosen: tuple[Way, int] | None) -> None:
        """Show that this link is the one that Enter follows."""
        before, self._chosen_link = self._chosen_link, chosen
        for one in (before, chosen):
            if one is not None and one[0] in self._notes():
                self._draw_note(one[0])
        marks = []
        if self.book is not None and chosen is not None and not chosen[0]:
            link = self.book.links[chosen[1]]
            marks = [Mark(link.start, link.end, "current-link")]
        self.mark_layers.set(Layer.LINKS, marks)

    # Following

    def follow_chosen_link(self) -> bool:
        """Follow the link that is chosen; False where none is, or where it has left the screen."""
        view = self.book_pane.visible_range
        if self.book is None or view is None or self._chosen_link is None:
            return False
        if self._chosen_link not in shown_links(self.book, *view, self._notes()):
            self.choose_link(None)
            return False
        self._follow(*self._chosen_link)
        return True

    @on(Clicked, "#book")
    def _link_clicked(self, event: Clicked) -> None:
        if isinstance(event.link, int):
            way = event.block_key[1] if isinstance(event.block_key, tuple) and event.block_key[0] == "note" else ()
            self._follow(way, event.link)

    def _follow(self, way: Way, index: int) -> None:
        assert self.book is not None
        link = self.book.links[index]
        if link.target is not None and link.target_end is not None:
            self._toggle_note((*way, index))
        elif link.target is not None:
            self.choose_link(None)
            self.jump(link.target)
        elif link.address:
            self._show_address(link.address)

    def _show_address(self, address: str) -> None:
        from gistread.tui.screens.listing import ListScreen, Row

        class AddressScreen(ListScreen):
            """What can be done with an address. Enter alone copies it."""

            def on_mount(self) -> None:
                rows = [Row("copy", "Copy the address")]
                if urlsplit(address).scheme.lower() in _OPENED:
                    rows.append(Row("open", "Open it outside of gistread"))
                self.show_rows(rows)

        def act(chosen: str | None) -> None:
            match chosen:
                case "copy":
                    self.app.copy_to_clipboard(address)
                    self.notify(f"Copied: {address}")
                case "open":
                    self.app.open_url(address)

        self.app.push_screen(AddressScreen("This link leads out of the book", address), act)

    # Notes

    def _notes(self) -> list[Way]:
        """The notes that stand open: another setting of the page closes them all."""
        gone = [way for way in self._open_notes if not self.book_pane.blocks_of(note_key(way))]
        for way in gone:
            del self._open_notes[way]
        return list(self._open_notes)

    def _toggle_note(self, way: Way) -> None:
        if way in self._notes():
            self.close_note(way)
        else:
            self._open_note(way)

    def _open_note(self, way: Way) -> None:
        assert self.book is not None
        pane, parent = self.book_pane, way[:-1]
        above = note_key(parent) if parent else self.book.paragraph_index(self.book.links[way[0]].start)
        found = pane.blocks_of(above)
        if not found:
            return
        end = found.stop
        # The notes of earlier links, and what is open inside those, come first.
        while end < pane.block_count and _stands_before(pane.block(end).key, way):
            end += 1
        place = pane.place
        pane.splice(end, 0, note_blocks(self.book, way))
        self._open_notes[way] = place
        self.choose_link((parent, way[-1]))
        self.call_after_refresh(lambda: pane.scroll_to_key(note_key(way)))

    def close_note(self, way: Way) -> None:
        """Close a note and those that were opened inside it; come back to where it was cited, if that is off screen."""
        place = self._open_notes.get(way, self.book_pane.place)
        for inner in [one for one in self._notes() if one[: len(way)] == way]:
            blocks = self.book_pane.blocks_of(note_key(inner))
            self.book_pane.splice(blocks.start, len(blocks), ())
            del self._open_notes[inner]
        self.choose_link((way[:-1], way[-1]))
        self.call_after_refresh(lambda: self._come_back(way, place))

    def _come_back(self, way: Way, place: int) -> None:
        view = self.book_pane.visible_range
        assert self.book is not None
        if view is not None and not view[0] <= self.book.links[way[0]].start < view[1]:
            self.book_pane.scroll_to_offset(place)

    def close_last_note(self) -> bool:
        """Close the note that was opened last; False where none is open."""
        notes = self._notes()
        if notes:
            self.close_note(notes[-1])
        return bool(notes)

    def _draw_note(self, way: Way) -> None:
        """The chosen link inside a note changed."""
        assert self.book is not None
        inside = self._chosen_link is not None and self._chosen_link[0] == way
        blocks = note_blocks(self.book, way, self._chosen_link[1] if inside and self._chosen_link else None)
        for index, block in zip(self.book_pane.blocks_of(note_key(way)), blocks, strict=True):
            if self.book_pane.block(index) != block:
                self.book_pane.update_block(index, block)


def _stands_before(key: Hashable, way: Way) -> bool:
    """Whether a block belongs to a note that is cited earlier in the same paragraph or note."""
    other: Way = key[1] if isinstance(key, tuple) and key[0] == "note" else ()
    parent = way[:-1]
    return len(other) > len(parent) and other[: len(parent)] == parent and other[len(parent)] < way[-1]
