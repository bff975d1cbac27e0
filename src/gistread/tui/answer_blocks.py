"""Questions, the agent's steps and answers as blocks of long text."""

import re
import textwrap
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from gistread.book.model import Book
from gistread.memory.front_matter import front_matter_end
from gistread.memory.sections import Sections, renumbered, sections_of
from gistread.readers import events
from gistread.readers.thread import GO_ON, REFERENCE, Thread
from gistread.readers.trace import (
    CUT,
    Places,
    Step,
    Target,
    ToPlace,
    describe_scope,
    pages_words,
    progress_of,
    renumbered_event,
    step_of,
    summary_of,
    with_reason,
)
from gistread.session.questions import with_answer
from gistread.store.model import (
    AnswerMark,
    AnswerStep,
    Citation,
    SavedQuestion,
    with_messages,
)
from gistread.tui.answer_markup import draw_markup, plain_text
from gistread.tui.commands import BOUND_KEY, display_key
from gistread.tui.text import Block, Span
from gistread.units import ELLIPSIS, in_quotes, progress_bar, short
from gistread.words import count_words

_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:s|min|h)\b)")  # No row ends there
_FEW_WORDS = 100  # Words before the bound below which an answer is unlikely
_LITTLE_TEXT = 2_000  # Characters that surely have that many words
_WIDTH = 92  # Most columns of an answer, a little wider than the book
_INDENT = 3
_SOURCES = 9  # One for each digit key
_WALK = "walk the steps"
_LEAST_QUOTE = 20  # Characters of a source's quotation, however narrow the pane
_AROUND_QUOTE = 9  # Cells left free in its row: for quotation marks and words that wrap
_FEW_SOURCES = 2  # Most sources that have room for a whole sentence each
_ROWS_OF_FEW = 3  # For the quotation of each of these; one row if there are more


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


@dataclass(frozen=True, slots=True)
class GoOn:
    """Asks for the rest of an answer that was cut off."""


@dataclass(frozen=True, slots=True)
class Walk:
    """Walks the steps behind the answer."""


AnswerTarget = Target | ToSource | Unfold | Walk | KeepNote | AskAgain | GoOn


@dataclass(frozen=True, slots=True)
class Exchange:
    record: SavedQuestion  # The question as it is saved
    answer: str = ""  # Its parts so far
    # Note if there is hardly any text before the bound, with what to do
    too_little: str = ""
    trace: tuple[events.ReaderEvent, ...] = ()  # Without the parts of the answer
    # Whether all steps are shown; None: while the question runs
    unfolded: bool | None = None
    problem: str = ""
    running: bool = False
    kept: bool = False  # Whether the answer was kept as a note on its passage
    # Those of the memory that the answer is from. The memory itself may hold a copy of the text.
    sections: Sections | None = None
    thread: Thread = ()  # The exchanges before the question
    # Whether only the answer is shown, for one that was written beside it
    folded: bool = False

    @classmethod
    def saved(cls, record: SavedQuestion, thread: Thread = ()) -> "Exchange":
        """`thread`: the exchanges before it."""
        if record.answer:
            return cls(record, record.answer, thread=thread)
        until = "the answer was complete" if record.begun else "there was an answer"
        return cls(record, record.begun, problem=f"Interrupted before {until}.")

    @property
    def ends_in_quotes(self) -> bool:
        """Whether the quotations belong to the answer: "What the book says of Ferrand:"."""
        return self.answer.endswith(":")

    @property
    def offers_note(self) -> bool:
        """Whether the answer can be kept as a note on its passage."""
        if self.running or self.kept or self.problem:
            return False
        says_something = self.answer and (self.record.found or self.record.citations)
        return bool(self.record.passage and says_something)

    @property
    def shows_steps(self) -> bool:
        if self.unfolded is None:
            return self.running
        return self.unfolded

    def steps(self, places: Places) -> list[Step]:
        if not self.trace:
            return [_saved_step(step, places) for step in self.record.steps]
        steps = (step_of(event, places) for event in self.numbered_trace(places))
        return [step for step in steps if step is not None]

    def numbered_trace(self, places: Places) -> list[events.ReaderEvent]:
        """The trace with sections numbered as the memory on the screen numbers them."""
        shown = sections_of(places.memory)
        return [renumbered_event(event, self.sections, shown) for event in self.trace]


def _saved_step(step: AnswerStep, places: Places) -> Step:
    """A step of an answer from an earlier session."""
    words = places.words(step.start, step.end)
    if step.is_left_out:
        words = f"{words} left out"
    sign = "×" if step.is_left_out else "▸"
    return Step(with_reason(words, step.reason), sign, ToPlace(step.start, step.end))


