"""Concurrent requests follow throughput, and interactive ones go first."""

import asyncio
from pathlib import Path

import pytest

from gistread.engine.concurrency_limit import ConcurrencyLimit
from gistread.engine.protocol import Message, Priority, Prompt, Sampling
from gistread.engine.remote.concurrency import AdaptiveLimit, RequestSlots
from gistread.engine.remote.failures import ServerLostError
from gistread.memory.model import PageSize, ReadingMethod, ReadingMode
from gistread.memory.reading import read_book
from gistread.memory.store import MemoryRequest, MemoryStore
from tests.engine.remote.conftest import Connect, until
from tests.engine.remote.server import Asked, Kind, Server
from tests.fake_engine import FakeEngine
from tests.memory.books import make_book, prose

LLAMA = {"/props": {"default_generation_settings": {"n_ctx": 4096}, "total_slots": 2}}


def said(text: str) -> Prompt:
    return (Message("user", text),)


async def test_concurrent_requests_stay_within_the_limit(connect: Connect) -> None:
    async with Server(seconds=0.05) as server:
        engine = connect(server.url, connections=3)
        await engine.start()
        server.most_running = 0
        await asyncio.gather(*(engine.complete(said(f"Say {i}."), priority=Priority.BACKGROUND) for i in range(24)))
        assert server.most_running == 3
        assert engine.info.parallel == 3


async def test_the_limit_grows_while_throughput_grows(connect: Connect) -> None:
    async with Server(seconds=0.05) as server:
        engine = connect(server.url)
        assert (await engine.start()).parallel == 4
        await asyncio.gather(*(engine.complete(said(f"Say {i}."), priority=Priority.BACKGROUND) for i in range(40)))
        assert server.most_running >= 8
        assert engine.info.parallel >= 8


async def test_an_overloaded_server_gets_fewer_requests(connect: Connect) -> None:
    async with Server(seconds=0.02) as server:
        engine = connect(server.url)
        await engine.start()
        server.slots = 2
        answers = [engine.complete(said(f"Say {i}."), priority=Priority.BACKGROUND) for i in range(12)]
        assert len(await asyncio.gather(*answers)) == 12
        assert engine.info.parallel <= 2


async def test_the_limit_is_at_most_the_reported_slots(connect: Connect) -> None:
    async with Server(Kind("llamacpp", obeys=("grammar",), pages=LLAMA), seconds=0.02) as server:
        engine = connect(server.url)
        await engine.start()
        await asyncio.gather(*(engine.complete(said(f"Say {i}."), priority=Priority.BACKGROUND) for i in range(12)))
        assert server.most_running == 2


async def test_requests_that_share_one_window_are_never_more_than_fit_it(connect: Connect) -> None:
    """llama-server without `-np`: four slots, each with the whole window, and when it is full all of them fail."""
    props = {"default_generation_settings": {"n_ctx": 1000}, "total_slots": 4}
    async with Server(Kind("llamacpp", obeys=("grammar",), pages={"/props": props}), seconds=0.05) as server:
        engine = connect(server.url)
        await engine.start()
        server.window = 1000
        long = [engine.complete(said("word " * 400), Sampling(100), Priority.BACKGROUND) for _ in range(6)]
        answers = await asyncio.gather(*long)
        assert all(answer.text for answer in answers)
        assert server.crowded <= 4  # Of what was at work when it was found out; none since.
        server.most_running = server.crowded = 0
        short = [engine.complete(said(f"Say {i}."), Sampling(20), Priority.BACKGROUND) for i in range(20)]
        await asyncio.gather(*short, engine.complete(said("word " * 600), Sampling(100)))
        assert server.most_running >= 2
        assert server.crowded == 0


async def test_an_interactive_request_preempts_enough_of_a_shared_window() -> None:
    places = RequestSlots(AdaptiveLimit(4, 4), has_slots=True, window=1000)
    gone: list[int] = []

    async def work(number: int) -> None:
        async with places.slot(Priority.BACKGROUND, 300) as place:
            await place.preempted.wait()
        gone.append(number)

    with pytest.raises(ServerLostError):
        async with places.slot(Priority.BACKGROUND, 300):
            raise ServerLostError("failed", said="Context size has been exceeded.")
    running = [asyncio.create_task(work(number)) for number in range(3)]
    await asyncio.sleep(0)
    async with asyncio.timeout(1), places.slot(Priority.INTERACTIVE, 700):
        assert gone == [2, 1]
        assert places.limit == 4
    running[0].cancel()


async def test_an_interactive_request_preempts_a_background_request(connect: Connect) -> None:
    def says(asked: Asked) -> str:
        return "one SLOWLY two" if "slow" in asked.text and not freed.is_set() else "At once."

    freed = asyncio.Event()
    async with Server(Kind("llamacpp", obeys=("grammar",), pages=LLAMA), says) as server:
        engine = connect(server.url)
        await engine.start()
        background = [
            asyncio.ensure_future(engine.complete(said(f"Be slow {i}."), priority=Priority.BACKGROUND))
            for i in range(3)
        ]
        await until(lambda: server.running == 2)
        assert (await engine.complete(said("Quick!"))).text == "At once."
        assert "closed" in [one.ended for one in server.asked]
        freed.set()
        for one in background:
            one.cancel()
        await asyncio.gather(*background, return_exceptions=True)


