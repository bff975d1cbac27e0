"""Estimates the tokens that a reader evaluates and decodes for an answer, and so its duration."""

from gistread.engine.protocol import EngineInfo
from gistread.engine.reading_cost import DEPTH
from gistread.memory.estimate import RemainingWork
from gistread.memory.model import GistMemory
from gistread.memory.sizes import TOKENS_PER_WORD
from gistread.readers.gistread import UNRELIABLE_TOKENS
from gistread.readers.protocol import ReaderOptions
from gistread.readers.text_readers import DOS_TOKENS

LONG_S = 60.0  # An answer that takes longer is announced
QUICK = ("dos", "gistread")  # Readers offered instead; `gistread` shows less text to an unreliable model
BUILT_FIRST = frozenset(("summaries", "facts", "vectors"))  # Artifacts that a reader waits for
WHOLE_BOOK = frozenset(("notes", "longagent"))  # Readers that evaluate all of the text
_ANSWER, _CHUNK, _NOTE = 128, 2_000, 64  # Tokens of an answer, of a chunk of the book, and of a note on it
_LEVELS, _LEVEL = 3, 1_200  # Levels of `memwalker`'s tree, and tokens of the summaries at one
_STEPS, _STEP = 50, 600  # Steps of `graphreader` on all paths, and tokens of one


def answer_work(
    reader: str, memory: GistMemory, info: EngineInfo, upto: int | None = None, *, is_reliable: bool = True
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
        "gists": (gists, 0),
        "bm25": (pages, 0),
        "dense": (pages, 0),
        "dos": (min(book, DOS_TOKENS), 0),
        "full": (min(book, info.context_tokens), 0),
        "closed-book": (0, 0),
    }.get(reader, (min(book, 2 * (DOS_TOKENS if is_reliable else UNRELIABLE_TOKENS)), 0))
    # Tokens in long prompts take longer than in the short prompts used to measure rates.
    return RemainingWork(0, 1, round(DEPTH * read), round(DEPTH * (written + _ANSWER)))
