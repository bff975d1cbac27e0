"""How much text a question shows to its model, by window and pace; and what an answer costs."""

from gistread.engine.protocol import Engine, EngineInfo
from gistread.memory.model import GistMemory
from gistread.memory.sizes import TOKENS_PER_WORD, RemainingWork
from gistread.readers.answering import ReaderOptions
from gistread.readers.model_class import LARGE, ModelClass

LEAST_TOKENS = 600  # Of passages, however slow the model is
FIRST_WORD_S = 20.0  # Time to the first word of an answer
_COMFORTABLE = 0.75  # Share of the window that the text may take
_UNMEASURED_RATE = 60  # Tokens a second of a processor before the model is measured
_UNMEASURED_TOKENS = 16_384  # The same limit for a graphics card or a server, in tokens


def readable_tokens(info: EngineInfo, first_word_s: float) -> int:
    """Tokens of text the model evaluates in `first_word_s` (0: no limit), within its window."""
    window = int(_COMFORTABLE * info.context_tokens)
    if not first_word_s:
        return window
    if info.rates is not None:
        return min(window, round(first_word_s * info.rates.prefill))
    is_fast = info.is_remote or (
        info.placement is not None and info.placement.gpu_layers > 0
    )
    if is_fast:
        return min(window, _UNMEASURED_TOKENS)
    return min(window, round(first_word_s * _UNMEASURED_RATE))


async def whole_text_tokens(
    memory: GistMemory, engine: Engine, most: int
) -> int | None:
    """The tokens of the whole text; None if it has more than `most`."""
    if memory.book.words > most:  # No vocabulary needs less than a token for a word.
        return None
    tokens = await engine.count(memory.book.text)
    if tokens > most:
        return None
    return tokens


LONG_S = 60.0  # An answer that takes longer is announced
QUICK = "gistread"  # The reader offered instead
BUILT_FIRST = frozenset(("summaries", "facts"))  # Artifacts that a reader waits for
WHOLE_BOOK = frozenset(("notes", "longagent"))  # Readers that evaluate all of the text
_ANSWER = 128
_CHUNK = 2_000
_NOTE = 64
# Levels of `memwalker`'s tree, and tokens of the summaries at one
_LEVELS, _LEVEL = 3, 1_200
_STEPS, _STEP = 50, 600  # Steps of `graphreader` on all paths, and tokens of one


def answer_work(
    reader: str,
    memory: GistMemory,
    info: EngineInfo,
    upto: int | None = None,
    *,
    model: ModelClass = LARGE,
) -> RemainingWork:
    """The tokens of one question over the book up to `upto`, without artifacts.

    An upper bound if they vary.
    """
    share = 1.0 if upto is None else upto / max(1, len(memory.book.text))
    book = TOKENS_PER_WORD * memory.book.words * share
    page = TOKENS_PER_WORD * (memory.size.min_words + memory.size.max_words) / 2
    pages = min(book, info.context_tokens, ReaderOptions().max_pages * page)
    gists = min(
        info.context_tokens - pages, TOKENS_PER_WORD * memory.gist_words * share
    )
    chunks = book / _CHUNK
    read, written = {
        "notes": (book, _NOTE * chunks),
        "longagent": (book, _NOTE * chunks),
        "graphreader": (_STEPS * _STEP, _STEPS * _NOTE),
        "memwalker": (_LEVELS * _LEVEL + pages, 0),
        "readagent-s": (gists + pages, _NOTE),
        "readagent-p": (gists + pages, 0),
    }.get(reader, (_passages(book, info, model), 0))
    return RemainingWork(0, 1, round(read), round(written + _ANSWER))


def _passages(book: float, info: EngineInfo, model: ModelClass) -> float:
    """Most tokens of text that `gistread` shows, in two looks."""
    readable = readable_tokens(info, FIRST_WORD_S)
    if book <= min(readable, model.most_tokens):
        return book
    return min(book, 2 * min(model.passage_tokens, max(LEAST_TOKENS, readable)))