async def test_an_interactive_request_goes_before_waiting_background_requests() -> None:
    places = RequestSlots(AdaptiveLimit(1, 1), has_slots=False)
    order: list[str] = []

    async def work(name: str, priority: Priority) -> None:
        async with places.slot(priority):
            order.append(name)
            await asyncio.sleep(0.01)

    running = [asyncio.create_task(work(f"background {i}", Priority.BACKGROUND)) for i in range(3)]
    await asyncio.sleep(0)
    await asyncio.gather(work("person", Priority.INTERACTIVE), *running)
    assert order == ["background 0", "person", "background 1", "background 2"]


async def test_the_slot_of_a_cancelled_waiter_goes_to_the_next() -> None:
    places = RequestSlots(AdaptiveLimit(1, 1), has_slots=True)
    async with places.slot(Priority.BACKGROUND):
        waiting = [asyncio.create_task(places._take(Priority.BACKGROUND)) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.sleep(0)
    waiting[1].cancel()  # Its turn has come, and it does not know yet.
    await asyncio.wait_for(waiting[2], 1)


def simulate(capacity: int, first: int = 4, most: int = 64, requests: int = 3000) -> list[int]:
    """The limits over time on a server that handles `capacity` requests at once, each request taking a second."""
    growth = AdaptiveLimit(first, most)
    now, limits = 0.0, []
    for _ in range(requests):
        growth.set_running(growth.limit, now)
        now += 1.0 / min(growth.limit, capacity)
        growth.done(1.0, now)
        limits.append(growth.limit)
    return limits


@pytest.mark.parametrize("capacity", [1, 2, 8, 30])
def test_the_limit_settles_near_what_the_server_can_do(capacity: int) -> None:
    limits = simulate(capacity)[500:]
    usual = sorted(limits)[len(limits) // 2]
    assert max(capacity, 4) <= usual <= max(4, 2 * capacity)


def test_the_limit_is_not_changed_at_low_load() -> None:
    growth = AdaptiveLimit(8, 64)
    for second in range(1000):
        growth.set_running(1, float(second))
        growth.done(1.0, second + 0.9)
    assert growth.limit == 8


def test_a_refusal_halves_the_limit() -> None:
    growth = AdaptiveLimit(16, 64)
    growth.back_off(1.0)
    assert growth.limit == 8
    for _ in range(5):
        growth.back_off(2.0)
    assert growth.limit == 1


async def test_the_concurrency_limit_follows_the_engine() -> None:
    engine = FakeEngine(parallel=1)
    places = ConcurrencyLimit(engine)
    running = most = 0

    async def work(number: int) -> None:
        nonlocal running, most
        async with places:
            running += 1
            most = max(most, running)
            if number == 3:
                engine._info = FakeEngine(parallel=4).info
            await asyncio.sleep(0.001)
            running -= 1

    await asyncio.gather(*(work(number) for number in range(20)))
    assert most == 4


async def test_a_place_freed_while_those_who_wait_for_it_are_cancelled_goes_to_the_next() -> None:
    places = ConcurrencyLimit(FakeEngine(parallel=1))
    await places.acquire()
    first, second = (asyncio.create_task(places.acquire()) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    places.release()
    await second
    assert (await asyncio.gather(first, return_exceptions=True))[0].__class__ is asyncio.CancelledError
    places.release()
    await places.acquire()


async def index(connect: Connect, server: Server, folder: Path, connections: int, book: object) -> None:
    engine = connect(server.url, connections=connections)
    info = await engine.start()
    with MemoryStore(folder).open(
        book, MemoryRequest(info.name, info.fingerprint, PageSize(100, 300), ReadingMethod(ReadingMode.SINGLE_PASS))
    ) as kept:  # type: ignore[arg-type]
        async for _ in read_book(kept, engine):
            pass
        assert kept.memory.complete


async def test_chapters_read_in_parallel_give_the_same_memory(connect: Connect, tmp_path: Path) -> None:
    book = make_book(*([f"# {n}", *(prose(60, seed=10 * n + i) for i in range(8))] for n in range(6)))
    asked: list[set[str]] = []
    for connections in (1, 8):
        async with Server(Kind(entry={"max_model_len": 4096}), seconds=0.03) as server:
            await index(connect, server, tmp_path / str(connections), connections, book)
            assert server.most_running >= min(connections, 4)
            assert server.most_running <= connections
            asked.append({one.text for one in server.asked})
    assert asked[0] == asked[1]


async def test_a_page_is_shortened_while_the_next_is_found(connect: Connect, tmp_path: Path) -> None:
    book = make_book(["# One", *(prose(60, seed=i) for i in range(16))])
    async with Server(seconds=0.02) as server:
        await index(connect, server, tmp_path, 8, book)
        assert server.most_running >= 2
