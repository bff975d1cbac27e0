"""How long the rest of the book will take, from the pace so far; and how long what is made beside its gists.

Before the first page is read the pace is one to be expected, from what was measured of the engine. Pure arithmetic.
The clock, the screen and the progress line are the affair of those who ask.
"""

from dataclasses import dataclass, replace

from gistread.engine.protocol import EngineInfo
from gistread.engine.reading_cost import CAREFUL_PREFILLED, SINGLE_PASS_PREFILLED, decode_rate, seconds_per_token
from gistread.memory.model import GistMemory, ReadingMode
from gistread.memory.sizes import TOKENS_PER_WORD

_MEMORY_OF_PACE = 0.8
"""How much of the pace so far stays when another page is read: about the last five pages count."""
_EXPECTED_WORDS = 100
"""What an expectation weighs: less than any page that was really read."""
_PREFILLED = {ReadingMode.CAREFUL: CAREFUL_PREFILLED, ReadingMode.SINGLE_PASS: SINGLE_PASS_PREFILLED}


@dataclass(frozen=True, slots=True)
class Pace:
    """Words of the book read in a second, smoothed over the latest pages."""

    words: float = 0.0
    seconds: float = 0.0

    def after(self, words: int, seconds: float) -> "Pace":
        """The pace when one more page of so many words has taken so long."""
        return replace(
            self,
            words=self.words * _MEMORY_OF_PACE + words,
            seconds=self.seconds * _MEMORY_OF_PACE + max(0.0, seconds),
        )

    @property
    def words_per_s(self) -> float | None:
        """None before anything has been measured."""
        return self.words / self.seconds if self.seconds > 0 and self.words > 0 else None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is left to read."""

    pages_left: int
    seconds_left: float | None
    """None before anything has been measured; 0 when nothing is left."""


UNKNOWN_PACE = Pace()


@dataclass(frozen=True, slots=True)
class RemainingWork:
    """What is left to make of something that a memory is to have beside its gists."""

    done: int
    total: int
    """In all; an estimate while the book is still being read."""
    prefilled: int = 0
    """Tokens that the model will have to evaluate for what is left."""
    generated: int = 0
    """Tokens that it will have to write."""
    by_engine: bool = True
    """False: another model makes it."""
    elsewhere_s: float | None = None
    """How long that takes the other model; None where it is not known."""
    needless: bool = False
    """This memory does not need it."""

    @property
    def complete(self) -> bool:
        return self.done >= self.total

    def seconds(self, info: EngineInfo) -> float | None:
        """How long it will take this engine, or the other model; None where its rates are unknown."""
        if self.complete:
            return 0.0
        if not self.by_engine:
            return self.elsewhere_s
        if info.rates is None:
            return None
        return self.prefilled / info.rates.prefill + self.generated / decode_rate(info.rates, info.parallel)


def expected_pace(info: EngineInfo, reading: ReadingMode, tokens_per_word: float = TOKENS_PER_WORD) -> Pace:
    """The pace to expect of an engine that reads in this way; unknown where its rates are.

    `tokens_per_word`: of the book (`sizes.measure_tokens_per_word`); without it, of English prose.
    """
    if info.rates is None:
        return UNKNOWN_PACE
    per_word = tokens_per_word * seconds_per_token(info.rates, info.parallel, prefilled=_PREFILLED[reading])
    return UNKNOWN_PACE.after(_EXPECTED_WORDS, _EXPECTED_WORDS * per_word)


def pace_of(memory: GistMemory, expected: Pace = UNKNOWN_PACE) -> Pace:
    """The pace at which the pages of a memory were read, as far as it was kept with them; at first what is expected."""
    pace = expected
    for entry in memory.entries[-10:]:
        if entry.usage.seconds > 0:
            pace = pace.after(entry.page.words, entry.usage.seconds)
    return pace


def estimate(memory: GistMemory, pace: Pace) -> Estimate:
    """What is left of this memory's book at this pace."""
    if memory.complete:
        return Estimate(0, 0.0)
    share_left = 1 - memory.read_until / len(memory.book.text)
    speed = pace.words_per_s
    seconds = None if speed is None else memory.book.words * share_left / speed
    return Estimate(memory.estimated_pages - len(memory.entries), seconds)


def unread(memory: GistMemory) -> list[int]:
    """Words of each page that has not been read yet, as far as can be told."""
    if memory.complete:
        return []
    share_left = 1 - memory.read_until / len(memory.book.text)
    pages = memory.estimated_pages - len(memory.entries)
    return [round(memory.book.words * share_left / pages)] * pages
