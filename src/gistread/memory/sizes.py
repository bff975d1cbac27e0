"""How large a page is: the usual sizes, and the choice among them for a book and a window.

Small pages keep more detail, large pages leave a shorter memory (ReadAgent, Appendix A). A long book needs
large pages so that its gists fit the model's window; a small window bounds how large a page may be, since at
least two pages should stand open beside the gists. PageSizes are in words; the estimate of tokens is only that,
and pagination measures every page that it makes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from gistread.book.model import Book
from gistread.book.normalise import count_words
from gistread.engine.protocol import Engine
from gistread.errors import EngineError, UsageError
from gistread.memory.model import PageSize, PageSizes

PAGE_SIZES: Mapping[str, PageSize] = MappingProxyType(
    {
        "quality": PageSize(280, 600),
        "script": PageSize(600, 1000),
        "novel": PageSize(500, 3000),
    }
)
"""ReadAgent, Table 10, from the smallest pages to the largest."""

_GIST_SHARE = {"quality": 0.20, "script": 0.13, "novel": 0.08}
"""Words of a gist for one word of its page. The paper reports 0.145, 0.080 and 0.032 (sections 4.3 and 4.4);
smaller models write longer gists, so this is somewhat more."""

TOKENS_PER_WORD = 1.5
"""Of English prose in the vocabularies of today's models, rather more than less (SmolLM2: 1.4)."""

PROMPT_TOKENS = 256
"""Room for the words of a prompt, the question and the chat template."""
ANSWER_TOKENS = 256
"""Room for an answer."""
PAGES_OPEN = 2
"""Pages that should stand open in the window beside the gists."""
_SAMPLES, _SAMPLE = 16, 1000
"""Pieces of a book by which it is judged, and characters of each."""
SMALLEST_PAGE_WORDS = 60
"""Below this a page is not worth shortening."""


@dataclass(frozen=True, slots=True)
class _Window:
    """What a window can hold, in words."""

    context_tokens: int
    tokens_per_word: float

    @property
    def fit_text(self) -> int:
        return max(0, int((self.context_tokens - PROMPT_TOKENS - ANSWER_TOKENS) / self.tokens_per_word))


def choose_size(
    book_words: int,
    context_tokens: int,
    *,
    min_words: int | None = None,
    max_words: int | None = None,
    tokens_per_word: float = TOKENS_PER_WORD,
) -> PageSize:
    """The page size for a book of `book_words` words and a window of `context_tokens` tokens.

    The smallest of the usual sizes whose gists leave room for two open pages and the answer. A book whose gists fit
    with none takes the largest whose two open pages fill no more than half of the window. What the person sets is
    kept. Raises UsageError for sizes that cannot be, EngineError when not even one page fits.
    """
    for name, value in (("--min-words", min_words), ("--max-words", max_words)):
        if value is not None and value < 1:
            raise UsageError(f"{name} is {value}; a page has at least one word.")
    if min_words is not None and max_words is not None and min_words > max_words:
        raise UsageError(f"--min-words {min_words} is more than --max-words {max_words}.", "Give a smaller minimum.")
    window = _Window(context_tokens, tokens_per_word)
    size = _with_wishes(_fitting(book_words, window), min_words, max_words)
    if size.max_words > window.fit_text:
        needed = round(size.max_words * tokens_per_word) + PROMPT_TOKENS + ANSWER_TOKENS
        raise EngineError(
            f"The context is too small for one page: a page of {size.max_words} words needs about {needed} tokens, "
            f"the model's window has {context_tokens}.",
            "Use smaller pages (--max-words) or a model with a longer context.",
        )
    return size


def choose_sizes(
    book: Book, context_tokens: int, *, min_words: int | None = None, max_words: int | None = None
) -> PageSizes:
    """`choose_size` for this book; of a series for each volume as if it were alone: its memory is to be of use to both.

    Raises what that does.
    """
    each = [
        choose_size(one.words, context_tokens, min_words=min_words, max_words=max_words)
        for one in (book.volume_books or (book,))
    ]
    return tuple(each) if book.volumes else each[0]


async def measure_tokens_per_word(book: Book, engine: Engine) -> float:
    """Tokens that this engine needs for one word of this book, from samples all over it; at least 1."""
    step = max(_SAMPLE, len(book.text) // _SAMPLES)
    sample = "\n\n".join(book.text[at : at + _SAMPLE] for at in range(0, len(book.text), step))
    return max(1.0, await engine.count(sample) / max(1, count_words(sample)))


def _fitting(book_words: int, window: _Window) -> PageSize:
    largest: PageSize | None = None
    for name, size in PAGE_SIZES.items():
        open_words = PAGES_OPEN * size.max_words
        if open_words + book_words * _GIST_SHARE[name] <= window.fit_text:
            return size
        if open_words <= window.fit_text / 2:
            largest = size
    if largest is not None:
        return largest
    # A small window: pages of the first size's proportions, two of which fill half of it.
    first = PAGE_SIZES["quality"]
    max_words = min(first.max_words, max(SMALLEST_PAGE_WORDS, window.fit_text // (2 * PAGES_OPEN)))
    return PageSize(max(1, max_words * first.min_words // first.max_words), max_words)


def _with_wishes(size: PageSize, min_words: int | None, max_words: int | None) -> PageSize:
    """The size with what the person set; the other bound follows in proportion where it must."""
    ratio = size.min_words / size.max_words
    if max_words is None:
        max_words = size.max_words if min_words is None else max(size.max_words, min_words)
    if min_words is None:
        min_words = min(size.min_words, max(1, int(max_words * ratio)))
    return PageSize(min_words, max_words)
