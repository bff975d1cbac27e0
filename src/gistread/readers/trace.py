"""The trace of an answer: the events of a reader as steps in words, linked to the book."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

from gistread.book.model import Book
from gistread.engine.protocol import Usage
from gistread.memory.model import GistMemory
from gistread.memory.passages import NEARLY_ALL
from gistread.memory.sections import Sections, renumbered
from gistread.memory.sizes import TOKENS_PER_WORD
from gistread.readers import events
from gistread.readers.events import ReaderEvent, StopReason
from gistread.units import (
    agreeing,
    counted,
    format_duration,
    ranges,
    ranges_words,
    short,
)

_CIRCLED = "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"
# Why an answer is cut off
CUT = {
    "length": "The answer was cut off at its greatest length.",
    "filter": "The server's content filter withheld the rest of the answer.",
}
# Reasons that begin so continue a sentence after a comma.
_CONNECTED = ("because ", "as ", "to ")
_SHORT_CHARACTERS = 80  # Of a step that stands for all
LEAST_SHARE = 0.01  # A smaller share of a book is shown as 1%
_LISTED = 10  # Most pages or places named in one step

_STOPPED = {
    StopReason.ENOUGH: "enough to answer",
    StopReason.LIMIT: "no more look-ups allowed",
    StopReason.WINDOW: "as much text as this model is shown at once",
    StopReason.PERSON: "stopped by you",
}


@dataclass(frozen=True, slots=True)
class ToPage:
    page: int


@dataclass(frozen=True, slots=True)
class ToPlace:
    """`book.text[start:end]`."""

    start: int
    end: int


Target = ToPage | ToPlace


class Link(NamedTuple):
    """`text[start:end]` of a step leads to `target`."""

    start: int
    end: int
    target: Target


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a trace."""

    text: str
    sign: str = "·"
    target: Target | None = None  # Where the whole line leads
    links: tuple[Link, ...] = ()

    def __str__(self) -> str:
        return f"{self.sign} {self.text}"


class Places:
    """Names places of a book by section where the model has read, otherwise by percentage.

    >>> Places(length=1000).words(120, 140)
    '12–14%'
    """

    def __init__(
        self,
        length: int = 0,
        memory: GistMemory | None = None,
        book: Book | None = None,
    ) -> None:
        self._length = max(1, length)
        self.memory = memory
        self.book = book

    def words(self, start: int, end: int) -> str:
        """`section 3`, `sections 3–5`, `12–14%`."""
        if self.memory is not None and end > start:
            first, last = self.memory.page_at(start), self.memory.page_at(end - 1)
            if first is not None and last is not None:
                return pages_words(range(first.number, last.number + 1))
        first_percent = round(100 * start / self._length)
        last_percent = round(100 * end / self._length)
        if first_percent == last_percent:
            return f"{first_percent}%"
        return f"{first_percent}–{last_percent}%"

    def pages(self, places: Sequence[tuple[int, int]]) -> str:
        """`p. 35 to 41`: from the first of these places to the last; empty without the book."""
        if self.book is None or not places:
            return ""
        first = self.book.page_at(min(start for start, _ in places))
        last = self.book.page_at(max(end for _, end in places) - 1)
        pages = f"p.\u00a0{first:,}"
        if last > first:
            pages += f" to {last:,}"
        return pages

    def share(self, places: Iterable[tuple[int, int]]) -> float:
        """Share of the book that these places cover, from 0 to 1."""
        return min(1.0, sum(end - start for start, end in places) / self._length)


Piece = str | tuple[str, Target]  # Words of a step, and where they lead


def _step(sign: str, *pieces: Piece) -> Step:
    """A step in these words. The whole line leads where its first link does."""
    text = ""
    links: list[Link] = []
    for piece in pieces:
        if isinstance(piece, str):
            text += piece
            continue
        words, target = piece
        start = len(text)
        text += words
        links.append(Link(start, len(text), target))
    return Step(text, sign, links[0].target if links else None, tuple(links))


def _pages(numbers: Iterable[int]) -> list[Piece]:
    """`sections 3, 5–7`, each number linked."""
    runs = ranges(numbers)
    count = sum(last - first + 1 for first, last in runs)
    pieces: list[Piece] = [agreeing(count, "section ", "sections ")]
    for index, (first, last) in enumerate(runs[:_LISTED]):
        if index:
            pieces.append(", ")
        pieces.append((str(first), ToPage(first)))
        if last > first:
            pieces += ["–", (str(last), ToPage(last))]
    not_listed = sum(last - first + 1 for first, last in runs[_LISTED:])
    if not_listed:
        pieces.append(f" and {not_listed} more")
    return pieces


