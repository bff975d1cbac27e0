"""LongAgent's leader and members: chunks read, reports, and how conflicts were settled."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar

from gistread.readers.events import Agreed, MembersAsked, ReaderEvent, Reported, Shared, Stopped, TeamFormed
from gistread.tui.work.lines import Linked, Places, ToPlace, WorkLine, note_line, numbered, short
from gistread.units import counted, progress_bar, ranges_words

_ANSWERS, _SILENT, _READING = "●", "○", "·"
_CELLS_TOGETHER = 10


@dataclass(frozen=True, slots=True)
class Round:
    question: str
    reports: dict[int, Reported] = field(default_factory=dict)  # By member, including those without an answer
    agreed: tuple[Agreed, ...] = ()
    shared: tuple[Shared, ...] = ()

    @property
    def telling(self) -> list[Reported]:
        return [report for _, report in sorted(self.reports.items()) if report.answer]

    @property
    def standing(self) -> list[Agreed]:
        dropped = {member for shared in self.shared for member in shared.members if member != shared.kept}
        return [one for one in self.agreed if not dropped & set(one.by)]


@dataclass(frozen=True, slots=True)
class Team:
    SHOWS: ClassVar[tuple[type, ...]] = ()
    parts: tuple[tuple[int, int], ...]
    rounds: tuple[Round, ...] = ()
    over: bool = False
    current: tuple[object, ...] = ("members", 1)

    @classmethod
    def of(cls, formed: TeamFormed) -> "Team":
        return cls(formed.parts)

    def after(self, event: ReaderEvent) -> "Team":
        number = len(self.rounds)
        match event:
            case MembersAsked(question=question):
                return replace(self, rounds=(*self.rounds, Round(question)), current=("members", number + 1))
            case Stopped():
                return replace(self, over=True, current=("verdict",))
        if not self.rounds:
            return self
        last = self.rounds[-1]
        match event:
            case Reported(member=member, answer=answer):
                key = ("report", number, member) if answer else ("members", number)
                return self._with(replace(last, reports={**last.reports, member: event}), key)
            case Agreed():
                return self._with(replace(last, agreed=(*last.agreed, event)), ("agreed", number, len(last.agreed)))
            case Shared():
                return self._with(replace(last, shared=(*last.shared, event)), ("shared", number, len(last.shared)))
        return self

    def summary(self) -> str:
        said = [counted(len(self.parts), "member")]
        if self.rounds:
            telling = {report.member for one in self.rounds for report in one.telling}
            said.append(f"{len(telling)} had an answer")
        conflicts = sum(len(one.shared) for one in self.rounds)
        if conflicts:
            said.append(f"{counted(conflicts, 'conflict')} settled")
        if len(self.rounds) > 1:
            said.append(counted(len(self.rounds), "round"))
        return " · ".join(said)

    def lines(self, places: Places) -> list[WorkLine]:
        """Each round: who has read, who says what, conflicts; finally the verdict."""
        lines: list[WorkLine] = []
        for number, one in enumerate(self.rounds, start=1):
            lines += self._of_round(number, one, places)
        if self.over and self.rounds:
            lines.append(self._verdict(self.rounds[-1]))
        return lines

    def _of_round(self, number: int, one: Round, places: Places) -> Iterator[WorkLine]:
        if number > 1:
            yield WorkLine(("asked", number), f"round {number}: the leader asks “{one.question}”", "?", style="answer")
        said = self._members(one)
        done, everyone = len(one.reports), len(self.parts)
        tail = "" if done < everyone else f"{len(one.telling)} tell, {everyone - len(one.telling)} not mentioned"
        yield WorkLine(("members", number), said.text, tail=tail, spans=said.spans)
        if done < everyone and not self.over:
            counts = f"{progress_bar(done / max(1, everyone))} {done} of {everyone} have read their parts"
            legend = f"{_ANSWERS} tells  {_SILENT} not mentioned  {_READING} reads"
            yield WorkLine(("progress", number), counts, tail=legend)
        for report in one.telling:
            key, place = ("report", number, report.member), (report.start, report.end)
            yield note_line(key, _ANSWERS, 1, places, place, report.answer, f"member {report.member}, ")
        if len(one.agreed) > 1 or any(len(agreed.by) > 1 for agreed in one.agreed):
            for index, agreed in enumerate(one.agreed):
                by, verb = numbered("member", agreed.by), "says" if len(agreed.by) == 1 else "say"
                dropped = "" if agreed in one.standing else "dropped"
                yield WorkLine(("agreed", number, index), f"{by} {verb}: {agreed.answer}", "=", tail=dropped)
        for index, shared in enumerate(one.shared):
            first, second = shared.members
            said = Linked().add("members ")
            said.add(str(first), self._target(first)).add(" and ").add(str(second), self._target(second))
            said.add(f" read both their parts: “{short(shared.answer, 60)}” stays")
            key, kept = ("shared", number, index), self._target(shared.kept)
            yield WorkLine(key, said.text, "⇄", target=kept, spans=said.spans)

    def _members(self, one: Round) -> Linked:
        said = Linked().add(f"members 1–{len(self.parts)}  " if len(self.parts) > 1 else "member 1  ")
        for member, (start, end) in enumerate(self.parts, start=1):
            report = one.reports.get(member)
            sign = _READING if report is None else _ANSWERS if report.answer else _SILENT
            said.add(" " if member > 1 and member % _CELLS_TOGETHER == 1 else "").add(
                sign, ToPlace(start, end), "note-link" if sign == _ANSWERS else "step"
            )
        return said

    def _target(self, member: int) -> ToPlace:
        return ToPlace(*self.parts[member - 1])

    def _verdict(self, last: Round) -> WorkLine:
        standing = last.standing
        if not standing:
            return WorkLine(("verdict",), "verdict: not found in any chunk", "⚑", style="answer")
        by = ranges_words(member for agreed in standing for member in agreed.by)
        answers = " / ".join(short(agreed.answer, 60) for agreed in standing)
        target = self._target(standing[0].by[0])
        return WorkLine(("verdict",), f"verdict: {answers}", "⚑", target=target, tail=f"by {by}", style="answer")

    def _with(self, last: Round, current: tuple[object, ...]) -> "Team":
        return replace(self, rounds=(*self.rounds[:-1], last), current=current)