def with_event(exchange: Exchange, event: events.ReaderEvent) -> Exchange:
    if isinstance(event, events.AnswerDelta):
        return replace(exchange, answer=exchange.answer + event.text)
    exchange = replace(exchange, trace=(*exchange.trace, event))
    match event:
        case events.Started():
            return replace(
                exchange, record=replace(exchange.record, scope=describe_scope(event))
            )
        case events.Restarted():
            return replace(exchange, answer="")
        case events.Answered():
            record = exchange.record
            record = with_answer(
                record, event, model=record.model, memory=record.memory
            )
            return replace(exchange, record=record, answer=event.answer, running=False)
    return exchange


def too_little(book: Book, bound: int) -> str:
    """A note that there is hardly any text before the bound, and what to do; else empty."""
    words = count_words(
        book.text[min(bound, front_matter_end(book)) : bound][:_LITTLE_TEXT]
    )
    whole = display_key(BOUND_KEY)
    if not words:
        return f"Nothing has been read yet. Read on, or let answers use the whole book: {whole}."
    if words >= _FEW_WORDS:
        return ""
    return (
        f"Up to your place there are only {words} words. {whole} lets answers "
        "use the whole book."
    )


@dataclass(slots=True)
class DrawnExchange:
    blocks: list[Block] = field(default_factory=list)
    targets: dict[Hashable, AnswerTarget] = field(default_factory=dict)

    def add(self, block: Block, target: AnswerTarget | None = None) -> None:
        self.blocks.append(block)
        if target is not None:
            self.targets[block.key] = target


def exchange_blocks(
    exchange: Exchange, number: int, places: Places, cells: int = _WIDTH
) -> DrawnExchange:
    """The blocks of an exchange, the `number`th from 0.

    Their keys are (kind, number, …), their links `AnswerTarget`. `cells`: width of the pane;
    each of many sources is cut to one row.
    """
    drawn = DrawnExchange()
    steps = exchange.steps(places)
    can_unfold = bool(steps) or exchange.folded
    drawn.add(_question(exchange, number, places), Unfold() if can_unfold else None)
    if exchange.running:
        _add_steps(drawn, exchange, number, steps)
    if exchange.too_little:
        drawn.add(_row(exchange.too_little, None, "muted"))
    _add_answer(drawn, exchange, number, cells)
    if exchange.folded and not exchange.running:
        return drawn
    _add_what_failed(drawn, exchange, number)
    _add_sources(drawn, exchange, number, places, cells)
    _add_keeping(drawn, exchange, number)
    _add_provenance(drawn, exchange, number, places, steps)
    return drawn


def _add_answer(
    drawn: DrawnExchange, exchange: Exchange, number: int, cells: int
) -> None:
    record = exchange.record
    if not exchange.answer:
        if exchange.running:
            drawn.add(_row("…", None, "muted"))
        return
    answer, spans = answer_text(exchange.answer.strip(), record.citations, record.marks)
    first_target = next(
        (span.link for span in spans if isinstance(span.link, AnswerTarget)), None
    )
    key = ("answer", number)
    lines = draw_markup(answer, spans, _columns(cells))
    for index, line in enumerate(lines):
        above = int(index == 0 or line.is_apart)
        block = _row(line.text, key, "answer", spans=line.spans, above=above)
        drawn.add(replace(block, turnover=line.turnover), first_target)


def _add_what_failed(drawn: DrawnExchange, exchange: Exchange, number: int) -> None:
    """What the answer lacks, each with what to do about it."""
    record = exchange.record
    is_bounded = record.upto is not None
    if record.answer and not record.found and is_bounded and not exchange.too_little:
        drawn.add(
            _row(f"{display_key(BOUND_KEY)} sets where answers stop.", None, "muted")
        )
    if exchange.problem:
        drawn.add(_row(exchange.problem, None, "error"))
    if exchange.running:
        return
    if not record.answer:
        if record.pinned:
            again = "ask again, with the sections looked up so far"
        else:
            again = "ask again"
        link = Span(0, len(again), "link", AskAgain())
        drawn.add(_row(again, ("again", number), "link", spans=(link,)), AskAgain())
    if record.cut:
        drawn.add(_cut_off(record.cut, number), GoOn())


def _add_sources(
    drawn: DrawnExchange, exchange: Exchange, number: int, places: Places, cells: int
) -> None:
    """What other passages say instead, then the sources of the answer."""
    citations = exchange.record.citations
    rivals = [index for index, citation in enumerate(citations) if citation.tells]
    if rivals:
        drawn.add(_rivals(citations, rivals, number, places), ToSource(rivals[0]))
    sources = _listed_sources(citations)
    rows = _ROWS_OF_FEW if len(sources) <= _FEW_SOURCES else 1
    room = rows * (_columns(cells) - _AROUND_QUOTE)
    for index in sources:
        row = _source(exchange, number, index, places, room)
        drawn.add(row, ToSource(index))


