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
from gistread.paths import default_paths
from gistread.session.session import Session
from tests.reliability.faults import Home
from tests.tiny_gguf import write_tiny_gguf

_CONFIG = Config(min_words=60, max_words=200)
_READ_WITHIN_S = 300.0


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
    done = missing = 0
    async with Session(
        open_book(home.book), str(model), config=_CONFIG, paths=default_paths(), background=True
    ) as session:
        seen: set[int] = set()

        async def kill() -> None:
            nonlocal done
            while done < kills:
                await asyncio.sleep(chance.uniform(0.05, 1.5))
                for _ in range(chance.choice((1, 1, 2))):
                    for process in psutil.Process().children():
                        with suppress(psutil.Error):
                            process.kill()
                            done += 1
                    await asyncio.sleep(chance.uniform(0.0, 0.8))

        killing = asyncio.create_task(kill())
        async with asyncio.timeout(_READ_WITHIN_S):
            while session.memory is None or not session.memory.complete:
                with suppress(GistreadError):
                    await session.ask("Who counted the stairs?", reader="bm25")
                session.resume()  # Also after two kills in one request, which end the reading
                await asyncio.sleep(chance.uniform(0.0, 0.5))
                now = {start for start, _, _ in await asyncio.to_thread(home.pages)}
                missing, seen = missing + len(seen - now), now
        killing.cancel()
        await asyncio.gather(killing, return_exceptions=True)
        return done, len(session.memory.entries), missing
