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
from gistread.readers.walk import refused_too_late
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

# The space in "12 min" or "3 s", where no row may end
_SPACE_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:s|min|h)\b)")
_FEW_WORDS = 100  # Words before the bound below which an answer is unlikely
_LITTLE_TEXT = 2_000  # Characters that surely have that many words
_WIDTH = 92  # Most columns of an answer, a little wider than the book
_INDENT = 3
_NO_BREAK_SPACE = "\u00a0"
_SOURCES = 9  # One for each digit key
_WALK = "walk the steps"
BROKEN_OFF = "Interrupted before the answer was complete."
STOPPED_EARLY = "Stopped by you before its sources were found."
_LEAST_QUOTE = 20  # Characters of a source's quotation, however narrow the pane
_AROUND_QUOTE = 9  # Cells left free in its row: for quotation marks and words that wrap
# Up to so many sources, each has room for a whole sentence; more have one row each
_FEW_SOURCES = 2
_ROWS_OF_FEW = 3  # Rows of a quotation, if there are few sources


@dataclass(frozen=True, slots=True)
class ToSource:
    """Leads to a source of the answer."""

    index: int  # In the citations of the record


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
class WriteAnew:
    """Writes an answer anew without the sections that were refused while it was written."""


@dataclass(frozen=True, slots=True)
class Walk:
    """Walks the steps behind the answer."""


AnswerTarget = (
    Target | ToSource | Unfold | Walk | KeepNote | AskAgain | GoOn | WriteAnew
)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question with what is known of its answer, as the answers pane shows it."""

    record: SavedQuestion  # The question as it is saved
    answer: str = ""  # The text of the answer so far
    # A note that there is hardly any text before the bound, and what to do
    too_little: str = ""
    trace: tuple[events.ReaderEvent, ...] = ()  # Without the parts of the answer
    # Whether all steps are shown; None: while the question runs
    unfolded: bool | None = None
    problem: str = ""
    running: bool = False
    kept: bool = False  # Whether the answer was kept as a note on its passage
    # The sections of the memory that the answer is from. They are stored in place of
    # the memory, which may hold a copy of the text.
    sections: Sections | None = None
    thread: Thread = ()  # The exchanges before the question
    # Numbers, in the memory of the question, of sections that were refused while it was answered
    refused: tuple[int, ...] = ()
    # Whether only the answer is shown, since another was written to compare with it
    folded: bool = False

    @classmethod
    def saved(cls, record: SavedQuestion, thread: Thread = ()) -> "Exchange":
        """An exchange of an earlier session. `thread`: the exchanges before it."""
        if record.answer:
            return cls(record, record.answer, thread=thread)
        if record.begun:
            problem = BROKEN_OFF
        else:
            problem = "Interrupted before there was an answer."
        return cls(record, record.begun, problem=problem)

    @property
    def is_written(self) -> bool:
        """Whether the answer is whole, although its sources may be lacking."""
        for event in reversed(self.trace):
            match event:
                case events.Written() | events.Answered():
                    return True
                case events.Restarted() | events.Started():
                    return False
        return False

    @property
    def ends_in_quotes(self) -> bool:
        """Whether its sources complete the answer: "What the book says of Ferrand:"."""
        return self.answer.endswith(":")

    @property
    def offers_note(self) -> bool:
        """Whether the answer can be kept as a note on its passage."""
        if self.running or self.kept or self.problem:
            return False
        record = self.record
        has_result = bool(record.found or record.citations)
        return bool(record.passage and self.answer and has_result)

    @property
    def shows_steps(self) -> bool:
        """Whether all steps are shown. Until the user chooses: while the question runs."""
        if self.unfolded is None:
            return self.running
        return self.unfolded

    def steps(self, places: Places) -> list[Step]:
        """The steps of the reader; in an exchange of an earlier session, the saved ones."""
        if not self.trace:
            return [_saved_step(step, places) for step in self.record.steps]
        steps = (step_of(event, places) for event in self.numbered_trace(places))
        return [step for step in steps if step is not None]

    def numbered_trace(self, places: Places) -> list[events.ReaderEvent]:
        """The trace with sections numbered as the memory on the screen numbers them."""
        shown = sections_of(places.memory)
        return [renumbered_event(event, self.sections, shown) for event in self.trace]


def continued_exchanges(exchanges: Sequence[Exchange]) -> set[int]:
    """The numbers of the exchanges whose answers are continued by "Go on." in their thread."""
    continued: set[int] = set()
    # By thread: the exchanges that can still be gone on with, in order
    unfinished: dict[float, list[int]] = {}
    for number, exchange in enumerate(exchanges):
        record = exchange.record
        in_thread = unfinished.setdefault(record.thread_id, [])
        if record.question == GO_ON and in_thread:
            continued.add(in_thread.pop())
        if record.begun or record.cut:
            in_thread.append(number)
    return continued


def _saved_step(step: AnswerStep, places: Places) -> Step:
    """A step of an answer from an earlier session."""
    words = places.words(step.start, step.end)
    sign = "▸"
    if step.is_left_out:
        words = f"{words} left out"
        sign = "×"
    return Step(with_reason(words, step.reason), sign, ToPlace(step.start, step.end))


def with_event(exchange: Exchange, event: events.ReaderEvent) -> Exchange:
    """The exchange after a reader's event."""
    if isinstance(event, events.AnswerDelta):
        return replace(exchange, answer=exchange.answer + event.text)
    exchange = replace(exchange, trace=(*exchange.trace, event))
    before = exchange.record
    match event:
        case events.Started():
            record = replace(before, scope=describe_scope(event))
            return replace(exchange, record=record)
        case events.Restarted():
            return replace(exchange, answer="")
        case events.Answered():
            record = with_answer(
                before, event, model=before.model, memory=before.memory
            )
            return replace(exchange, record=record, answer=event.answer, running=False)
    return exchange


