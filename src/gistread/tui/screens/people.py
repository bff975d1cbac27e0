"""The people and places of the book, and the card of one with corrections of its name."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gistread.people.index import Card, Index
from gistread.people.joining import Entity
from gistread.people.kinds import Kind
from gistread.readers.introductions import introducing_sentences
from gistread.tui.commands import own_keys
from gistread.tui.screens.listing import ListScreen, Row, place_in
from gistread.tui.text import Span
from gistread.units import bars, counted, short

_MOST_BARS = 56
# In a row of the list; columns of a screen that has them
_ROW_BARS, _BARS_FROM = 16, 100
_OTHERS_FROM = 72  # columns of a screen whose rows name others
_TITLES = {Kind.PERSON: "People", Kind.PLACE: "Places", Kind.OTHER: "Other names"}
_MOST_OTHERS = 24  # characters of other names in a row; the card has all
_OTHERS_BESIDE_BARS = 19  # Of them beside a strip of mentions


# A name, an offset of the book, or what a key does
Choice = Entity | int | Literal["merge", "hide", "undo"]


@dataclass(frozen=True, slots=True)
class NameGroup:
    """Names that stand together in the list."""

    title: str
    names: Sequence[tuple[Entity, Sequence[int]]]  # Each with the strip of its mentions


def name_groups(
    names: Sequence[tuple[Entity, Sequence[int]]], on_screen: range
) -> tuple[NameGroup, ...]:
    """The names on the screen, then people, places and others; empty groups are left out.

    `names`: each with the strip of its mentions, those with most mentions first, as in the groups.
    `on_screen`: the offsets of the book in view.
    """
    here = [name for name in names if name[0].is_in(on_screen)]
    later = [name for name in names if not name[0].is_in(on_screen)]
    groups = [NameGroup("On this screen", here)]
    for kind, title in _TITLES.items():
        groups.append(
            NameGroup(title, [name for name in later if name[0].kind is kind])
        )
    return tuple(group for group in groups if group.names)


class PeopleScreen(ListScreen[Choice]):
    """The names of the book in groups."""

    KEYS = (("ctrl+u", "dismiss('undo')", "undo"),)
    BINDINGS = own_keys(*KEYS, priority=True)
    ENTER = "card"
    TALL = True

    def __init__(self, groups: Sequence[NameGroup], length: int, note: str) -> None:
        """`length`: of the whole book in characters; `note`: what part of it is covered."""
        super().__init__("People and places", placeholder="type to find a name")
        self._groups = groups
        self._length = length
        self._covered = note

    def on_mount(self) -> None:
        width = self.app.size.width
        rows: list[Row[Choice]] = []
        for group in self._groups:
            if len(self._groups) > 1:
                rows.append(Row(None, group.title))
            rows += [
                _row(entity, strip, self._length, width)
                for entity, strip in group.names
            ]
        self.rows = rows

    def show_rows(self, at: Choice | None) -> None:
        number = sum(row.key is not None for row in self.rows_for(self.typed))
        if number:
            names = counted(number, "name")
        elif self.typed:
            names = "no such name"
        else:
            names = "no name mentioned twice"
        self.note = " ".join(filter(None, (names, self._covered)))
        super().show_rows(at)


def _row(entity: Entity, strip: Sequence[int], length: int, width: int) -> Row[Choice]:
    has_bars = width >= _BARS_FROM
    others = ""
    if entity.others and width >= _OTHERS_FROM:
        room = _OTHERS_BESIDE_BARS if has_bars else _MOST_OTHERS
        others = f"  {short(', '.join(entity.others), room)}"
    spans = (Span(len(entity.name), len(entity.name) + len(others), "muted"),)
    timeline = bars(strip, _ROW_BARS).ljust(_ROW_BARS) if has_bars else ""
    mentions = f"{counted(entity.count, 'mention'):>12}"
    first = f"first at {entity.first / max(1, length):4.0%}"
    tail = f"{timeline}  {mentions} · {first}".strip()
    also = " ".join(entity.others)
    return Row(entity, f"{entity.name}{others}", tail=tail, spans=spans, also=also)


class CardScreen(ListScreen[Choice]):
    """What the book says about a name, up to a place."""

    KEYS = (
        ("m", "dismiss('merge')", "same as …"),
        ("x,delete", "dismiss('hide')", "hide"),
        ("U", "dismiss('undo')", "undo"),
    )
    BINDINGS = own_keys(*KEYS)
    ENTER = "go there"
    LETTERS = True
    TALL = True

    def __init__(self, card: Card, view: Index, length: int) -> None:
        """`length` of the whole book in characters."""
        entity = card.entity
        also = f"also {', '.join(entity.others)}\n" if entity.others else ""
        chapters = sum(1 for count in card.chapters if count)
        if len(card.chapters) > 1:
            in_chapters = f" in {chapters} of {counted(len(card.chapters), 'chapter')}"
        else:
            in_chapters = ""
        mentions = f"{counted(entity.count, 'mention')}{in_chapters}"
        super().__init__(
            entity.name, f"{also}{mentions}\n{bars(card.strip, _MOST_BARS)}"
        )
        self._card = card
        self._view = view
        self._length = length

    def on_mount(self) -> None:
        self.run_worker(self._fill())

    async def _fill(self) -> None:
        self.rows = await asyncio.to_thread(
            card_rows, self._card, self._view, self._length
        )
        if self in self.app.screen_stack:  # not closed meanwhile
            self.show_rows(None)


def card_rows(card: Card, view: Index, length: int) -> list[Row[Choice]]:
    """Introductions, last mention, neighbours.

    `length` of the whole book in characters. Slow for a long book.
    """
    book = view.book
    rows: list[Row[Choice]] = []
    for start, end in introducing_sentences(card.entity, book):
        sentence = " ".join(book.text[start:end].split())
        rows.append(Row(start, sentence, place_in(book, start, length)))
    rows.append(Row(card.last, f"Last seen at {place_in(book, card.last, length)}"))
    for other, times in card.together:
        rows.append(Row(other, f"With {other.name}, {counted(times, 'time')}"))
    return rows
