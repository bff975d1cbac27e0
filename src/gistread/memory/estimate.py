"""Estimates the time for the rest of the book and its artifacts, from the latest pages or the engine's rates."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gistread.engine.protocol import EngineInfo
from gistread.engine.reading_cost import CAREFUL_PREFILLED, DEPTH, SINGLE_PASS_PREFILLED, decode_rate, seconds_per_token
from gistread.journal import Record
from gistread.memory.model import GistMemory, MemoryEntry, ReadingMode
from gistread.memory.sizes import TOKENS_PER_WORD

_DECAY = 0.8  # Weight of the pace so far when a page is added: about the last five pages count
_EXPECTED_WORDS = 100  # Weight in words of the pace expected from the rates: less than that of any page read
_PAST_WORDS = 400  # Weight in words of the pace in other books: that of a page
_GISTED_TOGETHER = 2  # Gists decoded at the same time on a processor
ROUGH_PAGES = 3  # An estimate from fewer pages may be far off
_PREFILLED = {ReadingMode.CAREFUL: CAREFUL_PREFILLED, ReadingMode.SINGLE_PASS: SINGLE_PASS_PREFILLED}


@dataclass(frozen=True, slots=True)
class Pace:
    """Words of the book read and seconds taken, with a decaying weight."""

    words: float = 0.0
    seconds: float = 0.0

    def weighing(self, words: float) -> "Pace":
        """The same pace, weighted as if measured over `words` words."""
        return Pace(words, self.seconds * words / self.words) if self.words else self

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
    by_engine: bool = True  # False: another model does it
    elsewhere_s: float | None = None  # Seconds that the other model needs; None if unknown
    needless: bool = False  # This memory does not need the artifact

    @property
    def complete(self) -> bool:
        return self.done >= self.total

    def seconds(self, info: EngineInfo) -> float | None:
        """Seconds with this engine, or with the other model; None if their rates are unknown."""
        if self.complete:
            return 0.0
        if not self.by_engine:
            return self.elsewhere_s
        if info.rates is None:
            return None
        return self.prefilled / info.rates.prefill + self.generated / decode_rate(info.rates, info.parallel)


def expected_pace(info: EngineInfo, mode: ReadingMode, tokens_per_word: float = TOKENS_PER_WORD) -> Pace:
    """The pace expected from the rates of an engine, if known. `tokens_per_word`: by default that of English."""
    if info.rates is None:
        return UNKNOWN_PACE
    on_gpu = info.placement is not None and info.placement.gpu_layers > 0
    together = info.parallel if on_gpu else min(_GISTED_TOGETHER, info.parallel)
    per_token = DEPTH * seconds_per_token(info.rates, together, prefilled=_PREFILLED[mode])
    return Pace(_EXPECTED_WORDS, _EXPECTED_WORDS * tokens_per_word * per_token)


def past_pace(records: Iterable[Record]) -> Pace:
    """The pace in the journal of another book, from its records of pages."""
    pace = UNKNOWN_PACE
    for record in records:
        match record:
            case {"words": int(words), "usage": [_, _, _, int() | float() as seconds]} if words > 0 and seconds > 0:
                pace = pace.after(words, seconds)
    return pace.weighing(_PAST_WORDS)


def pace_of(entries: Sequence[MemoryEntry], expected: Pace = UNKNOWN_PACE) -> Pace:
    """The pace of the latest pages, starting from the expected one."""
    pace = expected
    for entry in entries[-10:]:
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
