"""Questions, the agent's steps and answers as blocks of long text."""

import re
import textwrap
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

from gistread.readers import events
from gistread.readers.text import (
    describe_refused,
    describe_segments,
    describe_stepped_back,
    describe_unfit,
    in_quotes,
    unsupported_spans,
)
from gistread.tui.commands import BOUND_KEY, display_key
from gistread.tui.text import Block, Span
from gistread.tui.work.lines import Linked, Places, Target, ToPage, WorkLine, short
from gistread.tui.work.whole import Work
from gistread.units import progress_bar
from gistread.user_data import SavedQuestion, mark_unsupported

_PAGE_NUMBER = re.compile(r"\[(\d+)\]")
_BY_PERSON = "×↶◆"  # Signs of what the person decided
_CIRCLED = "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"

_WIDTH = 92  # maximum columns of an answer, a little wider than the book
_INDENT = 3
_SOURCES = 9  # maximum sources listed: one for each digit key
_LEAST_QUOTE, _AROUND_QUOTE = 20, 9  # characters
_STEP = 2  # indent of a step under its parent

STOPPED = {
    events.StopReason.ENOUGH: "enough",
    events.StopReason.LIMIT: "no more look-ups allowed",
    events.StopReason.WINDOW: "no room for more",
    events.StopReason.PERSON: "stopped by you",
    events.StopReason.NOTHING_LEFT: "nothing further to open",
}


@dataclass(frozen=True, slots=True)
class ToSource:
    index: int


@dataclass(frozen=True, slots=True)
class Unfold:
    """Shows or hides the steps."""


@dataclass(frozen=True, slots=True)
class KeepNote:
    """Keeps the answer as a note on its passage."""


@dataclass(frozen=True, slots=True)
class AskAgain:
    """Asks an interrupted question again."""


AnswerTarget = Target | ToSource | Unfold | KeepNote | AskAgain


@dataclass(frozen=True, slots=True)
class Exchange:
    question: str
    follows: bool = False  # Whether it continues the question before it
    models: str = ""  # The answering model and the model of the memory, if they differ
    bounded: bool = False  # Whether only the text up to the reading place may be used
    too_little: str = ""  # Note if there is hardly any text before the bound, with what to do
    choice: str = ""  # Which method was chosen automatically, and why
    scope: str = ""  # The part of the book covered, in words; empty for all
    making: tuple[str, int, int] | None = None  # Artifact being built for the reader: (name, done, total)
    steps: tuple[str, ...] = ()
    work: Work = field(default=Work())
    unfolded: bool | None = None  # Whether all steps are shown; None: while the question runs
    answer: str = ""
    citations: tuple[events.Citation, ...] = ()
    lookups: tuple[int, ...] = ()
    found: bool = True
    unsupported: tuple[tuple[int, int], ...] = ()  # (start, end) in the answer of unsupported statements
    problem: str = ""
    running: bool = False
    passage: tuple[int, int] | None = None  # The selected text that the question is about
    kept: bool = False  # Whether the answer was kept as a note on it
    notes: tuple[str, ...] = ()
    record: SavedQuestion | None = None  # The saved question

    @property
    def ends_in_quotes(self) -> bool:
        """Whether the quotations belong to the answer: "What the book says of Ferrand:"."""
        return self.answer.endswith(":")

    @property
    def offers_note(self) -> bool:
        """Whether the answer can be kept as a note on its passage."""
        says_something = self.answer and (self.found or self.citations)
        return bool(self.passage and says_something) and not (self.running or self.kept or self.problem)

    @property
    def shows_work(self) -> bool:
        return bool(self.work) and (self.running if self.unfolded is None else self.unfolded)


def with_event(exchange: Exchange, event: events.ReaderEvent) -> Exchange:
    if isinstance(event, events.Prepared):
        return replace(exchange, making=(event.what, event.done, event.total))
    work = exchange.work.after(event)
    exchange = replace(exchange, work=work, making=None)
    if work.tells(event):
        return exchange
    step = ""
    match event:
        case events.Started():
            return replace(exchange, choice=event.choice, scope=scope_of(event, exchange.passage))
        case events.Shown() if not any("page\u00a0" in step for step in exchange.steps):
            # Without look-ups the reason to stop says nothing.
            return replace(exchange, steps=tuple(step for step in exchange.steps if step[0] in _BY_PERSON))
        case events.LookedUp(page=page, reason=reason):
            step = f"{circled(event.step)}\u00a0page\u00a0{page}" + (f", {reason}" if reason else "")
        case events.Expanded(page=page, by=events.OpenedBy.PERSON):
            step = f"◆ page {page}, pinned by you"
        case events.Refused():
            step = f"× {describe_refused(event)}"
        case events.SteppedBack(pages=pages):
            exchange = replace(exchange, answer="")
            step = f"↶ {describe_stepped_back(pages)}"
        case events.Unfit():
            step = f"◇ {describe_unfit(event)}"
        case events.Noted(text=text):
            step = f"✎ {text}"
        case events.Stopped(reason=reason) if exchange.steps or reason is not events.StopReason.NOTHING_LEFT:
            number = circled(1 + sum(step[0] in _CIRCLED for step in exchange.steps))
            step = f"{number}\u00a0{STOPPED[reason]}"
        case events.AnswerDelta(text=text):
            return replace(exchange, answer=exchange.answer + text)
        case events.Restarted(reason=reason):
            return replace(exchange, answer="", notes=(*exchange.notes, f"Asked again: {reason}"))
        case events.Answered():
            return replace(
                exchange,
                answer=event.answer,
                citations=event.citations,
                lookups=event.lookups,
                found=event.found,
                unsupported=unsupported_spans(event.statements),
                running=False,
            )
    return replace(exchange, steps=(*exchange.steps, step)) if step else exchange


