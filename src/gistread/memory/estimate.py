"""Estimates the time for the rest of the book and its artifacts.

A model has one pace on this machine, learned from the pages it reads. Until then it follows from its rates.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gistread.engine.protocol import CAREFUL_PREFILLED, DECODED, SINGLE_PASS_PREFILLED, EngineInfo
from gistread.memory.model import GistMemory, MemoryEntry, ReadingMode
from gistread.memory.sizes import TOKENS_PER_WORD
from gistread.store.pace import LearnedPace

_DECAY = 0.97  # Weight of the pace so far when a page is added: about the last thirty pages count
_EXPECTED_WORDS = 100  # Weight in words of the pace expected from the rates: less than that of any page read
_LEARNED_WORDS = 400  # Weight in words of the pace learned in other books: that of a page
_LATEST = 60  # Pages whose pace counts at all
ROUGH_PAGES = 3  # An estimate from fewer pages may be far off
_PREFILLED = {ReadingMode.CAREFUL: CAREFUL_PREFILLED, ReadingMode.SINGLE_PASS: SINGLE_PASS_PREFILLED}


@dataclass(frozen=True, slots=True)
class Pace:
    """Words of the book read and seconds taken, with a decaying weight."""

    words: float = 0.0
    seconds: float = 0.0

    def after(self, words: int, seconds: float) -> "Pace":
        return Pace(self.words * _DECAY + words, self.seconds * _DECAY + max(0.0, seconds))

    @property
    def words_per_s(self) -> float | None:
        """None before anything has been measured."""
        return self.words / self.seconds if self.seconds > 0 and self.words > 0 else None


UNKNOWN_PACE = Pace()


@dataclass(frozen=True, slots=True)
class RemainingWork:
    """The work that remains for an artifact."""

    done: int
    total: int  # An estimate while the book is still being read
    prefilled: int = 0  # Prompt tokens of the work left
    generated: int = 0  # Tokens to generate for it
    needless: bool = False  # This memory does not need the artifact

    @property
    def complete(self) -> bool:
        return self.done >= self.total

    def seconds(self, info: EngineInfo) -> float | None:
        """Seconds with this engine; None if its rates are unknown."""
        if self.complete:
            return 0.0
        if info.rates is None:
            return None
        return self.prefilled / info.rates.prefill + self.generated / info.rates.decode


def expected_pace(info: EngineInfo, mode: ReadingMode) -> Pace:
    """The pace expected from the rates of an engine, if known, for English."""
    if info.rates is None:
        return UNKNOWN_PACE
    per_token = _PREFILLED[mode] / info.rates.prefill + DECODED / info.rates.decode
    return Pace(_EXPECTED_WORDS, _EXPECTED_WORDS * TOKENS_PER_WORD * per_token)


def learned_pace(learned: LearnedPace) -> Pace:
    """The pace of earlier books, weighted like one page of this one."""
    return Pace(_LEARNED_WORDS, learned.seconds * _LEARNED_WORDS / learned.words)


def pace_of(entries: Sequence[MemoryEntry], expected: Pace = UNKNOWN_PACE) -> Pace:
    """The pace of the latest pages, starting from the expected one."""
    pace = expected
    for entry in entries[-_LATEST:]:
        if entry.usage.seconds > 0:
            pace = pace.after(entry.page.words, entry.usage.seconds)
    return pace


def seconds_to_read(memory: GistMemory, pace: Pace, left: int | None = None) -> float | None:
    """Seconds for `left` characters (default: the rest of the book); None before anything was measured."""
    share = _share_left(memory) if left is None else left / len(memory.book.text)
    if share <= 0:
        return 0.0
    speed = pace.words_per_s
    return None if speed is None else memory.book.words * share / speed


def unread_page_words(memory: GistMemory) -> list[int]:
    """Estimated words of each page that has not been read yet."""
    if memory.complete:
        return []
    pages = memory.estimated_pages - len(memory.entries)
    return [round(memory.book.words * _share_left(memory) / pages)] * pages


def _share_left(memory: GistMemory) -> float:
    return 1 - memory.read_until / len(memory.book.text)
