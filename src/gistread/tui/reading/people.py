"""The people and places named so far: the list, the card of one, and corrections of names."""

import asyncio
import time
from bisect import bisect_left
from collections.abc import Callable
from functools import cached_property, partial

from gistread.errors import StorageError
from gistread.people.corrections import describe_correction, find_by_form
from gistread.people.index import Index
from gistread.people.joining import Entity
from gistread.people.mentions import is_covered
from gistread.people.timeline import build_timeline
from gistread.readers.passage import abbreviate
from gistread.tui.layout import Pane
from gistread.tui.marking.caret import whole_words
from gistread.tui.reading.context import Layer, ReadingContext
from gistread.tui.reading.navigation import Navigation
from gistread.tui.text import Clicked, Mark
from gistread.units import counted
from gistread.user_data import NameCorrection, NameVerb

_AROUND = 1_000  # Characters around the view whose names are marked too
_STALE = 5_000  # Characters read after which names are collected again
_TOP = 0.3  # Where a mention is shown, from 0 (top) to 1
_DOUBLE_CLICK_S = 0.3  # Within this time a second click selects the word


class PeopleController:
    def __init__(self, context: ReadingContext, navigation: Navigation, bound: Callable[[], int | None]) -> None:
        """`bound`: the end of the text that may be shown; None for the whole book."""
        self._context = context
        self._navigation = navigation
        self._bound = bound
        self._index: Index | None = None
        self._view: Index | None = None
        self._making = asyncio.Lock()

    @cached_property
    def _is_covered(self) -> bool:
        return is_covered(self._context.book)

    def load_corrections(self) -> None:
        """Call it in a thread."""
        try:
            self._context.corrections = self._context.services.user_data.name_corrections(self._context.book.sha256)
        except StorageError as error:
            self._context.screen.app.call_from_thread(self._context.warn, str(error))

    async def show(self) -> None:
        """Show the card of the selected name, or the list of all."""
        context = self._context
        selected = context.book_pane.selected_range
        if not self._is_covered:
            context.warn("Names are found in English books only.")
            return
        view = await self._known()
        if selected is None:
            self._list(view)
            return
        words = context.book.text[slice(*whole_words(context.book, selected))]
        entity = view.named_at(context.book.text, selected[0]) or next(iter(view.find(words)), None)
        if entity:
            self._show(entity, view)
        else:
            context.warn(f"No such name up to here: {abbreviate(words)}")

    def toggle_marks(self) -> None:
        """Switch the marking of names in the text."""
        settings, config = self._context.services.settings, self._context.services.config
        settings.set("mark_names", not config.mark_names)
        self.mark_names()
        said = "Names are marked." if self._context.services.config.mark_names else "Names are not marked."
        self._context.notify(said if self._is_covered else "Names are found in English books only.")

    def mark_names(self) -> None:
        """Mark the known names in view, if set. Names of the last screens may not be known yet."""
        if not self._context.services.config.mark_names or not self._is_covered:
            self._context.layers.set(Layer.NAMES)
            return
        bound, view = self._bound(), self._view
        end = len(self._context.book.text) if bound is None else bound
        if view is None or view.corrections != self._context.corrections or abs(end - len(view.book.text)) > _STALE:
            self._context.screen.run_worker(self._mark_when_known())
        else:
            self._mark(view)

    async def _mark_when_known(self) -> None:
        self._mark(await self._known())

    def _mark(self, known: Index) -> None:
        in_view = self._context.book_pane.visible_range
        if self._index is not None and in_view is not None:
            places = self._index.places_between(in_view[0] - _AROUND, in_view[1] + _AROUND, known)
            self._context.layers.set(Layer.NAMES, [Mark(*place, "name") for place in places])

    def may_be_name(self, event: Clicked) -> bool:
        """Whether a capitalised word was clicked that is not a link."""
        at, key = event.offset_in_block, event.block_key
        leads = event.control.id == Pane.ANSWERS and isinstance(key, tuple) and key[0] != "answer"
        if at is None or leads or event.link is not None or not self._is_covered:
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
        view = await self._known()
        entity = view.named_at(event.text, event.offset_in_block or 0)
        if entity is None or not self._context.screen.is_current:
            return False
        self._show(entity, view)
        return True

    async def _known(self) -> Index:
        """Collect the names up to the bound, unless they are known."""
        bound = self._bound()
        end = len(self._context.book.text) if bound is None else bound
        async with self._making:
            if self._index is None:
                self._index = await asyncio.to_thread(Index.of, self._context.book)
            view = self._view
            if view is None or (len(view.book.text), view.corrections) != (end, self._context.corrections):
                view = self._view = await asyncio.to_thread(_joined, self._index, end, self._context.corrections)
        return view

    def _list(self, view: Index) -> None:
        def chosen(result: str) -> None:
            if result in ("undo", "timeline"):
                self._context.screen.run_worker(self._undo() if result == "undo" else self._timeline(view))
            else:
                self._show_named(result, view)

        self._choose(view, chosen, "" if len(view.book.text) == len(self._context.book.text) else "up to here")

    def _choose(self, view: Index, chosen: Callable[[str], None], note: str, but: Entity | None = None) -> None:
        from gistread.tui.screens.people import PeopleScreen

        found = (one for one in view.entities if one is not but)
        entities = sorted(found, key=lambda one: _distance(one, self._context.place))
        self._context.push(PeopleScreen(entities, len(self._context.book.text), note), chosen)

    def _show(self, entity: Entity, view: Index) -> None:
        from gistread.tui.reading.card_facts import gather_facts
        from gistread.tui.screens.card import CardScreen

        def chosen(result: str) -> None:
            match result.split():
                case ["at", offset, *_]:
                    self._navigation.jump(int(offset), _TOP)
                case ["who", *form]:
                    self._show_named(" ".join(form), view)
                case ["undo"]:
                    self._context.screen.run_worker(self._undo())
                case ["hide"]:
                    self._save("hide", entity)
                case [verb]:
                    {"rename": self._rename, "merge": self._merge, "split": self._split}[verb](entity, view)

        memory, session = self._context.memory_pane.memory, self._context.session
        card, length = view.card(entity), len(self._context.book.text)
        gather = partial(gather_facts, entity, view, memory)
        self._context.push(CardScreen(card, view, length, lambda more: gather(session if more else None)), chosen)

    async def _timeline(self, view: Index) -> None:
        from gistread.tui.screens.timeline import TimelineScreen

        def chosen(result: str) -> None:
            if result == "people":
                self._list(view)
            else:
                self._navigation.jump(int(result.split()[1]))

        line = await asyncio.to_thread(build_timeline, view)
        self._context.push(TimelineScreen(line, self._context.place), chosen)

    def _show_named(self, form: str, view: Index) -> None:
        if (entity := find_by_form(view.entities, form)) is not None:
            self._show(entity, view)

    def _rename(self, entity: Entity, view: Index) -> None:
        from gistread.tui.screens.listing import ListScreen

        screen = ListScreen(entity.name, "Another name for this card.", prompt="a name")
        self._context.push(screen, lambda name: self._save("rename", entity, name))

    def _merge(self, entity: Entity, view: Index) -> None:
        note = f"· who is the same as {entity.name}?"
        self._choose(view, lambda form: self._save("merge", entity, form), note, but=entity)

    def _split(self, entity: Entity, view: Index) -> None:
        from gistread.tui.screens.listing import ListScreen, Row

        if len(entity.forms) == 1:
            self._context.warn(f"{entity.name} has one name only.")
            return
        rows = [Row(form.text, form.text, counted(len(form.starts), "mention")) for form in entity.forms]
        screen = ListScreen(entity.name, "Which of these names is somebody else's?", rows)
        self._context.push(screen, lambda form: self._save("split", entity, form=form))

    def _save(self, verb: NameVerb, entity: Entity, other: str = "", form: str = "") -> None:
        forms = (form,) if form else tuple(each.text for each in entity.forms)
        one = NameCorrection(verb, forms, other, time.time())
        self._context.screen.run_worker(self._corrected(one))

    async def _corrected(self, one: NameCorrection) -> None:
        data, sha256 = self._context.services.user_data, self._context.book.sha256
        if await self._write(lambda: data.correct_name(sha256, one)):
            self._context.notify(f"{describe_correction(one)} {self._context.key_hint('people')} u undoes it.")
            if one.verb != "hide":
                self._show_named(one.forms[0], await self._known())

    async def _undo(self) -> None:
        data, sha256 = self._context.services.user_data, self._context.book.sha256
        last = next(iter(self._context.corrections[::-1]), None)
        if last is None:
            self._context.warn("No name has been corrected.")
        elif await self._write(lambda: data.undo_name_correction(sha256)):
            self._context.notify(f"Undone: {describe_correction(last)}")
            self._show_named(last.forms[0], await self._known())

    async def _write(self, write: Callable[[], object]) -> bool:
        """Change the saved corrections. Returns whether they could be saved."""
        try:
            await asyncio.to_thread(write)
        except StorageError as error:
            self._context.warn(str(error))
            return False
        await asyncio.to_thread(self.load_corrections)
        self.mark_names()
        return True


def _joined(index: Index, end: int, corrections: tuple[NameCorrection, ...]) -> Index:
    view = index.upto(end, corrections)
    _ = view.entities
    return view


def _distance(entity: Entity, place: int) -> int:
    starts = entity.starts()
    at = bisect_left(starts, place)
    return min(abs(start - place) for start in starts[max(0, at - 1) : at + 1])
