"""Estimates how long reading, artifacts and answers take."""

import asyncio

from gistread.errors import GistreadError
from gistread.memory.artifacts import ARTIFACTS
from gistread.memory.model import GistMemory
from gistread.memory.sizes import RemainingWork, seconds_to_read, unread_memory
from gistread.readers.cost import BUILT_FIRST, LONG_S, QUICK, WHOLE_BOOK, answer_work
from gistread.readers.model_class import class_of
from gistread.readers.registry import METHODS, OWN_METHODS
from gistread.session.events import ReadingState
from gistread.session.session import Session

_MANY_TOKENS = 40_000  # Sent to a server for one question, to be confirmed before
# Pages of a book that no model on a usual machine reads within `LONG_S`
_MANY_PAGES = 10


def is_costly(
    reader: str, seconds: float | None, tokens: int, memory: GistMemory
) -> bool:
    """Whether to confirm a question first.

    `seconds`: its time, None if unknown; `tokens`: those sent to a server, 0 for a local model;
    `memory`: what it may use.
    """
    if tokens >= _MANY_TOKENS:
        return True
    if seconds is not None:
        return seconds >= LONG_S
    # Facts are extracted from the whole book before the first answer
    reads_all = reader in WHOLE_BOOK or "facts" in METHODS[reader].artifacts
    return reads_all and memory.estimated_pages >= _MANY_PAGES


async def seconds_to_answer(
    session: Session, reader: str = "", upto: int | None = None
) -> float | None:
    """Estimated time of an answer up to `upto`, including artifacts to build first.

    `reader`: by default the session's. None if unknown.
    """
    reader = reader or session.reader
    info = session.models.answering.info
    if info is None:
        return None
    if info.rates is None:
        return _seconds_at_reading_pace(session, reader, upto)
    memory = session.memory or unread_memory(session.book, info.name)
    check = await session.reading.checks.stored(info)
    works = [answer_work(reader, memory, info, upto, model=class_of(info, check))]
    built_first = BUILT_FIRST.intersection(METHODS[reader].artifacts)
    if built_first:
        remaining = await artifacts_left(session, *built_first, upto=upto)
        works += remaining.values()
    # The rates are known, and so every time: 0.0 is for the type checker.
    return sum(work.seconds(info) or 0.0 for work in works)


def _seconds_at_reading_pace(
    session: Session, reader: str, upto: int | None
) -> float | None:
    """The time of an answer over the whole text, by the pace of a model not measured yet.

    None if unknown, and for methods that read a part of it.
    """
    if reader not in WHOLE_BOOK:
        return None
    seconds = seconds_to_read_all(session)
    if seconds is None or upto is None:
        return seconds
    return seconds * upto / max(1, len(session.book.text))


async def tokens_to_send(session: Session, upto: int | None = None) -> int:
    """The tokens of a question that a server is sent; 0 for a local model."""
    info = session.models.answering.info
    if info is None or not info.is_remote:
        return 0
    memory = session.memory or unread_memory(session.book, info.name)
    check = await session.reading.checks.stored(info)
    work = answer_work(session.reader, memory, info, upto, model=class_of(info, check))
    return work.prefilled


async def find_cheaper(
    session: Session, seconds: float | None, upto: int | None
) -> tuple[str, float | None] | None:
    """The quickest reader and its time, to offer in place of one that takes `seconds`.

    None if it is not at least twice as fast, or its time is unknown. If `seconds` is unknown, the
    quickest reader without a time.
    """
    if seconds is None:
        return QUICK, None
    quick_seconds = await seconds_to_answer(session, QUICK, upto)
    if quick_seconds is None or quick_seconds >= seconds / 2:
        return None
    return QUICK, quick_seconds


def seconds_to_read_all(session: Session) -> float | None:
    """Estimated time to read the whole book with the reading model; None if that is unknown."""
    info = session.models.reading.info
    if info is None:
        return None
    return seconds_to_read(unread_memory(session.book, info.name), session.reading.pace)


async def artifacts_left(
    session: Session, *names: str, upto: int | None = None
) -> dict[str, RemainingWork]:
    """The work left for these artifacts up to `upto`, by name; default: all that a reader uses.

    Empty if it cannot be told now: no model or memory is loaded, or the model fails.
    """
    memory = session.memory
    engine = session.models.reading.engine
    is_loading = session.reading.state is ReadingState.LOADING
    if engine is None or memory is None or is_loading:
        return {}
    if upto is not None:
        memory = await asyncio.to_thread(memory.upto, upto)
    if not names:
        names = tuple(
            name for method in OWN_METHODS.values() for name in method.artifacts
        )
    remaining: dict[str, RemainingWork] = {}
    try:
        for name in names:
            if name not in remaining:
                remaining[name] = await ARTIFACTS[name].remaining(memory, engine)
    except GistreadError:
        return {}
    return remaining
