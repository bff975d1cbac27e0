"""What the book has told up to the reading place: people and places, and the story so far."""

import asyncio
import time
from collections.abc import Callable
from functools import partial

from textual.widgets import Input

from gistread.book.model import Book
from gistread.errors import StorageError
from gistread.memory.model import GistMemory
from gistread.people.index import Index, describe_correction, find_by_form
from gistread.people.joining import Entity
from gistread.people.mentions import supports_names
from gistread.readers.recap import (
    Recap,
    describe_sources,
    last_sentence,
    paragraph_text,
    paragraphs_by_chapter,
    recap,
)
from gistread.readers.selection import abbreviate
from gistread.store.model import NameCorrection, NameVerb
from gistread.tui.jobs import run_job
from gistread.tui.marking.caret import whole_words
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.pane_switcher import Pane
from gistread.tui.reading.question_line import QuestionLine
from gistread.tui.screens.listing import Row, StoryScreen
from gistread.tui.screens.people import CardScreen, Choice, PeopleScreen, name_groups
from gistread.tui.text import Clicked
from gistread.units import counted

_Chosen = Callable[[Choice | None], None]
_TOP = 0.3  # Where a mention is shown, from 0 (top) to 1
_DOUBLE_CLICK_S = 0.3  # Within this time, a second click selects the word
_AT_ONCE_S = 0.15  # Names that take longer to find are announced by a notice
_COLLECTING = "Collecting names …"
_DAY_S = 24 * 3600
_READ_ON = 3_000  # Once the user has read so many characters, no recap is offered
# What may stand before a word without a space
_OPENING_SIGNS = "“”\"‘’'([—-"


