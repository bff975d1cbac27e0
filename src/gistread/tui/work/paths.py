"""GraphReader's paths through the graph of key elements: positions, notes, and the final vote."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar

from gistread.readers.events import Agreed, LookedUp, Noted, PathEnded, Planned, ReaderEvent, Refused, Visited
from gistread.tui.work.lines import Linked, Places, WorkLine, note_line, numbered, short
from gistread.units import counted


@dataclass(frozen=True, slots=True)
class Trail:
    elements: tuple[str, ...]  # Visited elements; before the start, only the first
    facts: int = 0
    fact_pages: tuple[int, ...] = ()
    read: tuple[int, ...] = ()  # Pages
    refused: tuple[int, ...] = ()  # Pages, by the person
    notes: tuple[Noted, ...] = ()
    begun: bool = False
    ended: bool = False

    @property
    def doing(self) -> str:
        if self.ended:
            return f"done: {counted(len(self.notes), 'note')}"
        if not self.begun:
            return "waiting"
        return f"at {self.elements[-1]}"


@dataclass(frozen=True, slots=True)
class Paths:
    SHOWS: ClassVar[tuple[type, ...]] = ()
    plan: str
    trails: dict[int, Trail] = field(default_factory=dict)
    agreed: tuple[Agreed, ...] = ()
    current: tuple[object, ...] = ("plan",)  # Key of the line that changed last

    @classmethod
    def of(cls, planned: Planned) -> "Paths":
        starts = {number: Trail((start,)) for number, start in enumerate(planned.starts, start=1)}
        return cls(" ".join(planned.plan.split()), starts)

    def after(self, event: ReaderEvent) -> "Paths":
        match event:
            case Visited(path=path, element=element, facts=facts, pages=pages):
                trail = self._trail(path, element)
                elements = trail.elements if trail.elements[-1] == element else (*trail.elements, element)
                return self._with(path, replace(trail, elements=elements, facts=facts, fact_pages=pages, begun=True))
            case LookedUp(path=path, page=page) if path:
                trail = self._trail(path)
                return self._with(path, replace(trail, read=(*trail.read, page), begun=True))
            case Refused(path=path, pages=pages) if path:
                trail = self._trail(path)
                return self._with(path, replace(trail, refused=(*trail.refused, *pages), begun=True))
            case Noted(path=path) if path:
                trail = self._trail(path)
                added = self._with(path, replace(trail, notes=(*trail.notes, event), begun=True))
                return replace(added, current=("note", path, len(trail.notes)))
            case PathEnded(path=path):
                return self._with(path, replace(self._trail(path), ended=True))
            case Agreed():
                return replace(self, agreed=(*self.agreed, event), current=("vote", len(self.agreed)))
        return self

    def summary(self) -> str:
        notes = sum(len(trail.notes) for trail in self.trails.values())
        pages = len({page for trail in self.trails.values() for page in trail.read})
        said = [counted(len(self.trails), "path"), counted(notes, "note"), f"{counted(pages, 'page')} read"]
        if self.agreed:
            said.append(f"{len(self.agreed[0].by)} of {len(self.trails)} say “{short(self.agreed[0].answer, 40)}”")
        return " · ".join(said)

    def lines(self, places: Places) -> list[WorkLine]:
        lines = [WorkLine(("plan",), f"plan: {short(self.plan, 400)}")]
        for number, trail in sorted(self.trails.items()):
            lines += self._of_path(number, trail, places)
        return [*lines, *self._vote()]

    def _of_path(self, number: int, trail: Trail, places: Places) -> Iterator[WorkLine]:
        way = " ▸ ".join(trail.elements)
        sign = "■" if trail.ended else "▸" if trail.begun else "…"
        style = "answer" if trail.begun and not trail.ended else "step"
        yield WorkLine(("path", number), f"path {number}  {way}", sign, tail=trail.doing, style=style)
        if trail.facts:
            said = Linked().add(f"{counted(trail.facts, 'fact')} about {trail.elements[-1]} on ")
            said.add("page " if len(trail.fact_pages) == 1 else "pages ").pages(trail.fact_pages)
            if trail.read:
                said.add(" · read in full: ").pages(trail.read)
            if trail.refused:
                said.add(" · refused by you: ").pages(trail.refused)
            yield WorkLine(("facts", number), said.text, depth=1, spans=said.spans)
        for index, note in enumerate(trail.notes):
            yield note_line(("note", number, index), "✎", 1, places, (note.start, note.end), note.text)

    def _vote(self) -> Iterator[WorkLine]:
        for index, vote in enumerate(self.agreed):
            text, sign = f"{len(vote.by)} of {len(self.trails)} would answer: {vote.answer}", "·" if index else "⚑"
            yield WorkLine(("vote", index), text, sign, tail=numbered("path", vote.by), style="answer")
        silent = [number for number, trail in self.trails.items() if trail.ended] if self.agreed else []
        silent = [number for number in silent if not any(number in vote.by for vote in self.agreed)]
        if silent:
            yield WorkLine(("silent",), "found no answer", "·", tail=numbered("path", silent))

    def _trail(self, path: int, element: str = "") -> Trail:
        return self.trails.get(path) or Trail((element,))

    def _with(self, path: int, trail: Trail) -> "Paths":
        return replace(self, trails={**self.trails, path: trail}, current=("path", path))