def too_little(book: Book, bound: int) -> str:
    """A note that there is hardly any text before the bound, and what to do; else empty."""
    start = min(bound, front_matter_end(book))
    text = book.text[start:bound]
    words = count_words(text[:_LITTLE_TEXT])
    key = display_key(BOUND_KEY)
    if not words:
        return f"Nothing has been read yet. Read on, or let answers use the whole book: {key}."
    if words >= _FEW_WORDS:
        return ""
    return (
        f"Up to your place there are only {words} words. "
        f"{key} lets answers use the whole book."
    )


@dataclass(slots=True)
class DrawnExchange:
    """The blocks of an exchange, and what a click on each leads to, by its key."""

    blocks: list[Block] = field(default_factory=list)
    targets: dict[Hashable, AnswerTarget] = field(default_factory=dict)

    def add(self, block: Block, target: AnswerTarget | None = None) -> None:
        self.blocks.append(block)
        if target is not None:
            self.targets[block.key] = target


def exchange_blocks(
    exchange: Exchange,
    number: int,
    places: Places,
    cells: int = _WIDTH,
    *,
    is_continued: bool = False,
) -> DrawnExchange:
    """The blocks of an exchange, the `number`th from 0.

    Their keys are (kind, number, …), their links `AnswerTarget`. `cells`: width of the pane;
    each of many sources is cut to one row. `is_continued`: whether the answer was gone on with.
    """
    drawn = DrawnExchange()
    steps = exchange.steps(places)
    can_unfold = bool(steps) or exchange.folded
    target = Unfold() if can_unfold else None
    drawn.add(_question(exchange, number, places), target)
    if exchange.running:
        _add_steps(drawn, exchange, number, steps)
    if exchange.too_little:
        drawn.add(_row(exchange.too_little, None, "muted"))
    _add_answer(drawn, exchange, number, cells)
    _add_refused(drawn, exchange, number, places)
    if exchange.folded and not exchange.running:
        return drawn
    _add_what_failed(drawn, exchange, number, is_continued=is_continued)
    _add_sources(drawn, exchange, number, places, cells)
    _add_keeping(drawn, exchange, number)
    _add_provenance(drawn, exchange, number, places, steps)
    return drawn