def _add_keeping(drawn: DrawnExchange, exchange: Exchange, number: int) -> None:
    """Whether the answer is kept as a note, or the offer to keep it."""
    if exchange.offers_note:
        words = "keep as a note"
        link = Span(0, len(words), "link", KeepNote())
        drawn.add(_row(words, ("note", number), "muted", "✎", (link,)), KeepNote())
    elif exchange.kept:
        drawn.add(_row("kept as a note", None, "muted", "✎"))


def _add_provenance(
    drawn: DrawnExchange,
    exchange: Exchange,
    number: int,
    places: Places,
    steps: Sequence[Step],
) -> None:
    """What the answer is from and what it cost, with its steps below if they are unfolded."""
    about = _about(exchange)
    if exchange.running or not (steps or about):
        if about:
            drawn.add(_row(" · ".join(about), None, "provenance", above=1))
        return
    summary = summary_of(exchange.numbered_trace(places), places)
    provenance = " · ".join(filter(None, [summary, *about])) or "steps"
    links: list[Span] = []
    if exchange.record.steps or exchange.record.citations:
        provenance += f" · {_WALK}"
        links.append(
            Span(len(provenance) - len(_WALK), len(provenance), "link", Walk())
        )
    sign = ""
    target: AnswerTarget | None = Walk() if links else None
    if steps:
        sign = "▾" if exchange.shows_steps else "▸"
        target = Unfold()
    row = _row(provenance, ("steps", number), "provenance", sign, tuple(links), above=1)
    drawn.add(row, target)
    _add_steps(drawn, exchange, number, steps)


def _about(exchange: Exchange) -> list[str]:
    """What was looked at, by which models, and what it cost."""
    record = exchange.record
    about: list[str] = []
    if record.scope:
        scope = record.scope.rstrip(".")
        about.append(f"{scope[:1].lower()}{scope[1:]}")
    if record.model and record.memory and record.model != record.memory:
        about.append(f"{record.model}, over the memory of {record.memory}")
    if record.cost and not exchange.running:
        about.append(_BEFORE_UNIT.sub("\u00a0", record.cost))
    return about


def _question(exchange: Exchange, number: int, places: Places) -> Block:
    """The row of a question, with the sections that its answer is without."""
    record = exchange.record
    sign = "↳" if record.thread else "?"
    text = record.question
    if record.beside:
        text = f"{text} · written anew, {_sections_used(exchange, places)}"
        sign = "≠"
    elif exchange.folded:
        text = f"{text} · the first answer"
    block = _row(text, ("question", number), "question", sign, above=1)
    return replace(block, ground="opened")


def _sections_used(exchange: Exchange, places: Places) -> str:
    """`without sections 3 and 5`, or `with all`."""
    record, memory = exchange.record, places.memory
    if not record.left_out:
        return "with all"
    sections = sections_of(memory)
    if record.steered is None or sections is None:
        left_out = [
            renumbered(page, exchange.sections, sections) for page in record.left_out
        ]
    else:
        left_out = [sections.number_at(offset) for offset in record.steered.refused]
    return f"without {pages_words(left_out)}"


def _columns(cells: int) -> int:
    """How wide the text of an answer is in a pane of so many cells."""
    return min(cells, _WIDTH) - _INDENT


def _source(
    exchange: Exchange, number: int, index: int, places: Places, room: int
) -> Block:
    """A source: its place, and as much of its words as there is room for, in cells."""
    citation = exchange.record.citations[index]
    place = _place(citation, places)
    if exchange.ends_in_quotes:
        quote = " ".join(citation.quote.split())
    else:
        quote = short(citation.quote, max(_LEAST_QUOTE, room - len(place)))
    text = f"{place}  {in_quotes(quote)}"
    links = (
        Span(0, len(place), "muted", ToSource(index)),
        Span(len(place), len(text), "text", ToSource(index)),
    )
    key = ("source", number, index)
    return _row(text, key, "text", str(index + 1), links, above=int(not index))


def _rivals(
    citations: Sequence[Citation], rivals: Sequence[int], number: int, places: Places
) -> Block:
    """What an unreliable model reads in other passages; each leads to its place."""
    text = "Other passages say: "
    links: list[Span] = []
    for index in rivals:
        citation = citations[index]
        # In the words of the model, hence without quotation marks.
        rival = f"{citation.tells} ({_place(citation, places)})"
        if index != rivals[0]:
            text += " · "
        links.append(Span(len(text), len(text) + len(rival), "link", ToSource(index)))
        text += rival
    return _row(text, ("rivals", number), "muted", spans=tuple(links), above=1)


