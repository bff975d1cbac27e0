"""Estimates how long an answer takes."""

from gistread.memory.model import GistMemory
from gistread.memory.sizes import unread_memory
from gistread.readers.cost import BUILT_FIRST, LONG_S, QUICK, WHOLE_BOOK, answer_work
from gistread.readers.registry import METHODS
from gistread.session.session import Session

_MANY_PAGES = 10  # Pages of a book that no model on a usual machine reads within `LONG_S`


def is_long(reader: str, seconds: float | None, memory: GistMemory) -> bool:
    """Whether to confirm a question first. `seconds`: its time, None if unknown; `memory`: what it may use."""
    if seconds is not None:
        return seconds >= LONG_S
    reads_all = reader in WHOLE_BOOK or "facts" in METHODS[reader].artifacts
    return reads_all and memory.estimated_pages >= _MANY_PAGES


async def seconds_to_answer(session: Session, reader: str = "", upto: int | None = None) -> float | None:
    """Estimated time of an answer up to `upto`, including artifacts to build first; None if unknown."""
    reader, info = reader or session.reader, session.asking_info
    if info is None or info.rates is None:  # Before the model is measured, use its reading pace.
        return session.seconds_to_read() if info is not None and reader in WHOLE_BOOK else None
    memory = session.memory or unread_memory(session.book, info.name)
    built = BUILT_FIRST.intersection(METHODS[reader].artifacts)
    left = (await session.artifacts_left(*built)).values() if built else ()
    check = await session.check_result()
    own = answer_work(reader, memory, info, upto, is_reliable=check is None or check.is_reliable)
    return sum(work.seconds(info) or 0.0 for work in (*left, own))


async def find_cheaper(session: Session, seconds: float | None, upto: int | None) -> tuple[str, float | None] | None:
    """The quickest reader and its time, if it takes less than half of `seconds` or both times are unknown."""
    if seconds is None:
        return QUICK[0], None
    times = {name: await seconds_to_answer(session, name, upto) for name in QUICK}
    known = [(name, time) for name, time in times.items() if time is not None and time < seconds / 2]
    return min(known, key=lambda one: one[1], default=None)