def _add_answer(
    drawn: DrawnExchange, exchange: Exchange, number: int, cells: int
) -> None:
    """The text of the answer; dots until a running question has one."""
    record = exchange.record
    if not exchange.answer:
        if exchange.running:
            drawn.add(_row("…", None, "muted"))
        return
    answer, spans = answer_text(exchange.answer.strip(), record.citations, record.marks)
    # Enter leads to the first target; a click, only to that of a link.
    targets = [span.link for span in spans if isinstance(span.link, AnswerTarget)]
    first_target = targets[0] if targets else None
    key = ("answer", number)
    lines = draw_markup(answer, spans, _columns(cells))
    for index, line in enumerate(lines):
        above = 1 if index == 0 or line.is_apart else 0
        row = _row(line.text, key, "answer", spans=line.spans, above=above)
        drawn.add(replace(row, turnover=line.turnover), first_target)


def _add_refused(
    drawn: DrawnExchange, exchange: Exchange, number: int, places: Places
) -> None:
    """Which sections were refused too late for the answer, and how to do without them."""
    key = ("refused", number)
    if exchange.running:
        if exchange.refused:
            sections = pages_words(_numbers_shown(exchange, places, exchange.refused))
            text = (
                f"Refused: {sections}. What is being written may still draw on it; "
                "the finished answer will say so."
            )
            drawn.add(_row(text, key, "warning"))
        return
    late = _refused_too_late(exchange, places)
    if not late:
        return
    offer = (
        "Write it anew without it" if len(late) == 1 else "Write it anew without them"
    )
    text = (
        f"This answer draws on {pages_words(late)}, which you refused while it was being "
        f"written. {offer}"
    )
    links = (_link_at_end(text, offer, WriteAnew()),)
    drawn.add(_row(text, key, "warning", spans=links), WriteAnew())


def _numbers_shown(
    exchange: Exchange, places: Places, numbers: Sequence[int]
) -> list[int]:
    """The numbers that sections of the answer have in the memory on the screen."""
    shown = sections_of(places.memory)
    return [renumbered(number, exchange.sections, shown) for number in numbers]


def _refused_too_late(exchange: Exchange, places: Places) -> list[int]:
    """The numbers, on the screen, of the refused sections that the answer has read."""
    sections = sections_of(places.memory)
    if sections is None:
        return []
    late = refused_too_late(exchange.record)
    return [sections.number_at(offset) for offset in late]


def _add_what_failed(
    drawn: DrawnExchange, exchange: Exchange, number: int, *, is_continued: bool
) -> None:
    """What the answer lacks, each with what to do about it."""
    record = exchange.record
    if _may_lie_behind_bound(exchange):
        advice = f"{display_key(BOUND_KEY)} sets where answers stop."
        drawn.add(_row(advice, None, "muted"))
    if exchange.problem:
        drawn.add(_row(exchange.problem, None, "error"))
    if exchange.running:
        return
    if is_continued:
        if record.cut in CUT:
            drawn.add(_row(CUT[record.cut], None, "muted"))
        return
    if not record.answer:
        if record.begun:
            drawn.add(_cut_off("", number), GoOn())
        drawn.add(_ask_again(record, number), AskAgain())
    if record.cut:
        drawn.add(_cut_off(record.cut, number), GoOn())


def _may_lie_behind_bound(exchange: Exchange) -> bool:
    """Whether nothing was found in a part of the book that is long enough to answer from."""
    record = exchange.record
    if exchange.too_little or record.upto is None:
        return False
    return bool(record.answer and not record.found)


def _ask_again(record: SavedQuestion, number: int) -> Block:
    """The row that asks an interrupted question again."""
    text = "ask again"
    if record.pinned:
        text = "ask again, with the sections looked up so far"
    links = (_link_at_end(text, text, AskAgain()),)
    return _row(text, ("again", number), "link", spans=links)


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
    cells_for_quote = rows * (_columns(cells) - _AROUND_QUOTE)
    for index in sources:
        row = _source(exchange, number, index, places, cells_for_quote)
        drawn.add(row, ToSource(index))


def _add_keeping(drawn: DrawnExchange, exchange: Exchange, number: int) -> None:
    """A row that offers to keep the answer as a note, or says that it is kept."""
    if exchange.offers_note:
        offer = "keep as a note"
        links = (_link_at_end(offer, offer, KeepNote()),)
        row = _row(offer, ("note", number), "muted", hanging="✎", spans=links)
        drawn.add(row, KeepNote())
    elif exchange.kept:
        drawn.add(_row("kept as a note", None, "muted", hanging="✎"))


