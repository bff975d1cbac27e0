"""What the book has told up to the reading place: people and places, and the story so far."""

import asyncio
import time
from collections.abc import Callable, Iterable
from itertools import groupby

from textual.widgets import Input

from gistread.book.model import Book
from gistread.errors import StorageError
from gistread.memory.model import GistMemory
from gistread.people.index import Index, describe_correction, find_by_form
from gistread.people.joining import Entity
from gistread.people.mentions import supports_names
from gistread.readers.recap import (
    Recap,
    RecapSentence,
    describe_sources,
    last_sentence,
    recap,
)
from gistread.readers.selection import abbreviate
from gistread.store.model import NameCorrection, NameVerb
from gistread.tui.marking.caret import whole_words
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.pane_switcher import Pane
from gistread.tui.reading.question_line import QuestionLine
from gistread.tui.screens.listing import Row, StoryScreen
from gistread.tui.screens.people import CardScreen, Choice, PeopleScreen, name_groups
from gistread.tui.text import Clicked
from gistread.units import counted
from gistread.words import count_words

_Chosen = Callable[[Choice | None], None]
_TOP = 0.3  # Where a mention is shown, from 0 (top) to 1
_DOUBLE_CLICK_S = 0.3  # Within this time a second click selects the word
_AT_ONCE_S = 0.15  # within this time the names are shown without a word
_COLLECTING = "Collecting names …"
_DAY_S = 24 * 3600
_READ_ON = 3_000  # Characters after which the recap is no longer offered
_PARAGRAPH_WORDS = 40  # Of the story; a shorter paragraph takes the next page too


class PeopleController:
    def __init__(self, context: ReadingContext, line: QuestionLine) -> None:
        self._context = context
        self._line = line
        # Of the whole book; begun once
        self._indexing: asyncio.Task[Index] | None = None
        self._view: Index | None = None
        self._joining = asyncio.Lock()

    def load_corrections(self) -> None:
        """Call it in a thread."""
        try:
            self._context.corrections = (
                self._context.services.user_data.name_corrections(
                    self._context.book.sha256
                )
            )
        except StorageError as error:
            self._context.screen.app.call_from_thread(self._context.warn, str(error))

    async def show(self) -> None:
        """Show the card of the selected name, or the list of all."""
        context = self._context
        selected = context.book_pane.selected_range
        if not supports_names(self._context.book):
            context.warn("Names are found in English books only.")
            return
        context.screen.run_worker(
            self._show_at(selected), group="names", exclusive=True
        )

    async def _show_at(self, selected: tuple[int, int] | None) -> None:
        context, view = self._context, await self._collected()
        if not context.screen.is_current or isinstance(context.screen.focused, Input):
            return  # The user did something else meanwhile.
        if selected is None:
            self._list(view)
            return
        words = context.book.text[slice(*whole_words(context.book, selected))]
        entity = view.named_at(context.book.text, selected[0]) or next(
            iter(view.find(words)), None
        )
        if entity:
            self._show(entity, view)
        else:
            context.warn(f"No such name up to here: {abbreviate(words)}")

    def may_be_name(self, event: Clicked) -> bool:
        """Whether a capitalised word was clicked that is not a link."""
        at, key = event.offset_in_block, event.block_key
        leads = (
            event.control.id == Pane.ANSWERS
            and isinstance(key, tuple)
            and key[0] != "answer"
        )
        if (
            at is None
            or leads
            or event.link is not None
            or not supports_names(self._context.book)
        ):
            return False
        start = max(event.text.rfind(space, 0, at) for space in " \n\t") + 1
        word = event.text[start : at + 1].lstrip("“”\"‘’'([—-")
        return event.text[at].isalpha() and word[:1].isupper()

    async def clicked(self, event: Clicked) -> bool:
        """Show the card of the clicked name. Returns whether it is one."""
        if event.control.id == Pane.BOOK:
            await asyncio.sleep(_DOUBLE_CLICK_S)
            if self._context.book_pane.selected_range is not None:
                return True
        view = await self.known()
        entity = view.named_at(event.text, event.offset_in_block or 0)
        if entity is None or not self._context.screen.is_current:
            return False
        self._show(entity, view)
        return True

    async def _collected(self) -> Index:
        """The names up to the bound, with a notice if that takes a moment."""
        work = asyncio.create_task(self.known())
        await asyncio.wait({work}, timeout=_AT_ONCE_S)
        if not work.done():
            self._context.notify(_COLLECTING)
            try:
                await work
            finally:
                self._context.screen.withdraw(_COLLECTING)
        return await work

    async def known(self) -> Index:
        """Collect the names up to the bound, unless they are known."""
        end = self._line.bound
        if end is None:
            end = len(self._context.book.text)
        index = await self._whole_index()
        async with self._joining:
            corrections = self._context.corrections
            view = self._view
            if view is None or (len(view.book.text), view.corrections) != (
                end,
                corrections,
            ):
                view = self._view = await asyncio.to_thread(
                    _joined, index, end, corrections
                )
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
        names = [
            (entity, strip)
            for entity, strip in zip(view.entities, view.strips, strict=True)
            if entity is not but
        ]
        on_screen = range(*(self._context.book_pane.visible_range or (0, 0)))
        groups = name_groups(names, on_screen)
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
            case int():
                self._context.navigation.jump(choice, _TOP)
            case Entity():
                self._show(choice, view)
            case "undo":
                run(self._undo())
            case "hide" if entity is not None:
                run(self._correct("hide", entity))
            case "merge" if entity is not None:

                def chosen(other: Choice | None) -> None:
                    if isinstance(other, Entity):
                        run(self._correct("merge", entity, other.forms[0].text))

                self._choose(
                    view, f"· who is the same as {entity.name}?", chosen, but=entity
                )

    async def _show_named(self, form: str) -> None:
        view = await self.known()
        if (entity := find_by_form(view.entities, form)) is not None:
            self._show(entity, view)

    async def _correct(self, verb: NameVerb, entity: Entity, other: str = "") -> None:
        forms = tuple(form.text for form in entity.forms)
        correction = NameCorrection(verb, forms, other, time.time())
        data, sha256 = self._context.services.user_data, self._context.book.sha256
        if await self._write(lambda: data.correct_names(sha256, correction)):
            key = self._context.key_hint("people")
            self._context.notify(
                f"{describe_correction(correction)} {key}, Ctrl+U undoes it."
            )
            if verb != "hide":
                await self._show_named(forms[0])

    async def _undo(self) -> None:
        data, sha256 = self._context.services.user_data, self._context.book.sha256
        last = next(iter(self._context.corrections[::-1]), None)
        if last is None:
            self._context.warn("No name has been corrected.")
        elif await self._write(lambda: data.undo_name_correction(sha256)):
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