def _cut_off(why: str, number: int) -> Block:
    """A row that says why an answer ends early, and goes on with it."""
    text = f"{CUT.get(why, '')} {GO_ON}".lstrip()
    link = Span(len(text) - len(GO_ON), len(text), "link", GoOn())
    return _row(text, ("go on", number), "muted", spans=(link,))


def _add_steps(
    drawn: DrawnExchange, exchange: Exchange, number: int, steps: Sequence[Step]
) -> None:
    """The steps if they are unfolded, and how far a running reader has come."""
    if exchange.shows_steps:
        for index, step in enumerate(steps):
            drawn.add(_step(step, line_key(number, index)), step.target)
    if under_way := _under_way(exchange):
        drawn.add(_row(under_way, ("progress", number), "step"))


def _step(step: Step, key: Hashable) -> Block:
    """The row of a step, indented below its answer."""
    links = tuple(Span(*link[:2], "link", link.target) for link in step.links)
    return _row(step.text, key, "step", f"  {step.sign}", links, indent=_INDENT + 2)


def _place(citation: Citation, places: Places) -> str:
    """`p. 33`, in a series with the volume."""
    book = places.book
    if book is None:
        return places.words(citation.start, citation.end)
    page = f"p. {book.page_at(citation.start):,}"
    volume = book.volume_title(citation.start)
    return " · ".join(filter(None, (page, volume)))


def _row(
    text: str,
    key: Hashable,
    style: str,
    hanging: str = "",
    spans: tuple[Span, ...] = (),
    *,
    above: int = 0,
    indent: int = _INDENT,
) -> Block:
    return Block(
        text,
        key=key,
        style=style,
        indent=indent,
        hanging=hanging,
        max_width=_WIDTH,
        spans=spans,
        blank_before=above,
    )


def _under_way(exchange: Exchange) -> str:
    """What a running reader has done so far; empty if it does not say."""
    if not exchange.running or (progress := progress_of(exchange.trace)) is None:
        return ""
    what, done, total = progress
    return f"{progress_bar(done / max(1, total))} {what}: {done} of {total}"


def line_key(number: int, step: int) -> Hashable:
    """The key of a step of the `number`th exchange."""
    return "line", number, step


def answer_text(
    answer: str, citations: Sequence[Citation] = (), marks: Sequence[AnswerMark] = ()
) -> tuple[str, tuple[Span, ...]]:
    """The answer with the messages of its marks, and spans for these and its references.

    An answer without references gets those of its own sources at its end.
    """
    marked = with_messages(answer, marks)
    text = marked.text
    spans = [Span(*place, "underline") for place in marked.words]
    spans += [Span(*place, "warning") for place in marked.messages]
    references = list(_references(text, min(len(citations), _SOURCES)))
    if references:
        return text, (*spans, *references)
    ends_in_table = text.rpartition("\n")[2].lstrip().startswith("|")
    for index in _listed_sources(citations):
        text += "\n" if ends_in_table and not index else " "
        reference = f"[{index + 1}]"
        spans.append(
            Span(len(text), len(text) + len(reference), "link", ToSource(index))
        )
        text += reference
    return text, tuple(spans)


def _listed_sources(citations: Sequence[Citation]) -> list[int]:
    """Indexes of the answer's own sources that a digit key leads to.

    Those of rivals stand in words below them.
    """
    of_keys = enumerate(citations[:_SOURCES])
    return [index for index, citation in of_keys if not citation.tells]


def _references(text: str, source_count: int) -> Iterator[Span]:
    """The references in an answer, such as `[2]`, to sources that it has."""
    for match in REFERENCE.finditer(text):
        index = int(match[1]) - 1
        if index < source_count:
            yield Span(*match.span(), "link", ToSource(index))


def strip_lines(
    exchange: Exchange, places: Places, lines: int, columns: int
) -> list[str]:
    """The beginning of the answer, or the latest steps, for a screen with one pane."""
    question = f"? {exchange.record.question}"
    room = lines - 1  # Below the question
    if not room:
        return [question]
    if exchange.answer:
        answer = plain_text(exchange.answer)
        return [
            question,
            *textwrap.wrap(
                answer, max(1, columns), max_lines=room, placeholder=ELLIPSIS
            ),
        ]
    steps = [*map(str, exchange.steps(places)), *filter(None, [_under_way(exchange)])]
    below = steps[-max(1, room - 1) :]
    if exchange.problem:
        below.append(exchange.problem)
    elif exchange.record.scope and len(below) < room:
        below.append(exchange.record.scope)
    return [question, *below[-room:]]