def describe_models(model: str, memory: str) -> str:
    """A line that names both models, if one answers over the memory of another."""
    return f"{model}, over the memory of {memory}." if model and memory and model != memory else ""


def scope_of(started: events.Started, passage: tuple[int, int] | None = None) -> str:
    """The part of the book and memory that a question covers, in words; empty for everything."""
    said = []
    share = f"{started.bound_share:.0%}" if started.bound_share >= 0.01 else ""
    place = f"your place{share and f' ({share})'}"
    if passage:  # the passage may lie ahead of the place
        place = f"{share} of the book" if share else "the passage"
    place = f"up to {place}" if started.bound_share < 1 else ""
    if not started.complete and started.share_shown is None:
        first = "first" if started.pages_read == 1 else f"first {started.pages_read}"
        said.append(f"From the {first} of ~{started.pages_total} pages{place and ' '}{place}.")
    elif place:
        said.append(f"From the text {place}.")
    if started.told:
        said.append(describe_segments(started.told))
    return " ".join(said)


@dataclass(slots=True)
class DrawnExchange:
    blocks: list[Block] = field(default_factory=list)
    targets: dict[Hashable, AnswerTarget] = field(default_factory=dict)

    def add(self, block: Block, target: AnswerTarget | None = None) -> None:
        self.blocks.append(block)
        if target is not None:
            self.targets[block.key] = target


def exchange_blocks(exchange: Exchange, number: int, places: Places, cells: int = _WIDTH) -> DrawnExchange:
    """The blocks of an exchange, the `number`th from 0. Their keys are (kind, number, …), their links `AnswerTarget`.

    `cells`: width of the pane. A source is cut to one row.
    """
    drawn = DrawnExchange()
    question = _said(exchange.question, ("question", number), "question", "↳" if exchange.follows else "?", above=1)
    drawn.add(replace(question, ground="opened"), Unfold() if exchange.work else None)
    if about := " ".join(filter(None, (exchange.models, exchange.scope))):
        drawn.add(_said(about, None, "muted"))
    if exchange.making:
        what, done, total = exchange.making
        bar = progress_bar(done / max(1, total))
        drawn.add(_said(f"{bar} making {what}: {done} of {total}", ("making", number), "step"))
    if exchange.steps and (exchange.running or exchange.shows_work or not exchange.work):
        drawn.add(_said("   ".join(exchange.steps), ("steps", number), "step"))
    if exchange.work:
        _add_work(exchange, number, places, drawn)
    for note in filter(None, (exchange.too_little, *exchange.notes)):
        drawn.add(_said(note, None, "muted"))
    if exchange.answer:
        answer, marks = mark_unsupported(exchange.answer.strip(), exchange.unsupported)
        answer, spans = source_links(answer, exchange.citations, marks)
        first = next((span.link for span in spans if isinstance(span.link, AnswerTarget)), None)
        drawn.add(_said(answer, ("answer", number), "answer", spans=spans), first)
    elif exchange.running:
        drawn.add(_said("…", None, "muted"))
    if exchange.bounded and not (exchange.found or exchange.running or exchange.too_little):
        drawn.add(_said(f"{display_key(BOUND_KEY)} in the question line lets you ask the whole book.", None, "muted"))
    if exchange.problem:
        drawn.add(_said(exchange.problem, None, "error"))
    if exchange.record and not (exchange.record.answer or exchange.running):
        again = "ask again, with the pages looked up so far" if exchange.record.pinned else "ask again"
        drawn.add(_said(again, ("again", number), "link", spans=(Span(0, len(again), "link", AskAgain()),)), AskAgain())
    for index, citation in enumerate(exchange.citations[:_SOURCES]):
        place = places.source(citation.page, citation.start)
        room = max(_LEAST_QUOTE, min(cells, _WIDTH) - _INDENT - len(place) - _AROUND_QUOTE)
        quote = " ".join(citation.quote.split()) if exchange.ends_in_quotes else short(citation.quote, room)
        text = f"{place} · {in_quotes(quote)}"
        links = (Span(0, len(text), "muted", ToSource(index)),)
        drawn.add(_said(text, ("source", number, index), "muted", str(index + 1), links), ToSource(index))
    if exchange.offers_note:
        words, keep = "keep as a note", KeepNote()
        drawn.add(_said(words, ("note", number), "muted", "✎", (Span(0, len(words), "link", keep),)), keep)
    elif exchange.kept:
        drawn.add(_said("kept as a note", None, "muted", "✎"))
    return drawn