def _joined(index: Index, end: int, corrections: tuple[NameCorrection, ...]) -> Index:
    view = index.upto(end, corrections)
    _ = view.strips
    return view


class RecapController:
    def __init__(self, context: ReadingContext, line: QuestionLine) -> None:
        self._context = context
        self._line = line
        self._away = ""  # For how long, in words; empty after less than a day
        self._came_to = 0

    def set_last_opened(self, at: float) -> None:
        """Set when the book was opened last, in seconds since the epoch; 0 if never."""
        self._away = ""
        if at and self._context.position.furthest:
            days = int((time.time() - at) / _DAY_S)
            if days > 0:
                self._away = counted(days, "day")
        self._came_to = self._context.place

    @property
    def offer(self) -> str:
        """A line that offers the story so far after a day or more, until the user has read on."""
        if not self._away or abs(self._context.place - self._came_to) > _READ_ON:
            return ""
        return f"Away for {self._away}: {self._context.key_hint('recap')} for the story so far"

    async def show(self) -> None:
        self._away = ""
        known = self._line.known()
        story = await asyncio.to_thread(recap, known, self._context.corrections)
        is_bounded = len(known.book.text) < len(self._context.book.text)
        people = f"\nPeople here: {', '.join(story.people)}" if story.people else ""
        rows = story_rows(story, known, self._context.book, ends_here=is_bounded)
        screen = StoryScreen(
            "The story so far", f"{describe_sources(story)}{people}", rows
        )
        self._context.push(screen, self._context.navigation.jump)


def story_rows(
    story: Recap, memory: GistMemory, book: Book, *, ends_here: bool
) -> list[Row[int]]:
    """The story in paragraphs under its chapters; with the words at which the user stopped."""
    rows: list[Row[int]] = []
    sentences = (*story.before, *story.chapter)
    chapters = groupby(
        sentences, key=lambda sentence: book.chapter_title(sentence.start)
    )
    for title, of_chapter in chapters:
        if title:
            rows.append(Row(None, title))
        for paragraph in _paragraphs(of_chapter, memory):
            words = " ".join(sentence.text for sentence in paragraph)
            rows.append(Row(paragraph[0].start, words))
    if story.stopped and ends_here:
        rows.append(Row(None, "You stopped at"))
        rows.append(Row(story.stopped[0], last_sentence(book, story.stopped)))
    return rows


def _paragraphs(
    sentences: Iterable[RecapSentence], memory: GistMemory
) -> list[list[RecapSentence]]:
    """The sentences of each page; a page joins the paragraph before while that is short."""
    paragraphs: list[list[RecapSentence]] = []
    words = _PARAGRAPH_WORDS
    for _, of_page in groupby(
        sentences, key=lambda sentence: memory.page_at(sentence.start)
    ):
        if words >= _PARAGRAPH_WORDS:
            paragraphs.append([])
            words = 0
        for sentence in of_page:
            paragraphs[-1].append(sentence)
            words += count_words(sentence.text)
    return paragraphs
