"""The card of a person or place: what the book says about it up to a place, and corrections of its name."""

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from typing import NamedTuple

from textual.widgets import Static

from gistread.people.index import Card, Index
from gistread.readers.claims import Claim, Identity
from gistread.readers.introductions import introducing_sentences
from gistread.tui.commands import own_keys
from gistread.tui.screens.listing import ListScreen, Row, place_in
from gistread.units import bars, counted

_MOST_BARS = 56
_MOST_CLAIMS = 12
_ACTIONS = (
    ("Enter", "go there", "choose"),
    ("f", "facts", "find_facts"),
    ("e", "rename", "dismiss('rename')"),
    ("m", "same as …", "dismiss('merge')"),
    ("s", "split", "dismiss('split')"),
    ("x", "hide", "dismiss('hide')"),
    ("u", "undo", "dismiss('undo')"),
)


class CardFacts(NamedTuple):
    """What the book says about an entity, and a note on the model's progress."""

    claims: tuple[Claim, ...]
    identities: tuple[Identity, ...]
    note: str = ""


NO_FACTS = CardFacts((), ())


class CardScreen(ListScreen):
    """Dismissed with `at OFFSET …`, with `who NAME` of another, with a correction or `undo`, or with None."""

    BINDINGS = own_keys(
        ("f", "find_facts", "Facts"),
        ("e", "dismiss('rename')", "Rename"),
        ("m", "dismiss('merge')", "The same as another"),
        ("s", "dismiss('split')", "One of the names is another's"),
        ("x,delete", "dismiss('hide')", "Hide"),
        ("u", "dismiss('undo')", "Undo the last correction"),
    )

    def __init__(
        self, card: Card, view: Index, length: int, gather: Callable[[bool], AsyncGenerator[CardFacts, None]]
    ) -> None:
        """`length` of the whole book in characters. `gather` yields facts; with True, the model looks for more."""
        entity = card.entity
        also = f"also {', '.join(entity.others)}\n" if entity.others else ""
        chapters = sum(1 for count in card.chapters if count)
        in_chapters = f" in {chapters} of {counted(len(card.chapters), 'chapter')}" if len(card.chapters) > 1 else ""
        note = f"{also}{counted(entity.count, 'mention')}{in_chapters}\n{bars(card.strip, _MOST_BARS)}"
        self._parts = card, view, length
        self._gather = gather
        super().__init__(entity.name, note, list(card_rows(card, view, length)), actions=_ACTIONS)

    def on_mount(self) -> None:
        self.run_worker(self._show(self._gather(False)))

    def action_find_facts(self) -> None:
        self.run_worker(self._show(self._gather(True)), exclusive=True)

    async def _show(self, gathered: AsyncGenerator[CardFacts, None]) -> None:
        async with aclosing(gathered) as steps:
            async for facts in steps:
                self.query_one("#note", Static).update("\n".join(filter(None, (self._note, facts.note))))
                rows = list(card_rows(*self._parts, facts))
                if len(rows) > len(self.options.options):
                    self.show_rows(rows, self.chosen)


def card_rows(card: Card, view: Index, length: int, facts: CardFacts = NO_FACTS) -> Iterator[Row]:
    """Introductions, identities, facts, last mention, neighbours. `length` of the whole book in characters."""
    book = view.book

    def place(offset: int) -> str:
        return place_in(book, offset, length)

    def quoted(start: int, end: int) -> str:
        return " ".join(book.text[start:end].split())

    introductions = introducing_sentences(card.entity, book)
    for start, end in introductions:
        yield Row(f"at {start}", quoted(start, end), place(start))
    for number, one in enumerate(facts.identities):
        start = one.quote[0]
        about = f"“{quoted(*one.quote)}”"
        yield Row(
            f"at {start} same {number}", f"From {place(start)}: is said to be the same as {one.other.name}", about
        )
    checked = [claim for claim in facts.claims if claim.checked][-_MOST_CLAIMS:]
    for number, claim in enumerate(checked):
        quote, where = quoted(*claim.quote), place(claim.quote[0])
        if claim.text != quote:
            yield Row(f"at {claim.quote[0]} claim {number}", claim.text, f"“{quote}” {where}")
        elif claim.quote not in introductions:  # A page's own sentence, in place of facts
            yield Row(f"at {claim.quote[0]} claim {number}", quote, where)
    yield Row(f"at {card.last} last", f"Last seen at {place(card.last)}")
    for other, count in card.together:
        yield Row(f"who {other.forms[0].text}", f"With {other.name}, {counted(count, 'time')}")