class PeopleController:
    """Shows the people and places of the book up to the bound, and corrects their names."""

    def __init__(self, context: ReadingContext, line: QuestionLine) -> None:
        self._context = context
        self._line = line
        # Finds the names of the whole book; begun once
        self._indexing: asyncio.Task[Index] | None = None
        self._view: Index | None = None  # The names up to the bound, as found last
        # Callers at the same time wait for one search, and share what it finds.
        self._finding = asyncio.Lock()

    def load_corrections(self) -> None:
        """Read the saved corrections of names. Call it in a thread."""
        context = self._context
        user_data = context.services.user_data
        try:
            context.corrections = user_data.name_corrections(context.book.sha256)
        except StorageError as error:
            self._context.screen.app.call_from_thread(self._context.warn, str(error))

    async def show(self) -> None:
        """Show the card of the selected name, or the list of all."""
        context = self._context
        if not supports_names(context.book):
            context.warn("Names are found in English books only.")
            return
        selected = context.book_pane.selected_range
        run_job(context.screen, partial(self._show_at, selected), group="names")

    async def _show_at(self, selected: tuple[int, int] | None) -> None:
        """Show the card of the name in this range of the book; without one, the list."""
        context, view = self._context, await self._names_with_notice()
        if not context.screen.is_current or isinstance(context.screen.focused, Input):
            return  # The user did something else meanwhile.
        if selected is None:
            self._list(view)
            return
        start, end = whole_words(context.book, selected)
        words = context.book.text[start:end]
        entity = view.named_at(context.book.text, selected[0])
        if entity is None:
            entity = next(iter(view.find(words)), None)
        if entity is None:
            context.warn(f"No such name up to here: {abbreviate(words)}")
        else:
            self._show(entity, view)

    def may_be_name(self, event: Clicked) -> bool:
        """Whether a capitalised word was clicked that leads nowhere else."""
        at, key = event.offset_in_block, event.block_key
        if at is None or not supports_names(self._context.book):
            return False
        in_answers = event.control.id == Pane.ANSWERS
        kind = key[0] if isinstance(key, tuple) else ""
        # A click on a source or a step leads to it.
        is_row_with_target = in_answers and kind not in ("", "answer")
        if is_row_with_target or event.link is not None:
            return False
        word_start = max(event.text.rfind(space, 0, at) for space in " \n\t") + 1
        word_so_far = event.text[word_start : at + 1].lstrip(_OPENING_SIGNS)
        return event.text[at].isalpha() and word_so_far[:1].isupper()

    async def clicked(self, event: Clicked) -> bool:
        """Show the card of the clicked name.

        Returns whether the click is done with: it was on a name, or began a double click.
        """
        if event.control.id == Pane.BOOK:
            await asyncio.sleep(_DOUBLE_CLICK_S)
            # A second click has selected the word by now.
            was_double_click = self._context.book_pane.selected_range is not None
            if was_double_click:
                return True
        view = await self.names_so_far()
        entity = view.named_at(event.text, event.offset_in_block or 0)
        if entity is None or not self._context.screen.is_current:
            return False
        self._show(entity, view)
        return True

    async def _names_with_notice(self) -> Index:
        """The names up to the bound; shows a notice if finding them takes a moment."""
        search = asyncio.create_task(self.names_so_far())
        await asyncio.wait({search}, timeout=_AT_ONCE_S)
        if search.done():
            return search.result()
        self._context.notify(_COLLECTING)
        try:
            return await search
        finally:
            self._context.screen.withdraw(_COLLECTING)

    async def names_so_far(self) -> Index:
        """The names up to the bound. They are found anew if the bound or corrections changed."""
        end = self._line.bound
        if end is None:
            end = len(self._context.book.text)
        index = await self._whole_index()
        async with self._finding:
            corrections = self._context.corrections
            view = self._view
            if view is not None:
                has_same_end = len(view.book.text) == end
                if has_same_end and view.corrections == corrections:
                    return view
            view = await asyncio.to_thread(_names_upto, index, end, corrections)
            self._view = view
            return view

    async def _whole_index(self) -> Index:
        """The names in the whole book. A caller that is cancelled does not end the search."""
        if self._indexing is None:
            search = asyncio.to_thread(Index.from_book, self._context.book)
            self._indexing = asyncio.create_task(search)
        try:
            return await asyncio.shield(self._indexing)
        except Exception:
            self._indexing = None  # The next caller tries again.
            raise

    def _list(self, view: Index) -> None:
        """Show the list of all names; a card that is closed leads back to it."""

        def chosen(choice: Choice | None) -> None:
            if isinstance(choice, Entity):
                self._show(choice, view, lambda: self._list(view))
            else:
                self._do(choice, None, view)

        is_bounded = len(view.book.text) < len(self._context.book.text)
        self._choose(view, "up to here" if is_bounded else "", chosen)

    def _choose(
        self, view: Index, note: str, chosen: _Chosen, but: Entity | None = None
    ) -> None:
        """Let the user choose a name. `but`: one that is not in the list."""
        names = [
            (entity, strip)
            for entity, strip in zip(view.entities, view.strips, strict=True)
            if entity is not but
        ]
        top, bottom = self._context.book_pane.visible_range or (0, 0)
        groups = name_groups(names, range(top, bottom))
        screen = PeopleScreen(groups, len(self._context.book.text), note)
        self._context.screen.app.push_screen(screen, chosen)

    def _show(
        self, entity: Entity, view: Index, closed: Callable[[], None] = lambda: None
    ) -> None:
        """Show the card; `closed` is called if nothing is chosen on it."""

        def chosen(choice: Choice | None) -> None:
            if choice is None:
                closed()
            else:
                self._do(choice, entity, view)

        screen = CardScreen(view.card(entity), view, len(self._context.book.text))
        self._context.screen.app.push_screen(screen, chosen)

    def _do(self, choice: Choice | None, entity: Entity | None, view: Index) -> None:
        """Do what was chosen in the list of names or on the card of `entity`."""
        run = self._context.screen.run_worker
        match choice:
            case int():  # The offset of a mention
                self._context.navigation.jump(choice, _TOP)
            case Entity():
                self._show(choice, view)
            case "undo":
                run(self._undo())
            case "hide" if entity is not None:
                run(self._correct("hide", entity))
            case "merge" if entity is not None:
                self._choose_same(entity, view)

    def _choose_same(self, entity: Entity, view: Index) -> None:
        """Let the user choose another name of the same person."""

        def chosen(other: Choice | None) -> None:
            if isinstance(other, Entity):
                form = other.forms[0].text
                work = self._correct("merge", entity, form)
                self._context.screen.run_worker(work)

        note = f"· who is the same as {entity.name}?"
        self._choose(view, note, chosen, but=entity)

    async def _show_named(self, form: str) -> None:
        """Show the card of the person or place that has this form of a name."""
        view = await self.names_so_far()
        entity = find_by_form(view.entities, form)
        if entity is not None:
            self._show(entity, view)

    async def _correct(self, verb: NameVerb, entity: Entity, other: str = "") -> None:
        """Save a correction, and show the card as it is now. `other`: a form to merge with."""
        forms = tuple(form.text for form in entity.forms)
        correction = NameCorrection(verb, forms, other, time.time())
        data, sha256 = self._context.services.user_data, self._context.book.sha256
        if not await self._write(lambda: data.correct_names(sha256, correction)):
            return
        key = self._context.key_hint("people")
        change = describe_correction(correction)
        self._context.notify(f"{change} {key}, Ctrl+U undoes it.")
        if verb != "hide":
            await self._show_named(forms[0])

    async def _undo(self) -> None:
        """Take back the last correction."""
        data, sha256 = self._context.services.user_data, self._context.book.sha256
        corrections = self._context.corrections
        if not corrections:
            self._context.warn("No name has been corrected.")
            return
        last = corrections[-1]
        if await self._write(lambda: data.undo_name_correction(sha256)):
            self._context.notify(f"Undone: {describe_correction(last)}")
            await self._show_named(last.forms[0])

    async def _write(self, write: Callable[[], object]) -> bool:
        """Change the saved corrections. Returns whether they could be saved."""
        try:
            await asyncio.to_thread(write)
        except StorageError as error:
            self._context.warn(str(error))
            return False
        await asyncio.to_thread(self.load_corrections)
        return True


