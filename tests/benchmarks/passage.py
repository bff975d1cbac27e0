"""From the key to the first word of an explanation of a selected paragraph, with the reader that the screen uses."""

import time
from collections.abc import AsyncIterator

from gistread.book.open import open_book
from gistread.engine.protocol import Engine
from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage
from gistread.memory.sizes import PAGE_SIZES
from gistread.readers.events import AnswerDelta
from gistread.readers.passage import CHOICES
from gistread.readers.protocol import ReaderOptions
from gistread.readers.registry import METHODS
from gistread.readers.steering import Steering
from gistread.sample import story_path
from tests.benchmarks.figures import Finding, Spread, Table, Target
from tests.benchmarks.setting import Setting, engine_over

_CHARACTERS = 300  # Least length of a paragraph
_PARAGRAPHS = 5
_ANSWER_TOKENS = 8


async def measure(setting: Setting) -> AsyncIterator[Finding]:
    book = open_book(story_path())
    places = [(one.start, one.end) for one in book.paragraphs if one.end - one.start >= _CHARACTERS]
    # Far apart: the text around one is no beginning of the text around another.
    chosen = places[:: max(1, len(places) // _PARAGRAPHS)][: 2 if setting.quick else _PARAGRAPHS]
    async with engine_over(setting) as engine:
        memory = GistMemory(book, PAGE_SIZES["quality"], "")
        first, again = [], []
        for one in chosen:
            first.append(await _ask(one, 0, memory, engine))
            again.append(await _ask(one, 2, memory, engine))
    rows = (("the first", Spread.of(first)), ("another about the same one", Spread.of(again)))
    yield Table("From the key to the first word about a selected paragraph", ("question", "first word [s]"), rows)
    yield Target("first word about a selected paragraph, in seconds", Spread.of(first).median, at_most=3.0)


async def _ask(passage: Passage, choice: int, memory: GistMemory, engine: Engine) -> float:
    options = ReaderOptions(passage=passage, is_reliable=False, answer_tokens=_ANSWER_TOKENS)
    started = time.perf_counter()
    first_word_s = 0.0
    async for event in METHODS["auto"].reader()(CHOICES[choice][1], memory, engine, Steering(), options):
        if isinstance(event, AnswerDelta):
            first_word_s = first_word_s or time.perf_counter() - started
    return first_word_s
