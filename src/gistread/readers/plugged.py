"""A reader of another package, whose faults end one question with one line."""

from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from typing import Any

from gistread.errors import GistreadError
from gistread.plugins import Plugin
from gistread.readers.answering import Asking, Reader
from gistread.readers.events import Answered, ReaderEvent, ReaderEvents


def _check(event: object) -> None:
    """Raise TypeError for what is no event, and for an answer that is no text."""
    if not isinstance(event, ReaderEvent):
        raise TypeError(f"{event!r} is no event of a reader")
    if isinstance(event, Answered) and not isinstance(event.answer, str):
        raise TypeError(f"{event.answer!r} is no answer")


def guarded(plugin: Plugin, function: Callable[[Asking], Any]) -> Reader:
    """The reader, whose exceptions, invalid events and missing answers become a PluginError."""

    async def read(asking: Asking) -> ReaderEvents:
        has_answered = False
        try:
            stream = function(asking)
            if not isinstance(stream, AsyncGenerator):
                if isinstance(stream, Coroutine):
                    stream.close()
                raise TypeError("it is no async generator")
            async with aclosing(stream):
                async for event in stream:
                    _check(event)
                    has_answered = isinstance(event, Answered)
                    yield event
        except GistreadError:
            raise
        except (Exception, SystemExit) as error:
            raise plugin.failure("failed", error) from error
        if not has_answered:
            raise plugin.failure("ended without an answer")

    return read
