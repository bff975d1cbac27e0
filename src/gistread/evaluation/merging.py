"""Merges the events of concurrent tasks into one stream. A task that emits an event waits until it is consumed."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TypeVar

Event = TypeVar("Event")

Tell = Callable[[Event], Awaitable[None]]


async def merged(work: Callable[[Tell[Event]], Awaitable[None]]) -> AsyncGenerator[Event]:
    """The events that `work` emits. Raises its first error; closing the stream cancels it."""
    told: asyncio.Queue[tuple[Event, asyncio.Future[None]] | None] = asyncio.Queue()

    async def tell(event: Event) -> None:
        taken = asyncio.get_running_loop().create_future()
        told.put_nowait((event, taken))
        await taken

    task = asyncio.ensure_future(work(tell))
    task.add_done_callback(lambda _: told.put_nowait(None))
    try:
        while (next_event := await told.get()) is not None:
            event, taken = next_event
            yield event
            if not taken.done():
                taken.set_result(None)
        await task
    except BaseExceptionGroup as group:
        first: BaseException = group
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise first from None
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