def step_of(event: ReaderEvent, places: Places) -> Step | None:
    """An event in words; None if it is no step of its own."""
    return (
        _step_of_all_readers(event, places)
        or _step_of_sections(event)
        or _step_of_tree(event)
        or _step_of_graph(event)
        or _step_of_team(event, places)
    )


def _step_of_all_readers(event: ReaderEvent, places: Places) -> Step | None:
    """A step that all readers take."""
    match event:
        case events.Started(choice=choice) if choice:
            return Step(choice)
        case events.Shown(places=shown, reasons=reasons):
            return _step_of_shown(shown, places, reasons)
        case events.Noted(text=text, start=start, end=end, path=path):
            lead = f"path {path}, " if path else ""
            if end > start:
                return _step_of_note(places, (start, end), text, lead, "✎")
            return Step(lead + text, "✎")
        case events.Stopped(reason=reason) if reason in _STOPPED:
            return Step(_STOPPED[reason], "■")
        case events.Restarted(reason=reason):
            return Step(f"the answer begins again: {reason.rstrip('.')}", "↻")
    return None


def _step_of_sections(event: ReaderEvent) -> Step | None:
    """A step that opens, refuses or skips sections."""
    match event:
        case events.LookedUp(page=page, step=number, reason=reason):
            sign = f"({number})"
            if 1 <= number <= len(_CIRCLED):
                sign = _CIRCLED[number - 1]
            return Step(with_reason(f"section {page}", reason), sign, ToPage(page))
        case events.Expanded(page=page, by=events.OpenedBy.PERSON):
            return Step(f"section {page}, opened by you", "◆", ToPage(page))
        case events.Refused(pages=pages, instead=instead):
            words = "not answered yet, as you chose"
            if pages:
                words = f"{pages_words(pages)} refused by you"
            if instead:
                words += f", {pages_words(instead)} instead"
            return Step(words, "×")
        case events.Unfit(page=page, shown=shown):
            why = "does not fit the model's window"
            if shown:
                why = "is too long for the model's window or the budget: "
                why += f"read up to {shown:.0%} of it"
            return Step(f"section {page} {why}", "◇", ToPage(page))
    return None


def _step_of_tree(event: ReaderEvent) -> Step | None:
    """A step of MemWalker. What a page told is a step of its own."""
    match event:
        case events.Walked(level=level, first=first, last=last) if level:
            return _step("▸", "down to ", *_pages(range(first, last + 1)))
        case events.TurnedBack(level=level, first=first, last=last, told=is_told):
            pages = _pages(range(first, last + 1))
            if level:
                why = "" if is_told else ": no answer there"
                return _step("×", "back from ", *pages, why)
            if is_told:
                return None
            return _step("×", *pages, " has no answer")
    return None


def _step_of_graph(event: ReaderEvent) -> Step | None:
    """A step of GraphReader."""
    match event:
        case events.Planned(plan=plan, starts=starts):
            words = f"plan: {' '.join(plan.split())}"
            if starts:
                words += f"; begins at: {', '.join(starts)}"
            return Step(words)
        case events.Visited(path=path, element=element, facts=facts, pages=pages):
            words = f"path {path}: {counted(facts, 'fact')} about {element} on "
            return _step("▸", words, *_pages(pages))
    return None


def _step_of_team(event: ReaderEvent, places: Places) -> Step | None:
    """A step of LongAgent, or of paths or members that agree."""
    match event:
        case events.TeamFormed(parts=parts):
            members = counted(len(parts), "member")
            return Step(f"{members}, each with a part of the book")
        case events.MembersAsked(round=number, question=question) if number > 1:
            return Step(f"the leader asks: {question}", "?")
        case events.Reported() if event.answer:
            place = (event.start, event.end)
            lead = f"member {event.member}, "
            return _step_of_note(places, place, event.answer, lead, "●")
        case events.Shared(members=(first, second), answer=answer):
            words = f"members {first} and {second} disagree; both parts together say: "
            return Step(f"{words}{answer}", "⇄")
        case events.Agreed(answer=answer, by=by) if len(by) > 1:
            return Step(f"{len(by)} say: {answer}", "=")
    return None