def _add_provenance(
    drawn: DrawnExchange,
    exchange: Exchange,
    number: int,
    places: Places,
    steps: Sequence[Step],
) -> None:
    """What the answer is from and what it cost, with its steps below if they are unfolded."""
    about = _about(exchange)
    if exchange.running:
        if about:
            drawn.add(_row(" · ".join(about), None, "provenance", above=1))
        return
    if not steps and not about:
        return
    summary = summary_of(exchange.numbered_trace(places), places)
    text = " · ".join(filter(None, [summary, *about])) or "steps"
    links: tuple[Span, ...] = ()
    # Where a click beside the link leads
    target: AnswerTarget | None = None
    if exchange.record.steps or exchange.record.citations:
        text += f" · {_WALK}"
        target = Walk()
        links = (_link_at_end(text, _WALK, target),)
    sign = ""
    if steps:
        sign = "▾" if exchange.shows_steps else "▸"
        target = Unfold()
    row = _row(
        text, ("steps", number), "provenance", hanging=sign, spans=links, above=1
    )
    drawn.add(row, target)
    _add_steps(drawn, exchange, number, steps)


def _about(exchange: Exchange) -> list[str]:
    """What was searched, by which models, and what it cost, each in a few words."""
    record = exchange.record
    about: list[str] = []
    if record.scope:
        scope = record.scope.rstrip(".")
        about.append(f"{scope[:1].lower()}{scope[1:]}")
    if record.model and record.memory and record.model != record.memory:
        about.append(f"{record.model}, over the memory of {record.memory}")
    if record.cost and not exchange.running:
        about.append(_SPACE_BEFORE_UNIT.sub(_NO_BREAK_SPACE, record.cost))
    return about


def _question(exchange: Exchange, number: int, places: Places) -> Block:
    """The row of a question; of one asked anew, also the sections that are left out."""
    record = exchange.record
    sign = "↳" if record.thread else "?"
    text = record.question
    if record.beside:
        text = f"{text} · written anew, {_sections_used(exchange, places)}"
        sign = "≠"
    elif exchange.folded:
        text = f"{text} · the first answer"
    block = _row(text, ("question", number), "question", hanging=sign, above=1)
    return replace(block, ground="opened")


def _sections_used(exchange: Exchange, places: Places) -> str:
    """Which sections an answer that was written anew uses: `without sections 3 and 5`."""
    record, memory = exchange.record, places.memory
    if not record.left_out:
        return "with all"
    shown = sections_of(memory)
    if record.steered is not None and shown is not None:
        # Saved offsets stay right when the model reads on; saved numbers may not.
        left_out = [shown.number_at(offset) for offset in record.steered.refused]
    else:
        left_out = [
            renumbered(number, exchange.sections, shown) for number in record.left_out
        ]
    return f"without {pages_words(left_out)}"


def _columns(cells: int) -> int:
    """The width of the text of an answer, in a pane of `cells`."""
    return min(cells, _WIDTH) - _INDENT


def _source(
    exchange: Exchange, number: int, index: int, places: Places, cells: int
) -> Block:
    """A source: its place and its quotation, cut so that both fit into `cells`."""
    citation = exchange.record.citations[index]
    place = _place(citation, places)
    sections = sections_of(places.memory)
    late = _refused_too_late(exchange, places)
    if late and sections is not None and sections.number_at(citation.start) in late:
        place += f" · section {sections.number_at(citation.start)}, refused"
    if exchange.ends_in_quotes:
        quote = " ".join(citation.quote.split())
    else:
        quote = short(citation.quote, max(_LEAST_QUOTE, cells - len(place)))
    text = f"{place}  {in_quotes(quote)}"
    target = ToSource(index)
    links = (
        Span(0, len(place), "muted", target),
        Span(len(place), len(text), "text", target),
    )
    above = 1 if index == 0 else 0
    key = ("source", number, index)
    return _row(text, key, "text", hanging=str(index + 1), spans=links, above=above)


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
        if links:
            text += " · "
        text += rival
        links.append(_link_at_end(text, rival, ToSource(index)))
    return _row(text, ("rivals", number), "muted", spans=tuple(links), above=1)


