"""Chooses the page size: smaller pages keep more detail (ReadAgent, A), but all gists must fit the window."""

from collections.abc import Mapping
from types import MappingProxyType

from gistread.book.model import Book
from gistread.errors import EngineError, UsageError
from gistread.memory.model import GistMemory, PageSize, PageSizes

# ReadAgent, Table 10, smallest pages first.
PAGE_SIZES: Mapping[str, PageSize] = MappingProxyType(
    {"quality": PageSize(280, 600), "script": PageSize(600, 1000), "novel": PageSize(500, 3000)}
)

_GIST_SHARE = {"quality": 0.20, "script": 0.13, "novel": 0.08}
"""Words of a gist for each word of its page. The paper reports 0.145, 0.080 and 0.032 (sections 4.3 and 4.4); small
models write longer gists."""

TOKENS_PER_WORD = 1.5  # Upper estimate for English prose (SmolLM2: 1.4)

PROMPT_TOKENS = 256  # Reserve for the prompt, the question and the chat template
ANSWER_TOKENS = 256  # Reserve for an answer
PAGES_OPEN = 2  # Pages that should fit in full in addition to the gists
SMALLEST_PAGE_WORDS = 60  # A shorter page is not worth gisting


def unread_memory(book: Book, model_name: str = "") -> GistMemory:
    """A memory without pages, if only the book's text is needed."""
    return GistMemory(book, PAGE_SIZES["quality"], model_name)


def choose_size(
    book_words: int, context_tokens: int, min_words: int | None = None, max_words: int | None = None
) -> PageSize:
    """The smallest usual size whose gists leave room for two open pages. Raises UsageError, EngineError."""
    for name, value in (("--min-words", min_words), ("--max-words", max_words)):
        if value is not None and value < 1:
            raise UsageError(f"{name} is {value}; a page needs at least one word.")
    if min_words is not None and max_words is not None and min_words > max_words:
        raise UsageError(f"--min-words {min_words} is more than --max-words {max_words}.", "Give a smaller minimum.")
    room_words = max(0, int((context_tokens - PROMPT_TOKENS - ANSWER_TOKENS) / TOKENS_PER_WORD))
    usual = _usual_size(book_words, room_words)
    if max_words is None:
        max_words = usual.max_words if min_words is None else max(usual.max_words, min_words)
    if min_words is None:
        min_words = min(usual.min_words, max(1, int(max_words * (usual.min_words / usual.max_words))))
    size = PageSize(min_words, max_words)
    if size.max_words > room_words:
        needed = round(size.max_words * TOKENS_PER_WORD) + PROMPT_TOKENS + ANSWER_TOKENS
        raise EngineError(
            f"The context is too small for one page: a page of {size.max_words} words needs about {needed} tokens, "
            f"the model's window has {context_tokens}.",
            "Use smaller pages (--max-words) or a model with a longer context.",
        )
    return size


def choose_sizes(
    book: Book, context_tokens: int, *, min_words: int | None = None, max_words: int | None = None
) -> PageSizes:
    """`choose_size` for this book, or for each volume of a series, so that the volume alone has the same memory."""
    each = [
        choose_size(one.words, context_tokens, min_words=min_words, max_words=max_words)
        for one in (book.volume_books or (book,))
    ]
    return tuple(each) if book.volumes else each[0]


def _usual_size(book_words: int, room_words: int) -> PageSize:
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
    first = PAGE_SIZES["quality"]
    max_words = min(first.max_words, max(SMALLEST_PAGE_WORDS, room_words // (2 * PAGES_OPEN)))
    return PageSize(max(1, max_words * first.min_words // first.max_words), max_words)
