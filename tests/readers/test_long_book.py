"""War and Peace in a small window.

Every page told, nothing cut, the window kept to, and cheaply.
"""

from itertools import chain

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
from gistread.memory.pagination import find_passage
from gistread.readers.answering import Asking, ReaderOptions
from gistread.readers.events import Answered, ReaderEvent, Started
from gistread.readers.steering import Steering
from gistread.search.ranked import Ranker
from gistread.words import count_words
from tests.book.data import needs_books, text_book
from tests.fake_engine import FakeEngine
from tests.readers.all_readers import METHODS
from tests.readers.test_window import pages_told

QUESTION = "How does Prince Andrew die?"

pytestmark = [needs_books, pytest.mark.slow]


@pytest.fixture(scope="module")
def memory() -> GistMemory:
    """Of pages as long as they may be, each shortened to its beginning."""
    book = open_book(text_book("War-and-Peace"))
    memory = GistMemory(book, PageSize(600, 1000), "fake")
    at = 0
    while at < len(book.text):
        end = find_passage(book, at, memory.size).end
        words = book.text[at:end].split()
        gist = " ".join(words[:80])
        page = Page(len(memory.entries) + 1, at, end, count_words(book.text[at:end]))
        memory.entries.append(
            MemoryEntry(page, Gist(gist, count_words(gist), GistSource.MODEL))
        )
        at = end
    return memory


async def ask(memory: GistMemory, engine: FakeEngine, reader: str) -> list[ReaderEvent]:
    answer = METHODS[reader].reader()(
        Asking(QUESTION, memory, engine, Steering(), ReaderOptions())
    )
    return [event async for event in answer]


@pytest.mark.parametrize("reader", ["readagent-s", "readagent-p", "gists"])
async def test_every_page_is_covered_in_a_window_of_8k(
    memory: GistMemory, reader: str
) -> None:
    engine = FakeEngine(context_tokens=8192)
    events = await ask(memory, engine, reader)
    started, answered = events[0], events[-1]
    assert isinstance(started, Started)
    assert isinstance(answered, Answered)
    segments = [range(segment.first, segment.last + 1) for segment in started.told]
    pages = list(range(1, len(memory.entries) + 1))
    assert list(chain.from_iterable(segments)) == pages
    # the fake refuses a prompt that is larger than its window
    for call in engine.calls:
        assert sorted(set(pages_told(call.text))) == pages
    assert engine.counted < 200
    near = {segment.first for segment in started.told if not segment.level}
    documents = [
        f"{entry.gist.text}\n{memory.text_of(entry.page)}" for entry in memory.entries
    ]
    (nearest,) = Ranker(documents, memory.book.language).top(QUESTION, 1)
    assert nearest + 1 in near


async def test_the_same_question_over_the_same_memory_gives_the_same_prompt(
    memory: GistMemory,
) -> None:
    first, again = FakeEngine(context_tokens=8192), FakeEngine(context_tokens=8192)
    await ask(memory, first, "gists")
    await ask(memory, again, "gists")
    assert [call.text for call in first.calls] == [call.text for call in again.calls]
