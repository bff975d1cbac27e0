"""The passages given to the model (bm25, dos, full, dense), and where they are in the book."""

from dataclasses import dataclass

from gistread.readers.events import Shown
from gistread.tui.work.lines import Linked, Places, ToPlace, WorkLine, counted

_LISTED = 60  # maximum places listed


@dataclass(frozen=True, slots=True)
class Passages:
    """Places of the passages given to the model."""

    places: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, shown: Shown) -> "Passages":
        return cls(tuple(place for place in shown.places if place[1] > place[0]))

    @property
    def current(self) -> tuple[object, ...]:
        return ("places",)

    def summary(self, places: Places) -> str:
        share = places.share(self.places)
        if not self.places:
            return "no passages given to the model"
        said = f"{share:.0%} of the book" if share >= 0.01 else "under 1% of the book"
        return f"{counted(len(self.places), 'passage')} given to the model, {said}"

    def lines(self, places: Places) -> list[WorkLine]:
        """The book as a strip, and each place by its page."""
        strip = Linked().add("the book  ▕")
        for cell in places.map(self.places):
            strip.add("·" if cell is None else "■", None if cell is None else ToPlace(*cell), "note-link")
        strip.add("▏")
        listed = Linked().add("shown: ")
        said: dict[str, tuple[int, int]] = {}
        for place in self.places:
            said.setdefault(places.words(*place), place)
        for index, (words, place) in enumerate(list(said.items())[:_LISTED]):
            listed.add(" · " if index else "").add(words, ToPlace(*place))
        if len(said) > _LISTED:
            listed.add(f" · and {len(said) - _LISTED} more")
        first = ToPlace(*self.places[0]) if self.places else None
        return [
            WorkLine(("map",), strip.text, spans=strip.spans),
            WorkLine(("places",), listed.text, goal=first, spans=listed.spans),
        ]
