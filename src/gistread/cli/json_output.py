"""The JSON of `index`, `ask`, `pages` and `--events`, for other programs.

Offsets are in the normalised text.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

from gistread.cli.output import Json
from gistread.engine.protocol import NO_USAGE, EngineInfo, Usage
from gistread.memory.model import GistFocus, GistMemory, GistSource, MemoryEntry, Page
from gistread.memory.store import MemoryHeader
from gistread.readers import events
from gistread.session.events import PageFound, PageRead, ReadingEvent, ReadingStarted
from gistread.units import fields, iso_time


def index_document(
    memory: GistMemory, info: EngineInfo, *, resumed_pages: int, book_tokens: int
) -> Json:
    """What `index --json` prints.

    `usage` covers the whole memory, including pages of earlier runs.
    """
    book = {
        **fields(memory.book, "sha256", "title", "words"),
        "paragraphs": len(memory.book.paragraphs),
    }
    usage = sum((entry.usage for entry in memory.entries), NO_USAGE)
    sources = [entry.gist.source for entry in memory.entries]
    return {
        "book": book,
        "model": fields(info, "name", "fingerprint"),
        **_focus(memory.focus),
        "pages": len(memory.read_entries),
        "gist_words": memory.gist_words,
        "compression_rate": round(memory.compression_rate(), 2),
        "extractive_gists": sources.count(GistSource.EXTRACTIVE),
        "resumed_pages": resumed_pages,
        "usage": {"book_tokens": book_tokens, **usage_document(usage)},
    }


def ask_document(
    reader: str,
    model: EngineInfo,
    memory: GistMemory,
    steps: Sequence[Json],
    answered: events.Answered,
) -> Json:
    """What `ask --json` prints. `model`: the one that answered. `steps`: from `step_document`."""
    is_cut = memory.bound_share < 1
    return {
        "answer": answered.answer,
        "choice": answered.choice,
        "found": answered.found,
        "finish": answered.finish,
        "quoted": answered.quoted,
        "lookups": answered.lookups,
        "context_tokens": answered.context_tokens,
        "seen": answered.seen,
        "marks": [asdict(mark) for mark in answered.marks],
        "citations": [asdict(citation) for citation in answered.citations],
        "steps": steps,
        "compression_rate": round(answered.compression_rate, 2),
        "upto": len(memory.book.text) if is_cut else None,
        "reader": reader,
        "model": fields(model, "name", "fingerprint"),
        "memory": _memory(memory) if memory.entries else None,
        "usage": usage_document(answered.usage),
    }


def _memory(memory: GistMemory) -> Json:
    return {"model": {"name": memory.model_name}, **_focus(memory.focus)}


# The action of each event that is a step.
_ACTIONS: Mapping[type, str] = {
    events.Walked: "walk",
    events.TurnedBack: "turn_back",
    events.Shown: "show",
    events.Planned: "plan",
    events.Visited: "visit",
    events.MembersAsked: "ask_members",
    events.Reported: "report",
    events.Agreed: "agree",
    events.Shared: "share",
    events.LookedUp: "look_up",
    events.Refused: "refuse",
    events.Unfit: "unfit",
    events.Noted: "note",
    events.Stopped: "stop",
}


def step_document(event: events.ReaderEvent) -> Json | None:
    """The step of an answer; None if the event is no step."""
    action = _ACTIONS.get(type(event))
    if isinstance(event, events.Expanded) and event.by is events.OpenedBy.PERSON:
        action = "expand"
    if not action:
        return None
    return {"action": action, **asdict(event)}


def pages_document(memory: GistMemory, fingerprint: str, ahead: Iterable[Page]) -> Json:
    """What `pages --json` prints: the pages that the model has read.

    `memory`: up to the bound. `ahead`: the pages after it, which are listed without their gists.
    """
    pages: list[Json] = []
    for entry in memory.read_entries:
        chapter = memory.book.chapter_title(entry.page.start)
        pages.append({**_entry(entry), "chapter": chapter})
    return {
        "model": {"name": memory.model_name, "fingerprint": fingerprint},
        **_focus(memory.focus),
        "pages": pages,
        "pages_ahead": [_page(page) for page in ahead],
    }


def memories_document(headers: Iterable[MemoryHeader]) -> Json:
    """What `memory list BOOK --json` prints."""
    return {"memories": [_header(header) for header in headers]}


def _header(header: MemoryHeader) -> Json:
    return {
        "model": {"name": header.model_name, "fingerprint": header.fingerprint},
        "reading": header.mode,
        **fields(header.size, "min_words", "max_words"),
        **_focus(header.focus),
        **fields(header, "pages", "read_until", "complete"),
        "used_at": iso_time(header.modified_s),
    }


def _focus(focus: GistFocus) -> Json:
    return {"preset": focus.preset.name, "task": focus.task or None}


def reading_document(event: ReadingEvent) -> Json | None:
    """An event of reading as JSON; None if it is not reported."""
    match event:
        case ReadingStarted(pages=pages) if pages:
            return {"event": "resumed", "pages": pages}
        case PageFound(page=page):
            return {"event": "page_found", **_page(page)}
        case PageRead(entry=entry, retries=retries):
            return {
                "event": "gisted",
                **_entry(entry),
                "retries": retries,
                "usage": usage_document(entry.usage),
            }
    return None


def reader_document(event: events.ReaderEvent) -> Json:
    """An event of a reader as `ask --events` prints it."""
    class_name = type(event).__name__
    # `LookedUp` becomes `looked_up`.
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", class_name).lower()
    return {"event": name, **asdict(event)}


def _page(page: Page) -> Json:
    return {
        "page": page.number,
        "start": page.start,
        "end": page.end,
        "words": page.words,
    }


def _entry(entry: MemoryEntry) -> Json:
    return {**_page(entry.page), "gist": entry.gist.text, "source": entry.gist.source}


def usage_document(usage: Usage) -> Json:
    return {**asdict(usage), "seconds": round(usage.seconds, 3)}
