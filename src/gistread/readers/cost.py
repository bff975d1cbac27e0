"""Estimates the tokens that a reader evaluates and decodes for an answer, and so its duration."""

from gistread.engine.protocol import EngineInfo, Trust
from gistread.memory.estimate import RemainingWork
from gistread.memory.model import GistMemory
from gistread.memory.sizes import TOKENS_PER_WORD
from gistread.readers.budget import CAREFUL, PASSAGE_TOKENS, QUICK_S, UNRELIABLE_TOKENS, readable_tokens
from gistread.readers.protocol import ReaderOptions

LONG_S = 60.0  # An answer that takes longer is announced
QUICK = "gistread"  # The reader offered instead
BUILT_FIRST = frozenset(("summaries", "facts"))  # Artifacts that a reader waits for
WHOLE_BOOK = frozenset(("notes", "longagent"))  # Readers that evaluate all of the text
_ANSWER, _CHUNK, _NOTE = 128, 2_000, 64  # Tokens of an answer, of a chunk of the book, and of a note on it
_LEVELS, _LEVEL = 3, 1_200  # Levels of `memwalker`'s tree, and tokens of the summaries at one
_STEPS, _STEP = 50, 600  # Steps of `graphreader` on all paths, and tokens of one


def answer_work(
    reader: str, memory: GistMemory, info: EngineInfo, upto: int | None = None, *, trust: Trust = Trust.UNKNOWN
) -> RemainingWork:
    """The tokens of one question over the book up to `upto`, without artifacts; an upper bound if they vary."""
    share = 1.0 if upto is None else upto / max(1, len(memory.book.text))
    book = TOKENS_PER_WORD * memory.book.words * share
    page = TOKENS_PER_WORD * (memory.size.min_words + memory.size.max_words) / 2
    pages = min(book, info.context_tokens, ReaderOptions().max_pages * page)
    gists = min(info.context_tokens - pages, TOKENS_PER_WORD * memory.gist_words * share)
    chunks = book / _CHUNK
    read, written = {
        "notes": (book, _NOTE * chunks),
        "longagent": (book, _NOTE * chunks),
        "graphreader": (_STEPS * _STEP, _STEPS * _NOTE),
        "memwalker": (_LEVELS * _LEVEL + pages, 0),
        "readagent-s": (gists + pages, _NOTE),
        "readagent-p": (gists + pages, 0),
    }.get(reader, (_passages(reader, book, info, trust=trust), 0))
    return RemainingWork(0, 1, round(read), round(written + _ANSWER))


def _passages(reader: str, book: float, info: EngineInfo, *, trust: Trust) -> float:
    """Most tokens of text that `gistread` or `auto` shows, in two looks."""
    if trust is Trust.FAILED:
        return min(book, 2 * UNRELIABLE_TOKENS)
    readable = readable_tokens(info, QUICK_S * (CAREFUL if reader == "auto" else 1))
    return book if book <= readable else 2 * min(PASSAGE_TOKENS, max(UNRELIABLE_TOKENS, readable))