def renumbered_event(
    event: ReaderEvent, sections: Sections | None, other: Sections | None
) -> ReaderEvent:
    """The event with the numbers that its sections have in another memory of the book.

    `sections`: those of the event's memory; `other`: those of the other memory.
    """

    def number_of(page: int) -> int:
        return renumbered(page, sections, other)

    match event:
        case events.LookedUp() | events.Expanded() | events.Unfit():
            return replace(event, page=number_of(event.page))
        case events.Refused():
            pages = tuple(map(number_of, event.pages))
            instead = tuple(map(number_of, event.instead))
            return replace(event, pages=pages, instead=instead)
    return event


def summary_of(trace: Sequence[ReaderEvent], places: Places) -> str:
    """What a reader did, on one line: `sections 3, 7 opened · 2 notes`.

    Empty if it only answered.
    """
    parts = [*_opened_words(trace), *_asked_words(trace), *_noted_words(trace)]
    shown = [event.places for event in trace if isinstance(event, events.Shown)]
    if shown:
        passages = [(start, end) for start, end in shown[-1] if end > start]
        parts.append(_read_words(passages, places))
    if parts:
        return " · ".join(parts)
    # The last step stands for all.
    for event in reversed(trace):
        step = step_of(event, places)
        if step and not isinstance(event, events.Started):
            return short(step.text, _SHORT_CHARACTERS)
    return ""


def _opened_words(trace: Sequence[ReaderEvent]) -> Iterator[str]:
    opened = [event.page for event in trace if isinstance(event, events.LookedUp)]
    if opened:
        yield f"{_step('', *_pages(opened)).text} opened"


def _asked_words(trace: Sequence[ReaderEvent]) -> Iterator[str]:
    teams = [event.parts for event in trace if isinstance(event, events.TeamFormed)]
    if teams and teams[-1]:
        yield f"{counted(len(teams[-1]), 'member')} asked"


def _noted_words(trace: Sequence[ReaderEvent]) -> Iterator[str]:
    notes = sum(isinstance(event, events.Noted) for event in trace)
    if notes:
        yield counted(notes, "note")


def _read_words(passages: Sequence[tuple[int, int]], places: Places) -> str:
    """`read 3 passages, p. 35 to 41`."""
    if not passages:
        return "read no passage of the book"
    if places.share(passages) >= NEARLY_ALL:
        return "read the whole text"
    words = f"read {counted(len(passages), 'passage')}"
    pages = places.pages(passages)
    return f"{words}, {pages}" if pages else words


class Progress(NamedTuple):
    """How much of a part of the work is done."""

    what: str  # `summaries`, `parts read`
    done: int
    total: int


def progress_of(trace: Sequence[ReaderEvent]) -> Progress | None:
    """What is under way at the end of the trace: `Progress("parts read", 3, 8)`."""
    match trace[-1] if trace else None:
        case events.Prepared(what=what, done=done, total=total):
            return Progress(what, done, total)
        case events.PartRead(number=number, total=total) if number < total:
            return Progress("parts read", number, total)
        case events.Reported():
            return _progress_of_members(trace)
    return None


def _progress_of_members(trace: Sequence[ReaderEvent]) -> Progress | None:
    """How many members have reported since they were last asked; None once all have."""
    total = 0
    done = 0
    for event in trace:
        match event:
            case events.TeamFormed(parts=parts):
                total = len(parts)
            case events.MembersAsked():
                done = 0
            case events.Reported():
                done += 1
    if done >= total:
        return None
    return Progress("members have read", done, total)


def describe_cost(usage: Usage) -> str:
    """`12 s · 4,200 tokens read, 118 written`; empty if nothing was asked of a model."""
    if not usage.generated:
        return ""
    read = usage.prefilled + usage.reused
    tokens = f"{read:,} tokens read"
    if usage.reused:
        tokens += f", {usage.reused:,} of them known"
    tokens += f", {usage.generated:,} written"
    if usage.seconds < 1:
        return tokens
    return f"{format_duration(usage.seconds)} · {tokens}"


def describe_effort(usage: Usage) -> str:
    """Time and approximate words that an answer took: `12 s · about 2,800 words read`.

    Empty if the model wrote nothing.
    """
    if not usage.generated:
        return ""
    parts: list[str] = []
    if usage.seconds >= 1:
        parts.append(format_duration(usage.seconds))
    words = (usage.prefilled + usage.reused) / TOKENS_PER_WORD
    if words >= 1:
        rounded = float(f"{words:.2g}")  # To two figures, since it is an estimate
        parts.append(f"about {rounded:,.0f} words read")
    return " · ".join(parts)


