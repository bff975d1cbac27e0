"""Questions, the agent's steps and answers as blocks of long text. Pure."""

import re
from dataclasses import dataclass, field, replace

from gistread.readers.events import (
    AnswerDelta,
    Answered,
    Citation,
    Expanded,
    LookedUp,
    Noted,
    Planned,
    Prepared,
    ReaderEvent,
    Reported,
    Restarted,
    Shared,
    Started,
    Stopped,
    StopReason,
    Unfit,
    Walked,
    Who,
)
from gistread.readers.telling import at_levels
from gistread.tui.text.document import Block, Span

_PAGE_NUMBER = re.compile(r"\[(\d+)\]")
_CIRCLED = "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"

_WIDTH = 92
"""Columns of an answer at most, as in a book a little wider than the book's own."""

STOPPED = {
    StopReason.ENOUGH: "enough",
    StopReason.LIMIT: "no more look-ups allowed",
    StopReason.WINDOW: "the next page would not fit the window",
    StopReason.PERSON: "stopped by you",
    StopReason.NOTHING_LEFT: "every page is open",
}


@dataclass(frozen=True, slots=True)
class Exchange:
    """One question and what has come of it so far."""

    question: str
    scope: str = ""
    """Over how much of the book, when not over all of it."""
    steps: tuple[str, ...] = ()
    answer: str = ""
    citations: tuple[Citation, ...] = ()
    lookups: tuple[int, ...] = ()
    found: bool = True
    problem: str = ""
    running: bool = False
    notes: tuple[str, ...] = field(default=())


def heard(exchange: Exchange, event: ReaderEvent) -> Exchange:
    """The exchange after this event."""
    match event:
        case Started():
            return replace(exchange, scope=scope_of(event))
        case LookedUp(page=page, step=step, reason=reason):
            because = f", {reason}" if reason else ""
            return replace(exchange, steps=(*exchange.steps, f"{circled(step)}\u00a0page\u00a0{page}{because}"))
        case Walked(level=level, first=first, last=last) if level:
            return replace(exchange, steps=(*exchange.steps, f"↓ pages {first}\u2009–\u2009{last}"))
        case Walked():
            return exchange
        case Prepared(what=what, done=done, total=total):
            making = f"{what}: {done} of {total}"
            before = (
                exchange.steps[:-1] if exchange.steps and exchange.steps[-1].startswith(f"{what}: ") else exchange.steps
            )
            return replace(exchange, steps=(*before, making))
        case Expanded(page=page, by=Who.PERSON):
            return replace(exchange, steps=(*exchange.steps, f"◆ page {page}, pinned by you"))
        case Expanded():
            return exchange
        case Unfit(page=page):
            return replace(exchange, steps=(*exchange.steps, f"◇ page {page} does not fit the model's window"))
        case Noted(text=text):
            return replace(exchange, steps=(*exchange.steps, f"✎ {text}"))
        case Stopped(reason=reason):
            number = circled(1 + sum(step[0] in _CIRCLED for step in exchange.steps))
            return replace(exchange, steps=(*exchange.steps, f"{number}\u00a0{STOPPED[reason]}"))
        case AnswerDelta(text=text):
            return replace(exchange, answer=exchange.answer + text)
        case Restarted(reason=reason):
            return replace(exchange, answer="", notes=(*exchange.notes, f"Asked again: {reason}"))
        case Planned(plan=plan, starts=starts):
            return replace(exchange, steps=(*exchange.steps, f"✎ {plan}", "; ".join(starts)))
        case Reported(member=member, answer=answer) if answer:
            return replace(exchange, steps=(*exchange.steps, f"{member}: {answer}"))
        case Shared(members=(first, second), answer=answer):
            return replace(exchange, steps=(*exchange.steps, f"{first} and {second}: {answer}"))
        case Answered():
            return replace(
                exchange,
                answer=event.answer,
                citations=event.citations,
                lookups=event.lookups,
                found=event.found,
                running=False,
            )
    return exchange


def scope_of(started: Started) -> str:
    """What part of the book and of the memory the question is asked over, in words; empty when all of both."""
    said = []
    if not started.complete:
        said.append(f"Over the first {started.pages_read} of ~{started.pages_total} pages.")
    if started.told:
        said.append(at_levels(started.told))
    if started.share_shown is not None and started.share_shown < 1:
        said.append(f"{started.share_shown:.0%} of the book's text stands before the model.")
    return " ".join(said)


def exchange_blocks(exchange: Exchange, number: int) -> list[Block]:
    """The blocks of one exchange. Links: `page:N` in the answer, `citation:I` (from 0) in the list of sources."""
    blocks = [
        Block(
            exchange.question,
            key=("question", number),
            style="question",
            indent=3,
            hanging="?",
            max_width=_WIDTH,
            blank_before=1,
        )
    ]

    def add(text: str, style: str, hanging: str = "", spans: tuple[Span, ...] = ()) -> None:
        blocks.append(
            Block(
                text,
                key=("said", number),
                style=style,
                indent=3,
                hanging=hanging,
                max_width=_WIDTH,
                spans=spans,
                blank_before=0,
            )
        )

    if exchange.scope:
        add(exchange.scope, "muted")
    if exchange.steps:
        add("   ".join(exchange.steps), "step")
    for note in exchange.notes:
        add(note, "muted")
    if exchange.answer:
        add(exchange.answer.strip(), "answer", spans=page_links(exchange.answer.strip()))
    elif exchange.running:
        add("…", "muted")
    if exchange.problem:
        add(exchange.problem, "error")
    if not exchange.found and exchange.lookups:
        pages = ", ".join(map(str, exchange.lookups))
        add(f"Looked at: {'page' if len(exchange.lookups) == 1 else 'pages'} {pages}.", "muted")
    for index, citation in enumerate(exchange.citations[:9]):
        text = f"page {citation.page}  “{shortened(citation.quote)}”"
        add(text, "answer", str(index + 1), (Span(0, len(text), "link", f"citation:{index}"),))
    return blocks


def page_links(answer: str) -> tuple[Span, ...]:
    """A link for every page number in brackets."""
    return tuple(
        Span(match.start(), match.end(), "link", f"page:{match[1]}") for match in _PAGE_NUMBER.finditer(answer)
    )


def strip_lines(exchange: Exchange, lines: int = 3) -> list[str]:
    """The exchange in this many lines, for a screen with one pane: the newest counts."""
    said = [f"? {exchange.question}"]
    said += exchange.steps[-max(1, lines - 2) :] if not exchange.answer else exchange.steps[-1:]
    if exchange.answer:
        said.append(" ".join(exchange.answer.split()))
    elif exchange.problem:
        said.append(exchange.problem)
    elif exchange.scope and len(said) < lines:
        said.append(exchange.scope)
    return said[:1] + said[1:][-(lines - 1) :]


def circled(number: int) -> str:
    return _CIRCLED[number - 1] if 1 <= number <= len(_CIRCLED) else f"({number})"


def shortened(quote: str, limit: int = 90) -> str:
    """A quotation on one line, cut at a word."""
    line = " ".join(quote.split())
    return line if len(line) <= limit else line[:limit].rsplit(" ", 1)[0] + " …"