def _names_upto(
    index: Index, end: int, corrections: tuple[NameCorrection, ...]
) -> Index:
    """The names up to `end`, with what the list shows of them. Call it in a thread."""
    view = index.upto(end, corrections)
    _ = view.strips  # Made here, in the thread
    return view


class RecapController:
    """Offers and shows the story so far."""

    def __init__(self, context: ReadingContext, line: QuestionLine) -> None:
        self._context = context
        self._line = line
        # How long the user has been away, in words; empty after less than a day
        self._away = ""
        self._came_to = 0  # The place at which the book was opened

    def set_last_opened(self, at: float) -> None:
        """Set when the book was opened last, in seconds since the epoch; 0 if never."""
        self._away = ""
        has_begun = self._context.position.furthest > 0
        days = int((time.time() - at) / _DAY_S)
        if at and has_begun and days > 0:
            self._away = counted(days, "day")
        self._came_to = self._context.place

    @property
    def offer(self) -> str:
        """A line that offers the story so far after a day or more, until the user has read on."""
        has_read_on = abs(self._context.place - self._came_to) > _READ_ON
        if not self._away or has_read_on:
            return ""
        key = self._context.key_hint("recap")
        return f"Away for {self._away}: {key} for the story so far"

    async def show(self) -> None:
        """Show the story so far."""
        self._away = ""
        memory = self._line.known_memory()
        story = await asyncio.to_thread(recap, memory, self._context.corrections)
        is_bounded = len(memory.book.text) < len(self._context.book.text)
        note = describe_sources(story)
        if story.people:
            note += f"\nPeople here: {', '.join(story.people)}"
        rows = story_rows(story, memory, self._context.book, ends_here=is_bounded)
        screen = StoryScreen("The story so far", note, rows)
        self._context.push(screen, self._context.navigation.jump)


def story_rows(
    story: Recap, memory: GistMemory, book: Book, *, ends_here: bool
) -> list[Row[int]]:
    """The story in paragraphs under the titles of its chapters.

    `ends_here`: whether to add the words at which the user stopped.
    """
    rows: list[Row[int]] = []
    for title, paragraphs in paragraphs_by_chapter(story, memory, book):
        if title:
            rows.append(Row(None, title))
        for paragraph in paragraphs:
            words = paragraph_text(paragraph, story)
            rows.append(Row(paragraph[0].start, words))
    if story.stopped and ends_here:
        rows.append(Row(None, "You stopped at"))
        rows.append(Row(story.stopped[0], last_sentence(book, story.stopped)))
    return rows