def describe_scope(started: events.Started) -> str:
    """The part of the book and memory that a question covers; empty for everything."""
    bound = bound_phrase(started)
    sentences: list[str] = []
    if not started.complete and started.share_shown is None:
        sections = f"{started.pages_read} of ~{started.pages_total} sections"
        sentences.append(f"From {sections}{bound}.")
    elif bound:
        sentences.append(f"{bound.strip().capitalize()}.")
    if started.is_spread:
        reason = "there are no gists to tell it."
        sentences.append(f"From passages of all its parts: {reason}")
    if started.told:
        sentences.append(describe_segments(started.told))
    return " ".join(sentences)


def bound_phrase(started: events.Started) -> str:
    """` up to 12% of the book`, where the spoiler bound is; empty without one."""
    if started.bound_share >= 1:
        return ""
    share = max(LEAST_SHARE, started.bound_share)
    return f" up to {share:.0%} of the book"


def describe_segments(segments: Sequence[events.SegmentLevel]) -> str:
    """How many pages are shown by their gists and how many by summaries, in one sentence."""
    gists = sum(segment.level == 0 for segment in segments)
    summaries = [segment for segment in segments if segment.level]
    parts: list[str] = []
    if gists:
        whose = agreeing(gists, "its", "their")
        parts.append(f"{counted(gists, 'section')} by {whose} own gist")
    if summaries:
        pages = sum(summary.last - summary.first + 1 for summary in summaries)
        noun = agreeing(len(summaries), "summary", "summaries")
        parts.append(f"{counted(pages, 'section')} in {len(summaries)} {noun}")
    sentence = f"The memory is larger than the model's window: {', '.join(parts)}."
    unmade = sum(not segment.made for segment in segments)
    if unmade:
        sentence += f" {unmade} of these are sentences of the gists, until the model makes them."
    return sentence


def describe_proposed(proposed: events.Proposed) -> str:
    """What the reader wants to do next: `Wants section 11: it tells of the key`."""
    if not proposed.pages:
        return "Wants to answer now"
    return with_reason(f"Wants {pages_words(proposed.pages)}", proposed.reason)


def with_reason(words: str, reason: str) -> str:
    """`section 3: it tells of the key`; `section 3, because it has “key”`."""
    if not reason:
        return words
    if reason.startswith(_CONNECTED):
        return f"{words}, {reason}"
    return f"{words}: {reason}"


def pages_words(numbers: Iterable[int]) -> str:
    """`section 3`, `sections 3, 5–7`."""
    words = ranges_words(numbers)
    return f"section {words}" if words.isdecimal() else f"sections {words}"


def _step_of_shown(
    shown: Sequence[tuple[int, int]], places: Places, reasons: Sequence[str] = ()
) -> Step:
    """The passages that were shown; those outside of sections each with its reason."""
    reason_of = dict(zip(shown, reasons, strict=False))  # Perhaps none has a reason.
    passages = [(start, end) for start, end in shown if end > start]
    if not passages:
        return Step("read no passage of the book", "¶")
    if places.share(passages) >= NEARLY_ALL:
        return Step("read the whole text", "¶")
    pieces: list[Piece] = [f"read {counted(len(passages), 'passage')}: "]
    by_name: dict[str, tuple[int, int]] = {}
    for start, end in passages:
        by_name.setdefault(places.words(start, end), (start, end))
    for index, (name, place) in enumerate(islice(by_name.items(), _LISTED)):
        if index:
            pieces.append(" · ")
        pieces.append((name, ToPlace(*place)))
        # A section that was read is a step of its own, with its reason.
        if name.endswith("%"):
            pieces.append(with_reason("", reason_of.get(place, "")))
    if len(by_name) > _LISTED:
        pieces.append(f" · and {len(by_name) - _LISTED} more")
    return _step("¶", *pieces)


def _step_of_note(
    places: Places, place: tuple[int, int], note: str, lead: str, sign: str
) -> Step:
    """`lead`, the place with a link, and what was noted there."""
    start, end = place
    linked_place = (places.words(start, end), ToPlace(start, end))
    return _step(sign, lead, linked_place, f": {note}")
