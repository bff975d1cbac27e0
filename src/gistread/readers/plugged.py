"""A reader of another package, whose faults end one question with one line."""

from collections.abc import Callable
from contextlib import aclosing
from typing import Any

from gistread.errors import GistreadError
from gistread.plugins import Plugin
from gistread.readers.answering import Asking, Reader
from gistread.readers.events import Answered, ReaderEvent, ReaderEvents


def guarded(plugin: Plugin, function: Callable[[Asking], Any]) -> Reader:
    """The reader; what it raises, yields wrongly or leaves out is a PluginError."""

    async def read(asking: Asking) -> ReaderEvents:
        has_answered = False
        try:
            async with aclosing(function(asking)) as stream:
                async for event in stream:
                    if not isinstance(event, ReaderEvent):
                        raise TypeError(f"{event!r} is no event of a reader")
                    has_answered = isinstance(event, Answered)
                    yield event
        except GistreadError:
            raise
        except Exception as error:
            raise plugin.failure("failed", error) from error
        if not has_answered:
            raise plugin.failure("ended without an answer")

    return read
