"""The card of a person or place: what the book says of it up to a place, and the corrections of its name."""

from collections.abc import Iterator

from gistread.people.index import Card, Index
from gistread.readers.introductions import introduced
from gistread.tui.commands import own_keys
from gistread.tui.screens.listing import ListScreen, Row
from gistread.units import bars, counted

_MOST_BARS = 56
_ACTIONS = (
    ("Enter", "go there", "choose"),
    ("e", "rename", "dismiss('rename')"),
    ("m", "same as …", "dismiss('merge')"),
    ("s", "split", "dismiss('split')"),
    ("x", "hide", "dismiss('hide')"),
    ("u", "undo", "dismiss('undo')"),
)


class CardScreen(ListScreen):
    """Dismissed with `at OFFSET`, with `who NAME` of another, with a correction or `undo`, or with None."""

    BINDINGS = own_keys(
        ("e", "dismiss('rename')", "Rename"),
        ("m", "dismiss('merge')", "The same as another"),
        ("s", "dismiss('split')", "One of the names is another's"),
        ("x,delete", "dismiss('hide')", "Hide"),
        ("u", "dismiss('undo')", "Undo the last correction"),
    )

    def __init__(self, card: Card, view: Index, length: int) -> None:
        """`length` of the whole book in characters."""
        entity = card.entity
        also = f"also {', '.join(entity.others)}\n" if entity.others else ""
        chapters = sum(1 for count in card.chapters if count)
        in_chapters = f" in {chapters} of {counted(len(card.chapters), 'chapter')}" if len(card.chapters) > 1 else ""
        note = f"{also}{counted(entity.count, 'mention')}{in_chapters}\n{bars(card.strip, _MOST_BARS)}"
        super().__init__(entity.name, note, list(card_rows(card, view, length)), actions=_ACTIONS)


def card_rows(card: Card, view: Index, length: int) -> Iterator[Row]:
    """The sentences that introduce it, the last mention, and who is near. `length` of the whole book in characters."""
    book = view.book

    def place(offset: int) -> str:
        return " · ".join(filter(None, (f"{offset / max(1, length):.0%}", book.chapter_title(offset))))

    for start, end in introduced(card.entity, book):
        yield Row(f"at {start}", " ".join(book.text[start:end].split()), place(start))
    yield Row(f"at {card.last}", f"Last seen at {place(card.last)}")
    for other, count in card.together:
        yield Row(f"who {other.forms[0].text}", f"With {other.name}, {counted(count, 'time')}")
