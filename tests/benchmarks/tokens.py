"""A novel's tokens counted without the model and by llama.cpp: the same ones, and how much sooner.

War and Peace where it is beside the checkout, else the story that comes with gistread. Times are the processor's own,
so that other programs count little.
"""

import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from gistread.sample import story_path
from tests.benchmarks.figures import Finding, Skipped, Spread, Table, Target
from tests.benchmarks.setting import Setting, alone
from tests.book.data import text_book

TIMES_FASTER = 5.0
_TIMES = 3


async def measure(setting: Setting) -> AsyncIterator[Finding]:
    found = alone(_compared, setting.model, _text(quick=setting.quick), 1 if setting.quick else _TIMES)
    if found is None:
        yield Skipped(
            "tokens without the model", f"the vocabulary of {setting.model.name} is of no kind that is claimed"
        )
        return
    tokens, made, ours, theirs = found
    rows = (
        ("the counter made of the file", Spread.of(made)),
        ("counted with it", Spread.of(ours)),
        ("counted by llama.cpp", Spread.of(theirs)),
    )
    yield Table(f"{tokens:,} tokens, the same ones by both", ("what", "[s]"), rows)
    faster = Spread.of(theirs).median / max(1e-6, Spread.of(ours).median)
    yield Target("tokens counted without the model, times as fast", faster, at_least=TIMES_FASTER)


def _text(*, quick: bool) -> str:
    try:
        book = text_book("War-and-Peace")
    except (OSError, StopIteration):
        book = story_path()
    text = book.read_text(encoding="utf-8")
    return text[:100_000] if quick else text


def _compared(model: Path, text: str, times: int) -> tuple[int, list[float], list[float], list[float]] | None:
    """Tokens, and seconds for the counter, a count with it, and one by llama.cpp; None where there is no counter.

    Raises AssertionError where the two differ.
    """
    from gistread.engine.llama.token_counter import counter_of
    from gistread.engine.llama.vocabulary import read_vocabulary
    from tests.vocabularies import LlamaVocabulary

    counter = counter_of(read_vocabulary(model))
    if counter is None:
        return None
    llama = LlamaVocabulary(model)
    tokens = llama.tokens(text)
    assert counter.tokens(text) == tokens
    made = [_seconds(lambda: counter_of(read_vocabulary(model))) for _ in range(times)]
    ours = [_seconds(lambda: counter.count(text)) for _ in range(times)]
    theirs = [_seconds(lambda: llama.tokens(text)) for _ in range(times)]
    return len(tokens), made, ours, theirs


def _seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started
