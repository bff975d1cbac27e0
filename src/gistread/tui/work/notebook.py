"""The notes of the reader `notes` on each part of the book, and its progress."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from gistread.readers.events import Noted, PartRead, ReaderEvent, Stopped
from gistread.tui.work.lines import Places, ToPlace, WorkLine, note_line
from gistread.units import counted, progress_bar


@dataclass(frozen=True, slots=True)
class NotedPart:
    """A part of the book and its note; empty if there was nothing new."""

    start: int
    end: int
    note: str


@dataclass(frozen=True, slots=True)
class Notebook:
    SHOWS: ClassVar[tuple[type, ...]] = (Noted,)
    parts: tuple[NotedPart, ...] = ()
    read: int = 0
    total: int = 0  # 0: not known yet
    over: bool = False

    def after(self, event: ReaderEvent) -> "Notebook":
        match event:
            case Noted(text=text, start=start, end=end):
                return replace(self, parts=(*self.parts, NotedPart(start, end, text)))
            case PartRead(number=number, total=total, start=start, end=end):
                noted = bool(self.parts) and (self.parts[-1].start, self.parts[-1].end) == (start, end)
                parts = self.parts if noted else (*self.parts, NotedPart(start, end, ""))
                return replace(self, parts=parts, read=number, total=total)
            case Stopped():
                return replace(self, over=True)
        return self

    @property
    def current(self) -> tuple[object, ...]:
        return ("progress",)

    def summary(self) -> str:
        notes = sum(bool(part.note) for part in self.parts)
        of = f" of {self.total}" if self.read < self.total else ""
        return f"{self.read}{of} {'part' if self.read == 1 and not of else 'parts'} read · {counted(notes, 'note')}"

    def lines(self, places: Places) -> list[WorkLine]:
        """A line for each note, one for each run of parts without notes, and the progress."""
        lines = list(self._parts(places))
        if not self.over:
            said = (
                f"{progress_bar(self.read / max(1, self.total))} part {self.read} of {self.total}"
                if self.total
                else "reading part 1"
            )
            lines.append(WorkLine(("progress",), said))
        return lines

    def _parts(self, places: Places) -> Iterator[WorkLine]:
        silent: list[int] = []
        for number, part in enumerate((*self.parts, None), start=1):
            if part is not None and not part.note:
                silent.append(number)
                continue
            if silent:
                yield self._nothing_new(silent, places)
                silent = []
            if part is not None:
                yield note_line(("part", number), "✎", 0, places, (part.start, part.end), part.note)

    def _nothing_new(self, numbers: list[int], places: Places) -> WorkLine:
        first, last = self.parts[numbers[0] - 1], self.parts[numbers[-1] - 1]
        said = f"{places.words(first.start, last.end)}: nothing new"
        return WorkLine(("part", numbers[0]), said, "·", target=ToPlace(first.start, last.end))
