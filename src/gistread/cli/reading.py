"""The model reads a book to its end, with progress on standard error. Shared by `index` and `ask --index`."""

import asyncio
import contextlib
import shlex

from gistread.cli import json_output
from gistread.cli.interrupt import InterruptError
from gistread.cli.output import write_json
from gistread.cli.progress import ProgressLine, at_work, reading_line
from gistread.engine.protocol import Engine
from gistread.errors import GistreadError
from gistread.memory.estimate import estimate, expected_pace, pace_of
from gistread.memory.reading import Finished, PageGisted, Resumed, read_book
from gistread.memory.sizes import measure_tokens_per_word
from gistread.memory.writer import MemoryWriter
from gistread.readers.lookups import prepare
from gistread.units import format_duration


async def read_to_end(kept: MemoryWriter, engine: Engine, line: ProgressLine, book: str, *, events: bool) -> int:
    """Read what is left and return how many pages were there already.

    `book` is as it was typed; with `events` each goes to standard output. Raises InterruptError on cancellation:
    pages are kept as they are made.
    """
    memory = kept.memory
    notice = kept.notice
    resumed_pages = 0
    expected = expected_pace(engine.info, memory.method.mode, await measure_tokens_per_word(memory.book, engine))
    left_s = estimate(memory, pace_of(memory, expected)).seconds_left
    if left_s:
        left = " left" if memory.entries else ""
        line.say(f"{memory.book.title}: about {format_duration(left_s)}{left} with {at_work(engine.info)}.")
        line.say(f"It is read {memory.focus.description}.")
    unwatch = engine.watch(lambda state: line.show(reading_line(memory, state, left_s)))
    try:
        async for event in read_book(kept, engine):
            match event:
                case Resumed(pages=pages):
                    resumed_pages = pages
                case PageGisted():
                    left_s = estimate(memory, pace_of(memory, expected)).seconds_left
            if kept.notice != notice:
                notice = kept.notice
                line.say(f"Note: {notice}")
            line.show(reading_line(memory, engine.state, left_s))
            if isinstance(event, Finished):
                with contextlib.suppress(GistreadError):  # Then the first question takes its time.
                    await prepare(memory, engine)
            if events and (shape := json_output.reading_line(event)):
                write_json(shape)
    except asyncio.CancelledError:
        task = f" --task {shlex.quote(memory.focus.task)}" if memory.focus.task else ""
        kept_pages = "every page is kept" if kept.is_saved else "its pages could not be kept"
        raise InterruptError(
            f"Stopped after page {len(memory.entries)} of about {memory.estimated_pages}; {kept_pages}.",
            f"`gistread index {shlex.quote(book)}{task}` goes on from there.",
        ) from None
    finally:
        unwatch()
        line.clear()
    return resumed_pages
