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

_CARD_BARS = 56  # Bars of mentions on a card
_ROW_BARS = 16  # Bars of mentions in a row of the list
_BARS_FROM = 100  # From this width of the screen, rows have bars
_OTHERS_FROM = 72  # From this width of the screen, rows name other forms of the name
_MOST_OTHERS = 24  # Characters of the other forms in a row; the card has all
_OTHERS_BESIDE_BARS = 19  # The same in a row with bars
_TITLES = {Kind.PERSON: "People", Kind.PLACE: "Places", Kind.OTHER: "Other names"}

# A name with its strip: the number of mentions in each part of the book
_Name = tuple[Entity, Sequence[int]]
# A name, an offset of the book, or what a key does
Choice = Entity | int | Literal["merge", "hide", "undo"]


@dataclass(frozen=True, slots=True)
class NameGroup:
    """Names that stand together in the list."""

    title: str
    names: Sequence[_Name]


def name_groups(names: Sequence[_Name], on_screen: range) -> tuple[NameGroup, ...]:
    """The names on the screen, then people, places and others; empty groups are left out.

    `names`: with their strips, those with most mentions first. The groups keep this order.
    `on_screen`: the offsets of the book in view.
    """
    here: list[_Name] = []
    by_kind: dict[Kind, list[_Name]] = {kind: [] for kind in _TITLES}
    for entity, strip in names:
        group = here if entity.is_in(on_screen) else by_kind[entity.kind]
        group.append((entity, strip))
    groups = [NameGroup("On this screen", here)]
    groups += [NameGroup(title, by_kind[kind]) for kind, title in _TITLES.items()]
    return tuple(group for group in groups if group.names)


class PeopleScreen(ListScreen[Choice]):
    """The names of the book in groups."""

    KEYS = (("ctrl+u", "dismiss('undo')", "undo"),)
    BINDINGS = own_keys(*KEYS, priority=True)
    ENTER = "card"
    TALL = True

    def __init__(self, groups: Sequence[NameGroup], length: int, note: str) -> None:
        """`length`: of the whole book, in characters; `note`: how far names are collected."""
        super().__init__("People and places", placeholder="type to find a name")
        self._groups = groups
        self._length = length
        self._scope = note

    def on_mount(self) -> None:
        width = self.app.size.width
        rows: list[Row[Choice]] = []
        for group in self._groups:
            if len(self._groups) > 1:
                rows.append(Row(None, group.title))
            for entity, strip in group.names:
                rows.append(_row(entity, strip, self._length, width))
        self.rows = rows

    def show_rows(self, at: Choice | None) -> None:
        count = sum(row.key is not None for row in self.rows_for(self.typed))
        if count:
            names = counted(count, "name")
        elif self.typed:
            names = "no such name"
        else:
            names = "no name mentioned twice"
        self.note = " ".join(filter(None, (names, self._scope)))
        super().show_rows(at)


def _row(entity: Entity, strip: Sequence[int], length: int, width: int) -> Row[Choice]:
    """A name with its mentions. `length`: of the whole book; `width`: of the screen."""
    has_bars = width >= _BARS_FROM
    others = ""
    if entity.others and width >= _OTHERS_FROM:
        room = _OTHERS_BESIDE_BARS if has_bars else _MOST_OTHERS
        others = f"  {short(', '.join(entity.others), room)}"
    text = f"{entity.name}{others}"
    spans = (Span(len(entity.name), len(text), "muted"),)
    timeline = ""
    if has_bars:
        timeline = bars(strip, _ROW_BARS).ljust(_ROW_BARS)
    mentions = f"{counted(entity.count, 'mention'):>12}"
    first = f"first at {entity.first / max(1, length):4.0%}"
    tail = f"{timeline}  {mentions} · {first}".strip()
    also = " ".join(entity.others)
    return Row(entity, text, tail=tail, spans=spans, also=also)


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
        """`length`: of the whole book, in characters."""
        entity = card.entity
        mentions = counted(entity.count, "mention")
        if len(card.chapters) > 1:
            with_mentions = sum(count > 0 for count in card.chapters)
            all_chapters = counted(len(card.chapters), "chapter")
            mentions += f" in {with_mentions} of {all_chapters}"
        lines: list[str] = []
        if entity.others:
            lines.append(f"also {', '.join(entity.others)}")
        lines += [mentions, bars(card.strip, _CARD_BARS)]
        super().__init__(entity.name, "\n".join(lines))
        self._card = card
        self._view = view
        self._length = length

    def on_mount(self) -> None:
        self.run_worker(self._fill())

    async def _fill(self) -> None:
        """Make the rows in a thread, and show them."""
        self.rows = await asyncio.to_thread(
            card_rows, self._card, self._view, self._length
        )
        is_open = self in self.app.screen_stack
        if is_open:
            self.show_rows(None)


def card_rows(card: Card, view: Index, length: int) -> list[Row[Choice]]:
    """How the book introduces a name, its last mention, and the names beside it.

    `length`: of the whole book, in characters. Slow for a long book.
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