def _cut_off(why: str, number: int) -> Block:
    """A row that says why an answer ends early, and offers to go on with it."""
    text = f"{CUT.get(why, '')} {GO_ON}".lstrip()
    links = (_link_at_end(text, GO_ON, GoOn()),)
    return _row(text, ("go on", number), "muted", spans=links)


def _link_at_end(text: str, words: str, target: AnswerTarget) -> Span:
    """A link on the last words of a text."""
    return Span(len(text) - len(words), len(text), "link", target)


def _add_steps(
    drawn: DrawnExchange, exchange: Exchange, number: int, steps: Sequence[Step]
) -> None:
    """The steps if they are unfolded, and the progress of a running reader."""
    if exchange.shows_steps:
        for index, step in enumerate(steps):
            drawn.add(_step(step, line_key(number, index)), step.target)
    if under_way := _under_way(exchange):
        drawn.add(_row(under_way, ("progress", number), "step"))


def _step(step: Step, key: Hashable) -> Block:
    """The row of a step, indented below its answer."""
    links = tuple(
        Span(link.start, link.end, "link", link.target) for link in step.links
    )
    sign = f"  {step.sign}"
    return _row(step.text, key, "step", hanging=sign, spans=links, indent=_INDENT + 2)


def _place(citation: Citation, places: Places) -> str:
    """`p. 33`, in a series with the volume; before the book is opened, `12–14%`."""
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
    *,
    hanging: str = "",
    spans: tuple[Span, ...] = (),
    above: int = 0,
    indent: int = _INDENT,
) -> Block:
    """A block of the pane. `hanging`: a sign before its text; `above`: empty rows above it."""
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
    progress = progress_of(exchange.trace) if exchange.running else None
    if progress is None:
        return ""
    what, done, total = progress
    bar = progress_bar(done / max(1, total))
    return f"{bar} {what}: {done} of {total}"


def line_key(number: int, step: int) -> Hashable:
    """The key of a step of the `number`th exchange."""
    return "line", number, step


def answer_text(
    answer: str, citations: Sequence[Citation] = (), marks: Sequence[AnswerMark] = ()
) -> tuple[str, tuple[Span, ...]]:
    """(text, spans): the answer with the messages of its marks; spans of marks and references.

    An answer without references gets references to all its sources at its end.
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
        text += reference
        spans.append(_link_at_end(text, reference, ToSource(index)))
    return text, tuple(spans)


def _listed_sources(citations: Sequence[Citation]) -> list[int]:
    """Indexes of the answer's own sources that a digit key leads to.

    Passages that say something else are shown in a row of their own.
    """
    with_key = enumerate(citations[:_SOURCES])
    # Only a passage that says something else has words that it `tells`.
    return [index for index, citation in with_key if not citation.tells]


def _references(text: str, source_count: int) -> Iterator[Span]:
    """The references in an answer, such as `[2]`, to sources that it has."""
    for match in REFERENCE.finditer(text):
        index = int(match[1]) - 1
        if index < source_count:
            yield Span(match.start(), match.end(), "link", ToSource(index))


def strip_lines(
    exchange: Exchange, places: Places, lines: int, columns: int
) -> list[str]:
    """The question, and below it the beginning of the answer or the latest steps.

    For a screen with one pane. `lines`: most lines, with the question.
    """
    question = f"? {exchange.record.question}"
    lines_below = lines - 1
    if not lines_below:
        return [question]
    if exchange.answer:
        answer = textwrap.wrap(
            plain_text(exchange.answer),
            max(1, columns),
            max_lines=lines_below,
            placeholder=ELLIPSIS,
        )
        return [question, *answer]
    steps = [str(step) for step in exchange.steps(places)]
    if under_way := _under_way(exchange):
        steps.append(under_way)
    # One line is left for a problem or for what was searched.
    below = steps[-max(1, lines_below - 1) :]
    if exchange.problem:
        below.append(exchange.problem)
    elif exchange.record.scope and len(below) < lines_below:
        below.append(exchange.record.scope)
    return [question, *below[-lines_below:]]
