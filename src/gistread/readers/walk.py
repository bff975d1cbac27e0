"""The steps behind an answer, one section each, to be walked after it."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage
from gistread.memory.sections import Sections
from gistread.readers import events
from gistread.readers.events import ReaderEvent
from gistread.readers.reasons import Reasons, main_section
from gistread.store.model import Citation


@dataclass(frozen=True, slots=True)
class WalkStep:
    """A section that a reader showed the model, or that was left out."""

    number: int
    start: int  # What was shown of it begins here in the book's text
    end: int
    reason: str = ""
    cited: tuple[Passage, ...] = ()  # Its sentences that the answer cites
    is_left_out: bool = False

    @property
    def place(self) -> Passage:
        """What to look at: the first cited sentence, or else what was shown."""
        return self.cited[0] if self.cited else (self.start, self.end)


def walk_of(
    trace: Iterable[ReaderEvent],
    citations: Sequence[Citation],
    memory: GistMemory,
    left_out: Collection[int] = (),
    question: str = "",
) -> list[WalkStep]:
    """The steps in the order in which they were taken, then those that were left out.

    Without a trace, as of an older question, the sources alone. `left_out`: numbers of sections
    that were refused. `question`: for the reason of a step that has none.
    """
    sections = Sections(memory)
    cited: dict[int, list[Passage]] = {}
    for citation in citations:
        section = sections.at(citation.start)
        if section is not None:
            cited.setdefault(section.number, []).append((citation.start, citation.end))
    steps: dict[int, WalkStep] = {}
    for shown in _shown_in(trace, sections):
        if shown.number not in left_out:
            sentences = tuple(sorted(cited.get(shown.number, ())))
            steps.setdefault(shown.number, replace(shown, cited=sentences))
    for number, places in sorted(cited.items()):
        if number in left_out:
            continue
        (whole,) = sections.places_of([number])
        steps.setdefault(number, WalkStep(number, *whole, "", tuple(sorted(places))))
    refused = [
        WalkStep(number, *place, is_left_out=True)
        for number in sorted(left_out)
        for place in sections.places_of([number])
    ]
    reasons = Reasons.over(question, memory)
    return [
        step if step.reason else replace(step, reason=reasons.of([(step.start, step.end)]))
        for step in (*steps.values(), *refused)
    ]


def has_steps(trace: Iterable[ReaderEvent], citations: Sequence[Citation]) -> bool:
    """Whether there is a step to walk: a source, or something that was shown or noted."""
    return bool(citations) or any(map(_shows_something, trace))


def _shows_something(event: ReaderEvent) -> bool:
    match event:
        case events.LookedUp() | events.Expanded():
            return True
        case events.Noted(start=start, end=end):
            return end > start
        case events.Reported(answer=answer):
            return bool(answer)
        case events.Shown(reasons=reasons):
            return bool(reasons)
    return False


def _shown_in(trace: Iterable[ReaderEvent], sections: Sections) -> list[WalkStep]:
    """The sections that were shown or noted from, in order; some more than once."""
    steps: list[WalkStep] = []

    def add_section(number: int, reason: str) -> None:
        steps.extend(WalkStep(number, *place, reason) for place in sections.places_of([number]))

    def add_place(place: Passage, reason: str) -> None:
        steps.append(WalkStep(main_section(place, sections), *place, reason))

    for event in trace:
        match event:
            case events.LookedUp(page=page, reason=reason):
                add_section(page, reason)
            case events.Expanded(page=page, by=events.OpenedBy.PERSON):
                add_section(page, "opened by you")
            case events.Noted(text=text, start=start, end=end) if end > start:
                add_place((start, end), text)
            case events.Reported(answer=answer, start=start, end=end) if answer:
                add_place((start, end), answer)
            case events.Shown(places=places, reasons=reasons):
                for place, reason in zip(places, reasons, strict=False):
                    add_place(place, reason)
    return steps
