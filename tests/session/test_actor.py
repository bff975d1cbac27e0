"""The session's loop: commands and jobs one after another, whatever fails."""

import asyncio
from collections.abc import AsyncIterator

import pytest_asyncio

from gistread.session.machine import Actor, Job


class Work:
    """Jobs that say when they begin and end, and run until they are stopped."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.due: frozenset[Job] = frozenset()
        self.crashes: list[Exception] = []
        self.job_ended = asyncio.Event()
        jobs = {job: lambda job=job: self._run(job) for job in Job}
        self.actor = Actor(jobs, lambda: self.due, self._ended, self.crashes.append)

    async def _run(self, job: Job) -> None:
        self.log.append(f"{job} begins")
        try:
            if job is Job.CHECK:
                raise ValueError
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            self.log.append(f"{job} ends")

    def _ended(self, job: Job, error: Exception | None) -> None:
        self.due -= {job}
        self.log.append(f"{job}: {type(error).__name__}")
        self.job_ended.set()

    async def want(self, *jobs: Job) -> None:
        await self.actor.do(lambda: setattr(self, "due", frozenset(jobs)))
        await asyncio.sleep(0)


@pytest_asyncio.fixture
async def work() -> AsyncIterator[Work]:
    work = Work()
    yield work
    await work.want()
    await work.actor.close()


async def test_a_failed_job_is_reported_and_not_restarted(work: Work) -> None:
    await work.want(Job.CHECK)
    await work.job_ended.wait()
    assert work.log == ["check begins", "check ends", "check: ValueError"]


async def test_commands_never_overlap_even_if_their_callers_are_gone(
    work: Work,
) -> None:
    order: list[str] = []

    async def command(name: str) -> None:
        order.append(f"{name} begins")
        await asyncio.sleep(0)
        order.append(f"{name} ends")

    first = asyncio.create_task(work.actor.do(lambda: command("first")))
    await asyncio.sleep(0)
    second = asyncio.create_task(work.actor.do(lambda: command("second")))
    first.cancel()
    await second
    assert order == ["first begins", "first ends", "second begins", "second ends"]
