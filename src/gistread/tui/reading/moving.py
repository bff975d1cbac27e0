"""Going places in the book: jumps and the way back, counts, chapters and paragraphs, and the line of "go to".

A part of the reading screen. What a typed place means is known by `destination.py`, how a screen scrolls by the pane.
"""

from typing import TYPE_CHECKING

from textual import events, on
from textual.screen import Screen
from textual.timer import Timer

from gistread.book.model import Book
from gistread.tui.layout import Pane
from gistread.tui.progress import Progress
from gistread.tui.reading.destination import HINT, Destination, chapter_step, meant, paragraph_step
from gistread.tui.reading.jumps import JumpList
from gistread.tui.widgets.answers_pane import AnswersPane
from gistread.tui.widgets.memory_pane import MemoryPane
from gistread.tui.widgets.panes import BookPane
from gistread.tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from gistread.tui.contents_tree import ContentsTree

GO_TO = "go to"
CITATION_PAUSE_S = 0.6
"""A digit with an answer in view is the number of a source, unless another key follows within this time."""


class Moving(Screen[None]):
    """What a screen with a book pane can do to it. The screen composes the panes and a `Prompt`."""

    book: Book | None
    book_pane: BookPane
    memory_pane: MemoryPane
    answers_pane: AnswersPane
    progress: Progress
    pane: Pane

    def __init__(self) -> None:
        super().__init__()
        self.jumps = JumpList()
        self._destinations: tuple[Destination, ...] = ()
        self._citation_timer: Timer | None = None
        self._contents: ContentsTree | None = None
        """Kept while the book is open, so that what was folded stays folded."""

    @property
    def prompt(self) -> Prompt:
        return self.query_one(Prompt)

    # For the rest of the screen

    def jump(self, offset: int, top: float = 0.0, *, series: str = "") -> None:
        """Show this place of the book, and remember the one that was left.

        Args:
            top: how far below the upper edge it is to stand, from 0 to 1.
            series: jumps of one series that follow each other are one for the way back.
        """
        self.jumps.leave(self.book_pane.place, offset, series)
        self._show(offset, top)
        if series:
            self.call_after_refresh(lambda: self.jumps.arrived(self.book_pane.place))

    def _show(self, offset: int, top: float = 0.0) -> None:
        if self.book is not None and self.book.paragraphs and offset <= self.book.paragraphs[0].start:
            self.book_pane.scroll_to_beginning()
        else:
            self.book_pane.scroll_to_offset(offset, top=top)

    def show_keys(self) -> None:
        """The key line, anew."""
        raise NotImplementedError

    def to_pane(self, pane: Pane) -> None:
        """Give this pane the keys and, where only one fits, the screen."""
        raise NotImplementedError

    def action_citation(self, number: int) -> None:
        """Follow this source of the last answer."""
        raise NotImplementedError

    def warn(self, text: str) -> None:
        """Tell the person what does not work, in words."""
        self.notify(text, severity="warning", timeout=6)

    # Counts

    def on_key(self, event: events.Key) -> None:
        """A digit while the book has the keys begins a count; Escape drops it; the next command takes it."""
        count = self.book_pane.count
        if self._citation_timer is not None:
            self._citation_timer.stop()
            self._citation_timer = None
        if self.focused is not self.book_pane:
            count.drop()
        elif event.key == "escape" and count.pending:
            count.drop()
            event.stop()
        elif count.add(event.character):
            event.stop()
            number = int(count.typed)
            if number <= 9 and self._sources_in_view():
                self._citation_timer = self.set_timer(CITATION_PAUSE_S, lambda: self._follow_source(number))
        self.show_keys()

    def _sources_in_view(self) -> bool:
        """Whether the last answer has sources and stands on the screen."""
        exchanges = self.answers_pane.exchanges
        shown = self.answers_pane.size.height if self.answers_pane.display else self.has_class("-strip")
        return bool(exchanges and exchanges[-1].citations and shown)

    def _follow_source(self, number: int) -> None:
        self._citation_timer = None
        self.book_pane.count.drop()
        self.show_keys()
        self.action_citation(number)

    def _count(self) -> int:
        return self.book_pane.count.take() or 1

    # Back, forward, chapters, paragraphs

    def action_back(self) -> None:
        place = self.jumps.back(self.book_pane.place, self._count())
        if place is None:
            self.warn("There is no earlier place to go back to.")
        else:
            self._show(place)

    def action_forward(self) -> None:
        place = self.jumps.forward(self.book_pane.place, self._count())
        if place is None:
            self.warn("There is no later place: you have not gone back.")
        else:
            self._show(place)

    def action_next_chapter(self) -> None:
        self._chapter(self._count())

    def action_previous_chapter(self) -> None:
        self._chapter(-self._count())

    def _chapter(self, step: int) -> None:
        if self.book is not None:
            self.jump(chapter_step(self.book, self.book_pane.place, step), series="chapters")

    def action_next_paragraph(self) -> None:
        self._paragraph(self._count())

    def action_previous_paragraph(self) -> None:
        self._paragraph(-self._count())

    def _paragraph(self, step: int) -> None:
        if self.book is not None:
            self._show(paragraph_step(self.book, self.book_pane.place, step))

    @on(BookPane.Wanted)
    def _wanted_far(self, event: BookPane.Wanted) -> None:
        if self.book is not None:
            self._to_share(event.share)

    def _to_share(self, share: float) -> None:
        assert self.book is not None
        self.jump(round(len(self.book.text) * share))

    def action_contents(self) -> None:
        """The tree of chapters, as it was left."""
        book = self.book
        if book is None:
            return
        from gistread.tui.contents_tree import ContentsTree
        from gistread.tui.screens.contents import ContentsScreen

        place = self.book_pane.place
        if self._contents is None:
            self._contents = ContentsTree(book)
            self._contents.fold_all_but(book.chapter_index(place))

        def go(chapter: int | None) -> None:
            if chapter is not None:
                self.jump(book.chapters[chapter].start)
                self.to_pane(Pane.BOOK)

        shown = self.answers_pane.shown_places
        self.app.push_screen(ContentsScreen(self._contents, place, self.progress.words_per_minute, shown), go)

    # Go to

    def action_percent(self) -> None:
        """`40%`; without a number, the line that asks for one."""
        number = self.book_pane.count.take()
        if self.book is None:
            return
        if number is None:
            self.action_go_to()
        elif number > 100:
            self.warn("A book has 100%.")
        else:
            self._to_share(number / 100)

    def action_go_to(self) -> None:
        """Ask for a place."""
        if self.book is not None:
            words = self.book_pane.count.take()
            self.prompt.begin(GO_TO, "go to", HINT, "" if words is None else str(words))
            self._offer("" if words is None else str(words))

    def _page_starts(self) -> list[int]:
        memory = self.memory_pane.memory
        return [entry.page.start for entry in memory.entries] if memory else []

    def _offer(self, words: str) -> None:
        assert self.book is not None
        found = meant(words, self.book, self.book_pane.place, self._page_starts())
        self._destinations = found.destinations
        self.prompt.choose_from([one.words for one in found.destinations])
        self.prompt.say(found.problem, problem=bool(found.problem))

    @on(Prompt.Typed)
    def _typed_place(self, event: Prompt.Typed) -> None:
        if event.kind == GO_TO:
            self._offer(event.words)

    @on(Prompt.Accepted)
    def _accepted_place(self, event: Prompt.Accepted) -> None:
        if event.kind != GO_TO:
            return
        if event.choice is not None and event.choice < len(self._destinations):
            self.close_prompt()
            self.jump(self._destinations[event.choice].offset)
        elif not event.words.strip():
            self.close_prompt()

    @on(Prompt.Left)
    def _left_place(self, event: Prompt.Left) -> None:
        if event.kind == GO_TO:
            self.close_prompt()

    @on(events.DescendantFocus)
    def _focus_moved(self, event: events.DescendantFocus) -> None:
        """A click beside the line is as good as leaving it."""
        if self.prompt.is_open and not self.prompt.has_focus_within:
            self.prompt.end()

    def close_prompt(self) -> None:
        """Hide the line and give the keys to the book."""
        self.prompt.end()
        self.to_pane(Pane.BOOK)
