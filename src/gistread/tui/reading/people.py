"""Who is who: lists the people and places named so far, and shows what the book says of one."""

import asyncio
from bisect import bisect_left
from collections.abc import Callable

from gistread.memory.sizes import unread_memory
from gistread.people.index import Index
from gistread.people.joining import Entity
from gistread.people.mentions import is_covered
from gistread.readers.introductions import introduced
from gistread.readers.passage import in_short
from gistread.tui.marking.caret import whole_words
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.navigation import Navigation
from gistread.units import bars, counted

_MOST_BARS = 56
_TOP = 0.3  # Where on the screen a mention is shown


class PeopleController:
    def __init__(self, context: ReadingContext, navigation: Navigation, bound: Callable[[], int | None]) -> None:
        """`bound`: the end of the text that may be shown; None for the whole book."""
        self._context = context
        self._navigation = navigation
        self._bound = bound
        self._index: Index | None = None

    async def show(self) -> None:
        """Show the selected name, or the list of all."""
        context = self._context
        selected = context.book_pane.selected_range
        if not is_covered(context.book):
            context.warn("Names are found in English books only.")
            return
        view = await self._view()
        if selected is None:
            self._list(view)
            return
        words = context.book.text[slice(*whole_words(context.book, selected))]
        if found := view.find(words):
            self._show(found[0], view)
        else:
            context.warn(f"{in_short(words)} is no name up to here.")

    async def _view(self) -> Index:
        if self._index is None:
            self._index = await asyncio.to_thread(Index.of, self._context.book)
        bound = self._bound()
        return self._index if bound is None else self._index.upto(bound)

    def _list(self, view: Index) -> None:
        from gistread.tui.screens.people import PeopleScreen

        entities = sorted(view.entities, key=lambda one: _distance(one, self._context.place))
        note = "" if view.end == len(view.book.text) else "up to here"
        screen = PeopleScreen(entities, len(view.book.text), note)
        self._context.push(screen, lambda number: self._show(entities[number], view))

    def _show(self, entity: Entity, view: Index) -> None:
        from gistread.tui.screens.listing import ListScreen, Row, place_in

        book, card = view.book, view.card(entity)
        memory = unread_memory(book).upto(view.end)

        rows = [
            Row(f"at {start}", " ".join(book.text[start:end].split()), place_in(book, start))
            for start, end in introduced(entity, memory)
        ]
        rows.append(Row(f"at {card.last}", "The last mention", place_in(book, card.last)))
        for number, (other, count) in enumerate(card.together):
            rows.append(Row(f"who {number}", f"With {other.name}", f"{counted(count, 'time')} near each other"))
        chapters = sum(1 for count in card.chapters if count)
        note = f"{counted(entity.count, 'mention')} in {chapters} of {counted(len(card.chapters), 'chapter')}"
        also = f"also {', '.join(entity.others)}\n" if entity.others else ""

        def chosen(row: str) -> None:
            verb, _, value = row.partition(" ")
            if verb == "who":
                self._show(card.together[int(value)][0], view)
            else:
                self._navigation.jump(int(value), _TOP)

        self._context.push(ListScreen(entity.name, f"{also}{note}\n{bars(card.chapters, _MOST_BARS)}", rows), chosen)


def _distance(entity: Entity, place: int) -> int:
    starts = entity.starts()
    at = bisect_left(starts, place)
    return min(abs(start - place) for start in starts[max(0, at - 1) : at + 1])
