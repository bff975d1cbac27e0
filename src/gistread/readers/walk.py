"""The steps behind an answer, one section each, through which the user can walk."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage, overlaps
from gistread.memory.sections import Sections
from gistread.readers import events
from gistread.readers.events import ReaderEvent
from gistread.readers.reasons import Reasons, main_section
from gistread.readers.steering import Steering
from gistread.store.model import AnswerStep, Citation, SavedQuestion, SteeringChoice


@dataclass(frozen=True, slots=True)
class WalkStep:
    """A section that a reader showed the model, or that was left out."""

    number: int
    # What was shown of it is `book.text[start:end]`.
    start: int
    end: int
    reason: str = ""
    cited: tuple[Passage, ...] = ()  # Its sentences that the answer cites
    is_left_out: bool = False

    @property
    def place(self) -> Passage:
        """What to look at: the first cited sentence, or else what was shown."""
        if self.cited:
            return self.cited[0]
        return self.start, self.end


def walk_of(
    trace: Iterable[ReaderEvent],
    citations: Sequence[Citation],
    memory: GistMemory,
    left_out: Collection[int] = (),
    question: str = "",
) -> list[WalkStep]:
    """The steps in the order in which they were asked about or taken, then those left out.

    Without a trace, only the sections of the sources. `left_out`: numbers of sections that were
    refused. `question`: for the reason of a step that has none.
    """
    sections = Sections(memory)
    trace = tuple(trace)
    cited = _cited_by_section(citations, sections)
    candidates = [*_shown_in(trace, sections), *_steps_to(cited, sections)]
    steps: dict[int, WalkStep] = {}  # By section: what was shown of it comes first
    for step in candidates:
        if step.number not in left_out:
            sentences = tuple(sorted(cited.get(step.number, ())))
            steps.setdefault(step.number, replace(step, cited=sentences))
    refused = [
        replace(step, is_left_out=True) for step in _steps_to(left_out, sections)
    ]
    order = _order_of_asking(trace)
    taken = sorted(steps.values(), key=lambda step: order.get(step.number, len(order)))
    reasons = Reasons.over(question, memory)
    return [_with_reason(step, reasons) for step in (*taken, *refused)]


def _steps_to(numbers: Iterable[int], sections: Sections) -> Iterator[WalkStep]:
    """A step for each of these sections that the book has, in order."""
    for number in sorted(numbers):
        section = sections.numbered(number)
        if section is not None:
            yield WalkStep(number, section.start, section.end)


def _with_reason(step: WalkStep, reasons: Reasons) -> WalkStep:
    """The step, with the words that it shares with the question if it has no reason."""
    if step.reason:
        return step
    return replace(step, reason=reasons.of([(step.start, step.end)]))


def _order_of_asking(trace: Iterable[ReaderEvent]) -> dict[int, int]:
    """By section number, the rank in which the user was asked about it."""
    ranks: dict[int, int] = {}
    for event in trace:
        if isinstance(event, events.Proposed):
            for page in event.pages:
                ranks.setdefault(page, len(ranks))
    return ranks


def with_steps(
    record: SavedQuestion,
    trace: Iterable[ReaderEvent],
    steering: Steering,
    memory: GistMemory,
) -> SavedQuestion:
    """The answered question with the steps behind it, and what the user decided about them.

    A section that was refused when the answer had read it already is not left out.
    """
    sections = Sections(memory)
    trace = tuple(trace)
    left_out = steering.refused - _read_in(trace, sections, steering.refused)
    walk = walk_of(trace, record.citations, memory, left_out, record.question)
    steps = [
        AnswerStep(step.start, step.end, step.reason, step.is_left_out) for step in walk
    ]
    pinned = tuple(start for start, _ in sections.places_of(steering.pinned))
    refused = tuple(start for start, _ in sections.places_of(steering.refused))
    steered = SteeringChoice(pinned, refused, steering.only)
    return replace(record, steps=tuple(steps), steered=steered)


def _read_in(
    trace: Sequence[ReaderEvent], sections: Sections, numbers: Collection[int]
) -> set[int]:
    """Which of these sections the answer of the trace has read."""
    last = trace[-1] if trace else None
    if isinstance(last, events.Answered):
        places = (*last.seen, *last.noted)
        read = set(last.expanded)
    else:
        places, read = _shown_by(trace)
    for number in numbers:
        section = sections.numbered(number)
        if section is not None and overlaps(places, section.place):
            read.add(number)
    return read.intersection(numbers)


def _shown_by(trace: Iterable[ReaderEvent]) -> tuple[tuple[Passage, ...], set[int]]:
    """(places, sections) shown for an answer that was stopped when it had been written."""
    places: tuple[Passage, ...] = ()
    opened: set[int] = set()
    for event in trace:
        match event:
            case events.Shown():
                places = event.places  # What is shown later takes the place of it.
            case events.Expanded(page=page):
                opened.add(page)
            case events.Refused(pages=pages):
                opened.difference_update(pages)
    return places, opened


def refused_too_late(record: SavedQuestion) -> tuple[int, ...]:
    """The offsets of the sections that the user refused and that the answer has read."""
    if record.steered is None:
        return ()
    left_out = {step.start for step in record.steps if step.is_left_out}
    return tuple(offset for offset in record.steered.refused if offset not in left_out)


def saved_walk(
    record: SavedQuestion, sections: Sections, memory: GistMemory
) -> list[WalkStep]:
    """The steps behind a saved answer, with the numbers of their sections.

    An answer of an older version has no steps: they are made of its sources in `memory`.
    """
    if not record.steps:
        return walk_of((), record.citations, memory, question=record.question)
    cited = _cited_by_section(record.citations, sections)
    walk: dict[int, WalkStep] = {}
    for step in record.steps:
        number = main_section((step.start, step.end), sections)
        walk_step = WalkStep(
            number, step.start, step.end, step.reason, is_left_out=step.is_left_out
        )
        if not step.is_left_out:
            sentences = tuple(sorted(cited.get(number, ())))
            walk_step = replace(walk_step, cited=sentences)
        walk.setdefault(number, walk_step)
    return list(walk.values())


def _cited_by_section(
    citations: Iterable[Citation], sections: Sections
) -> dict[int, list[Passage]]:
    """The cited places by the number of their section."""
    cited: dict[int, list[Passage]] = {}
    for citation in citations:
        section = sections.at(citation.start)
        if section is not None:
            cited.setdefault(section.number, []).append((citation.start, citation.end))
    return cited


def _shown_in(trace: Iterable[ReaderEvent], sections: Sections) -> list[WalkStep]:
    """The sections that were shown or noted from, in order; some more than once."""
    steps: list[WalkStep] = []

    def add_section(number: int, reason: str) -> None:
        for start, end in sections.places_of([number]):
            steps.append(WalkStep(number, start, end, reason))

    def add_place(start: int, end: int, reason: str) -> None:
        number = main_section((start, end), sections)
        steps.append(WalkStep(number, start, end, reason))

    for event in trace:
        match event:
            case events.LookedUp(page=page, reason=reason):
                add_section(page, reason)
            case events.Expanded(page=page, by=events.OpenedBy.PERSON):
                add_section(page, "opened by you")
            case events.Noted(text=text, start=start, end=end) if end > start:
                add_place(start, end, text)
            case events.Reported(answer=answer, start=start, end=end) if answer:
                add_place(start, end, answer)
            case events.Shown(places=places, reasons=reasons, nearest=nearest):
                for index in nearest or range(len(reasons)):
                    start, end = places[index]
                    add_place(start, end, reasons[index])
    return steps
