"""What reading and asking take, with the starter model: time, tokens, and what becomes of the gists."""

import asyncio
import tempfile
import time
from pathlib import Path

from gistread.book import open_book
from gistread.engine.llama.client import LlamaEngine
from gistread.engine.protocol import NO_USAGE, Message, Sampling
from gistread.memory.model import GistMemory, GistSource
from gistread.memory.reading import Gisted, read_book
from gistread.memory.sizes import choose_size
from gistread.memory.store import MemoryStore
from gistread.readers.events import AnswerDelta, Answered, LookedUp, Steering
from gistread.readers.options import ReaderOptions
from gistread.readers.registry import DEFAULT_READER, READERS
from gistread.sample import story_path
from tests.benchmarks.figures import Figures
from tests.models import starter_path


def measure(figures: Figures) -> None:
    model = starter_path()
    if model is not None:
        asyncio.run(_measure(figures, model))


async def _measure(figures: Figures, model: Path) -> None:
    engine = LlamaEngine(model)
    started = time.perf_counter()
    info = await engine.start()
    figures.add("starter model loaded", time.perf_counter() - started, "s")
    await _rates(figures, engine)
    book = open_book(story_path())
    with (
        tempfile.TemporaryDirectory() as folder,
        MemoryStore(Path(folder)).open(
            book, info.name, info.fingerprint, choose_size(book.words, info.context_tokens)
        ) as kept,
    ):
        started = time.perf_counter()
        usage = NO_USAGE
        async for event in read_book(kept, engine):
            if isinstance(event, Gisted):
                usage += event.entry.usage
        seconds = time.perf_counter() - started
        entries = kept.memory.entries
        extractive = sum(entry.gist.source is GistSource.EXTRACTIVE for entry in entries)
        book_tokens = await engine.count(book.text)
        figures.add("the sample read", seconds, "s")
        figures.add("words of the book read", book.words / seconds, "a second")
        figures.add("pages", len(entries))
        figures.add("gists that are sentences of the page", extractive)
        figures.add("compression rate", kept.memory.compression_rate(), "%")
        figures.add("tokens prefilled for a token of the book", usage.prefilled / book_tokens)
        figures.add("tokens decoded for a token of the book", usage.generated / book_tokens)
        for which in ("first", "second"):
            await _ask(figures, which, kept.memory, engine)
    await engine.close()


async def _rates(figures: Figures, engine: LlamaEngine) -> None:
    prompt = (Message("user", "It was a long way to the sea, and nobody had told them of the hills. " * 60),)
    usage = (await engine.complete(prompt, Sampling(max_tokens=1))).usage
    figures.add("prefill of 1,000 tokens", usage.prefilled / usage.seconds, "tokens a second")
    usage = (await engine.complete(prompt, Sampling(max_tokens=64))).usage
    figures.add("decode", usage.generated / usage.seconds, "tokens a second")


async def _ask(figures: Figures, which: str, memory: GistMemory, engine: LlamaEngine) -> None:
    started = time.perf_counter()
    first: dict[type, float] = {}
    reader = READERS[DEFAULT_READER]
    async for event in reader("What does Mrs Setchell live in?", memory, engine, Steering(), ReaderOptions()):
        first.setdefault(type(event), time.perf_counter() - started)
        if isinstance(event, Answered):
            figures.add(f"{which} question, tokens prefilled", event.usage.prefilled)
            figures.add(f"{which} question, tokens reused", event.usage.reused)
    for kind, what in ((LookedUp, "first look-up"), (AnswerDelta, "first word"), (Answered, "answered")):
        if kind in first:
            figures.add(f"{which} question, {what} after", first[kind], "s")
