"""The model's process killed in a session as the screen has it: while it loads, reads and answers, also twice."""

import asyncio
import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from gistread.book.open import open_book
from gistread.config import Config
from gistread.errors import GistreadError
from gistread.session.events import SessionEvent
from gistread.session.session import Session
from tests.reliability.faults import Home
from tests.tiny_gguf import write_tiny_gguf

_CONFIG = Config(min_words=60, max_words=200)
_AT_ONCE, _AGAIN = 0.03, 0.3  # How likely a kill is at an event, and at one of the next
_EAGER_EVENTS = 6


def rows(folder: Path, kills: int) -> Iterator[tuple[str, ...]]:
    """Kills, pages lost and doubled."""
    home = Home(folder)
    model = write_tiny_gguf(folder / "tiny.gguf", brief=True)
    chance = random.Random(5)
    done = lost = doubled = 0
    while done < kills:
        home.forget()
        killed, read, missing = asyncio.run(_read(home, model, chance, kills - done))
        starts = [start for start, _, _ in home.pages()]
        done, lost = done + killed, lost + missing + (read - len(starts))
        doubled += len(starts) - len(set(starts))
    yield "SIGKILL of the model's process, in a session", str(done), str(lost), str(doubled), ""


async def _read(home: Home, model: Path, chance: random.Random, kills: int) -> tuple[int, int, int]:
    """Read a book to its end, asking and killing: kills, pages at the end, and pages that were there and went."""
    done = missing = eager = 0

    def on_event(event: SessionEvent) -> None:
        """Kill at some events; then often again, while the new process loads or repeats the request."""
        nonlocal done, eager
        eager -= 1
        if done < kills and chance.random() < (_AGAIN if eager > 0 else _AT_ONCE):
            eager = _EAGER_EVENTS * (eager <= 0)
            for process in psutil.Process().children():
                with suppress(psutil.Error):
                    process.kill()
                    done += 1

    book, seen = open_book(home.book), set[int]()
    async with Session(book, str(model), config=_CONFIG, background=True, listener=on_event) as session:
        while session.memory is None or not session.memory.complete:
            with suppress(GistreadError):
                await session.ask("Who counted the stairs?", reader="bm25")
            session.resume()  # Also after two kills in one request, which end the reading
            await asyncio.sleep(chance.uniform(0.0, 0.5))
            now = {start for start, _, _ in await asyncio.to_thread(home.pages)}
            missing, seen = missing + len(seen - now), now
        return done, len(session.memory.entries), missing