def _said(
    text: str, key: Hashable, style: str, hanging: str = "", spans: tuple[Span, ...] = (), *, above: int = 0
) -> Block:
    return Block(
        text, key=key, style=style, indent=_INDENT, hanging=hanging, max_width=_WIDTH, spans=spans, blank_before=above
    )


def _add_work(exchange: Exchange, number: int, places: Places, drawn: DrawnExchange) -> None:
    shown = exchange.shows_work
    head = _said(exchange.work.summary(places), ("work", number), "step", "▾" if shown else "▸")
    drawn.add(head, Unfold())
    if shown and exchange.choice:
        drawn.add(_said(exchange.choice, None, "step"))
    for line in exchange.work.lines(places) if shown else ():
        drawn.add(_work_block(line, number), line.target)


def line_key(number: int, line: object) -> Hashable:
    return "line", number, line


def _work_block(line: WorkLine, number: int) -> Block:
    lead = " " * (_INDENT + _STEP * line.depth)
    text = f"{line.text}  {line.tail}" if line.tail else line.text
    spans = (*line.spans, Span(len(text) - len(line.tail), len(text), "tail")) if line.tail else line.spans
    block = _said(text, line_key(number, line.key), line.style, lead + line.sign, spans)
    return replace(block, indent=len(lead) + _STEP)


def source_links(
    answer: str, citations: Sequence[events.Citation] = (), doubts: Sequence[tuple[int, int]] = ()
) -> tuple[str, tuple[Span, ...]]:
    """Replace each page number in brackets by its source's number, or by `p. 7`; returns the text, links and doubts.

    An answer that names no source gets all of them at its end.
    """
    number_of: dict[int, int] = {}
    for index, citation in enumerate(citations[:_SOURCES]):
        number_of.setdefault(citation.page, index)
    linked = Linked()
    last = 0
    named = False
    shifts: list[tuple[int, int]] = []
    for match in _PAGE_NUMBER.finditer(answer):
        page = int(match[1])
        linked.add(answer[last : match.start()])
        if page in number_of:
            named = True
            linked.add(f"[{number_of[page] + 1}]", ToSource(number_of[page]))
        else:
            linked.add(f"[p. {page}]", ToPage(page))
        last = match.end()
        shifts.append((last, len(linked.text) - last))
    linked.add(answer[last:])
    for index in range(0 if named else len(citations[:_SOURCES])):
        linked.add(" ").add(f"[{index + 1}]", ToSource(index))
    marks = []
    for start, end in doubts:
        shift = next((by for at, by in reversed(shifts) if at <= start), 0)
        marks.append(Span(start + shift, end + shift, "warning"))
    return linked.text, (*linked.spans, *marks)


def strip_lines(exchange: Exchange, places: Places, lines: int, columns: int) -> list[str]:
    """The beginning of the answer, or the latest steps, for a screen with one pane."""
    said = [f"? {exchange.question}"]
    if exchange.answer:
        return said + textwrap.wrap(exchange.answer, max(1, columns), max_lines=lines - 1, placeholder=" …")
    steps = list(exchange.steps)
    if exchange.making:
        what, done, total = exchange.making
        steps.append(f"making {what}: {done} of {total}")
    elif exchange.work:
        steps += _newest(exchange.work, places)
    room = lines - 1 if exchange.work else max(1, lines - 2)
    said += steps[-room:]
    if exchange.problem:
        said.append(exchange.problem)
    elif exchange.scope and len(said) < lines:
        said.append(exchange.scope)
    return said[:1] + said[1:][-(lines - 1) :]


def _newest(work: Work, places: Places) -> list[str]:
    # Passages have many places; the summary gives their number.
    current = next((line for line in work.lines(places) if line.key == work.current != ("places",)), None)
    line = " ".join(filter(None, (current.sign, current.text, current.tail))) if current else ""
    return list(filter(None, (work.summary(places), line)))


def circled(number: int) -> str:
    return _CIRCLED[number - 1] if 1 <= number <= len(_CIRCLED) else f"({number})"
