"""The steps of any reader for one question. Views of special readers are imported on their first event."""

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

from gistread.readers import events
from gistread.tui.work.lines import Linked, Places, ToPlace, WorkLine
from gistread.units import counted, format_share

if TYPE_CHECKING:
    from gistread.tui.work.notebook import Notebook
    from gistread.tui.work.paths import Paths
    from gistread.tui.work.team import Team
    from gistread.tui.work.walk import Walk

    Section = Walk | Paths | Team | Notebook


_LISTED = 60  # maximum places listed


@dataclass(frozen=True, slots=True)
class Passages:
    places: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, shown: events.Shown) -> "Passages":
        return cls(tuple(place for place in shown.places if place[1] > place[0]))

    @property
    def current(self) -> tuple[object, ...]:
        return ("places",)

    def summary(self, places: Places) -> str:
        if not self.places:
            return "no passages given to the model"
        share = format_share(places.share(self.places))
        return f"{counted(len(self.places), 'passage')} given to the model, {share} of the book"

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
            WorkLine(("places",), listed.text, target=first, spans=listed.spans),
        ]


# Endings that get a line.
ENDED = {
    events.StopReason.LIMIT: "ended: step limit reached",
    events.StopReason.WINDOW: "ended: the model's window is full",
    events.StopReason.PERSON: "ended: stopped by you",
}


@dataclass(frozen=True, slots=True)
class Work:
    """The steps so far; falsy while there is nothing to show."""

    section: "Section | None" = None
    passages: Passages | None = None
    ended: str = ""

    def __bool__(self) -> bool:
        return self.section is not None or self.passages is not None

    def after(self, event: events.ReaderEvent) -> "Work":
        if isinstance(event, events.Shown):
            return replace(self, passages=Passages.of(event))
        if isinstance(event, events.SteppedBack):
            return reduce(Work.after, event.kept, Work())
        section = self.section or _begun(event)
        if section is None:
            return self
        ended = ENDED.get(event.reason, "") if isinstance(event, events.Stopped) else self.ended
        return replace(self, section=section.after(event), ended=ended)

    def tells(self, event: events.ReaderEvent) -> bool:
        """Whether a line already shows this event."""
        shown = self.section.SHOWS if self.section else ()
        match event:
            case events.Unfit():
                return events.Unfit in shown
            case events.LookedUp(path=path):
                return path > 0 or events.LookedUp in shown
            case events.Refused(path=path):
                return path > 0 or events.Refused in shown
            case events.Noted(path=path, start=start, end=end):
                return path > 0 or (events.Noted in shown and end > start)
            case events.Stopped():
                return self.section is not None
        return isinstance(
            event,
            events.Walked
            | events.TurnedBack
            | events.Branched
            | events.Planned
            | events.Visited
            | events.PathEnded
            | events.PartRead,
        )

    def summary(self, places: Places) -> str:
        section = self.section.summary() if self.section else ""
        passages = self.passages.summary(places) if self.passages else ""
        return " · ".join(filter(None, (section, passages)))

    def lines(self, places: Places) -> list[WorkLine]:
        lines = self.section.lines(places) if self.section else []
        if self.passages is not None:
            lines += self.passages.lines(places)
        return [*lines, WorkLine(("ended",), self.ended, "■")] if self.ended else lines

    @property
    def current(self) -> object:
        if self.passages is not None:
            return self.passages.current
        return self.section.current if self.section else None


def _begun(event: events.ReaderEvent) -> "Section | None":
    match event:
        case events.Branched():
            from gistread.tui.work.walk import Walk

            return Walk()
        case events.Planned():
            from gistread.tui.work.paths import Paths

            return Paths.of(event)
        case events.TeamFormed():
            from gistread.tui.work.team import Team

            return Team.of(event)
        case events.PartRead() | events.Noted(path=0):
            if isinstance(event, events.Noted) and event.end <= event.start:
                return None
            from gistread.tui.work.notebook import Notebook

            return Notebook()
    return None
