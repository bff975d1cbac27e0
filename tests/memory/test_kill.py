"""A reading killed at random moments (SIGKILL) and resumed."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gistread.memory.model import PageSize
from gistread.store import journal
from tests.memory.books import prose

CHAPTERS = [[prose(60, seed=20 * c + i) for i in range(12)] for c in range(4)]
SIZE = PageSize(60, 150)

READER = """
import asyncio, sys
from pathlib import Path
from gistread.memory.reading import read_book
from gistread.memory.store import MemoryRequest, MemoryStore
from tests.fake_engine import FakeEngine
from tests.memory.books import make_book
from tests.memory.test_kill import CHAPTERS, SIZE

class Slow(FakeEngine):
    async def complete(self, *args):
        await asyncio.sleep(0.02)
        return await super().complete(*args)

async def main():
    engine = Slow(
        says=lambda prompt: " ".join(prompt.removeprefix("Passage:\\n\\n").split()[:20]),
        chooses=lambda prompt, options: len(prompt) % len(options),
    )
    store = MemoryStore(Path(sys.argv[1]))
    with store.open(make_book(*CHAPTERS), MemoryRequest("fake", "f", SIZE)) as writer:
        print("open", flush=True)
        async for event in read_book(writer, engine):
            print(event.__class__.__name__, flush=True)

asyncio.run(main())
"""


def start(directory: Path) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", READER, str(directory)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    return process


def read_pages(directory: Path) -> list[journal.Record]:
    """The records of the pages, without what they cost.

    That depends on what the engine remembered.
    """
    (path,) = directory.glob("*.memory")
    return [{**record, "usage": None} for record in journal.read_records(path)[0][1:]]


@pytest.mark.slow
def test_twenty_kills_end_with_the_same_pages_without_repeats(tmp_path: Path) -> None:
    whole = start(tmp_path / "whole")
    assert whole.wait(timeout=60) == 0
    pages = read_pages(tmp_path / "whole")
    moments = random.Random(7)
    kept = 0
    for _ in range(20):
        process = start(tmp_path / "killed")
        time.sleep(moments.uniform(0, 0.1))
        process.send_signal(signal.SIGKILL)
        words_of_output = process.communicate(timeout=60)[0].split()
        now = read_pages(tmp_path / "killed")
        assert now == pages[: len(now)]
        made = len(now) - kept
        # What was said is at most one event behind what was kept: no page was made and lost, none
        # made again.
        assert made - 1 <= words_of_output.count("PageRead") <= made
        kept = len(now)
    assert start(tmp_path / "killed").wait(timeout=60) == 0
    assert read_pages(tmp_path / "killed") == pages
