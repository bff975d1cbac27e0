"""Chooses the page size, and estimates the time for the rest of the book and its artifacts.

Smaller pages keep more detail (ReadAgent, A), but all gists must fit the window. The pace of a
model on this machine is learned from the pages it reads. Before that, it follows from the rates of
the engine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from gistread.book.model import Book
from gistread.engine.protocol import (
    CAREFUL_PREFILLED,
    DECODED,
    SINGLE_PASS_PREFILLED,
    EngineInfo,
)
from gistread.errors import EngineError, UsageError
from gistread.memory.model import GistMemory, MemoryEntry, PageSize, ReadingMode
from gistread.store.pace import UNKNOWN_PACE, Pace

# ReadAgent, Table 10, smallest pages first.
PAGE_SIZES: Mapping[str, PageSize] = MappingProxyType(
    {
        "quality": PageSize(280, 600),
        "script": PageSize(600, 1000),
        "novel": PageSize(500, 3000),
    }
)

# Words of a gist for each word of its page. The paper reports 0.145, 0.080 and 0.032 (sections 4.3
# and 4.4); small models write longer gists.
_GIST_SHARE = {"quality": 0.20, "script": 0.13, "novel": 0.08}

TOKENS_PER_WORD = 1.5  # Upper estimate for English prose (SmolLM2: 1.4)

PROMPT_TOKENS = 256  # Reserve for the prompt, the question and the chat template
ANSWER_TOKENS = 256  # Reserve for an answer
PAGES_OPEN = 2  # Pages that should fit in full in addition to the gists
SMALLEST_PAGE_WORDS = 60  # A shorter page is not worth gisting


def unread_memory(book: Book, model_name: str = "") -> GistMemory:
    """A memory without pages, if only the book's text is needed."""
    return GistMemory(book, PAGE_SIZES["quality"], model_name)


def choose_size(
    book_words: int,
    context_tokens: int,
    min_words: int | None = None,
    max_words: int | None = None,
) -> PageSize:
    """The smallest usual size whose gists leave room for two open pages.

    Raises UsageError, EngineError.
    """
    _check_limits(min_words, max_words)
    room_tokens = context_tokens - PROMPT_TOKENS - ANSWER_TOKENS
    room_words = max(0, int(room_tokens / TOKENS_PER_WORD))
    usual = _usual_size(book_words, room_words)
    if max_words is None:
        max_words = max(usual.max_words, min_words or 0)
    if min_words is None:
        # Smaller pages than usual have a smaller minimum too.
        in_proportion = int(max_words * (usual.min_words / usual.max_words))
        min_words = min(usual.min_words, max(1, in_proportion))
    if max_words > room_words:
        needed = round(max_words * TOKENS_PER_WORD) + PROMPT_TOKENS + ANSWER_TOKENS
        raise EngineError(
            f"The context is too small for one page: a page of {max_words} words needs about "
            f"{needed} tokens, the model's window has {context_tokens}.",
            "Use smaller pages (--max-words) or a model with a longer context.",
        )
    return PageSize(min_words, max_words)


def _check_limits(min_words: int | None, max_words: int | None) -> None:
    """Raises UsageError for limits of the user that no page can keep."""
    for name, value in (("--min-words", min_words), ("--max-words", max_words)):
        if value is not None and value < 1:
            raise UsageError(f"{name} is {value}; a page needs at least one word.")
    if min_words is not None and max_words is not None and min_words > max_words:
        raise UsageError(
            f"--min-words {min_words} is more than --max-words {max_words}.",
            "Give a smaller minimum.",
        )


def _usual_size(book_words: int, room_words: int) -> PageSize:
    """The smallest usual size with which all gists and the open pages fit.

    Else the largest whose open pages fill at most half of the window; the gists are grouped then.
    """
    largest: PageSize | None = None
    for name, size in PAGE_SIZES.items():
        open_words = PAGES_OPEN * size.max_words
        if open_words + book_words * _GIST_SHARE[name] <= room_words:
            return size
        if open_words <= room_words / 2:
            largest = size
    if largest is not None:
        return largest
    # In a small window, two pages with the proportions of the smallest size fill half of it.
    smallest = PAGE_SIZES["quality"]
    half_of_window = max(SMALLEST_PAGE_WORDS, room_words // (2 * PAGES_OPEN))
    max_words = min(smallest.max_words, half_of_window)
    min_words = max_words * smallest.min_words // smallest.max_words
    return PageSize(max(1, min_words), max_words)


# The pace expected from the rates counts as much as so many words: less than any page read
_EXPECTED_WORDS = 100
# Earlier pages count so much less with each new page: about the last thirty count
_DECAY = 0.97
_LATEST = 60  # Most pages that count at all
ROUGH_PAGES = 3  # An estimate from fewer pages may be far off
_PREFILLED = {
    ReadingMode.CAREFUL: CAREFUL_PREFILLED,
    ReadingMode.SINGLE_PASS: SINGLE_PASS_PREFILLED,
}


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
    s_per_token = _PREFILLED[mode] / info.rates.prefill + DECODED / info.rates.decode
    seconds = _EXPECTED_WORDS * TOKENS_PER_WORD * s_per_token
    return Pace(_EXPECTED_WORDS, seconds)


def pace_of(entries: Sequence[MemoryEntry], expected: Pace = UNKNOWN_PACE) -> Pace:
    """The pace of the latest pages, starting from the expected one."""
    words, seconds = expected.words, expected.seconds
    for entry in entries[-_LATEST:]:
        if entry.usage.seconds > 0:
            words = words * _DECAY + entry.page.words
            seconds = seconds * _DECAY + entry.usage.seconds
    return Pace(words, seconds)


def seconds_to_read(
    memory: GistMemory, pace: Pace, characters: int | None = None
) -> float | None:
    """Seconds for so many characters (default: the rest of the book).

    None before anything was measured.
    """
    if characters is None:
        share = _share_left(memory)
    else:
        share = characters / len(memory.book.text)
    if share <= 0:
        return 0.0
    speed = pace.words_per_s
    if speed is None:
        return None
    return memory.book.words * share / speed


def unread_page_words(memory: GistMemory) -> list[int]:
    """Estimated words of each page that has not been read yet."""
    in_gaps = [entry.page.words for entry in memory.entries if not entry.is_read]
    pages = memory.estimated_pages - len(memory.entries)
    if not pages:
        return in_gaps
    words_left = memory.book.words * _share_left(memory)
    return in_gaps + [round(words_left / pages)] * pages


def _share_left(memory: GistMemory) -> float:
    """The share of the book after the last page that was read."""
    return 1 - memory.read_until / len(memory.book.text)
