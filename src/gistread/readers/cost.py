"""How much text a question may show to its model, and how many tokens an answer costs."""

import math

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
    uses_gpu = info.placement is not None and info.placement.gpu_layers > 0
    if info.is_remote or uses_gpu:
        return min(window, _UNMEASURED_TOKENS)
    return min(window, round(first_word_s * _UNMEASURED_RATE))


async def whole_text_tokens(
    memory: GistMemory, engine: Engine, most: int
) -> int | None:
    """The tokens of the whole text; None if it has more than `most`."""
    # A word has at least one token, so the tokens of a long text need not be counted.
    if memory.book.words > most:
        return None
    tokens = await engine.count(memory.book.text)
    if tokens > most:
        return None
    return tokens


LONG_S = 60.0  # An answer that takes longer is announced
QUICK = "gistread"  # The reader offered instead
BUILT_FIRST = frozenset(("summaries", "facts"))  # Artifacts that a reader waits for
WHOLE_BOOK = frozenset(("notes", "longagent"))  # Readers that evaluate all of the text
_ANSWER_TOKENS = 128
_CHUNK_TOKENS = 2_000
_TASK_TOKENS = 150  # Of a prompt beside its text: the question and what to do
_ANSWER_SHARE = 0.25  # Of the window that is kept for the answer, at most
_MOST_ANSWER_TOKENS = 512
_LEAST_CHUNK_TOKENS = 100
_MOST_NOTES_TOKENS = 2_000  # Of all notes in one prompt
_NOTE_TOKENS = 64
_LEVELS = 3  # Of `memwalker`'s tree
_LEVEL_TOKENS = 1_200  # Of the summaries at one level
_STEPS = 50  # Of `graphreader` on all paths
_STEP_TOKENS = 600


def answer_work(
    reader: str,
    memory: GistMemory,
    info: EngineInfo,
    upto: int | None = None,
    *,
    model: ModelClass = LARGE,
) -> RemainingWork:
    """The tokens of one question over the book up to `upto`, without artifacts.

    If the number varies, an upper bound.
    """
    share = 1.0 if upto is None else upto / max(1, len(memory.book.text))
    # All in tokens
    book = TOKENS_PER_WORD * memory.book.words * share
    mean_page_words = (memory.size.min_words + memory.size.max_words) / 2
    most_pages = ReaderOptions().max_pages * TOKENS_PER_WORD * mean_page_words
    pages = min(book, info.context_tokens, most_pages)
    all_gists = TOKENS_PER_WORD * memory.gist_words * share
    gists = min(info.context_tokens - pages, all_gists)
    written = 0.0  # Besides the answer
    match reader:
        case "quoting":
            return RemainingWork(done=0, total=1)  # No model is asked.
        case "notes" | "longagent":
            room = _room(info)
            chunk = max(_LEAST_CHUNK_TOKENS, min(_CHUNK_TOKENS, room / 2))
            parts = math.ceil(book / chunk)
            written = _NOTE_TOKENS * parts
            # Every other part adds a note.
            notes = min(written / 2, _MOST_NOTES_TOKENS, room - chunk)
            # Each part is read with the notes so far, on average half of them.
            read = book + parts * (_TASK_TOKENS + notes / 2) + notes
        case "graphreader":
            read = _STEPS * _STEP_TOKENS
            written = _STEPS * _NOTE_TOKENS
        case "memwalker":
            read = _LEVELS * _LEVEL_TOKENS + pages
        case "readagent-s":
            read = gists + pages
            written = _NOTE_TOKENS
        case "readagent-p":
            read = gists + pages
        case _:
            read = _passage_tokens(book, info, model)
    return RemainingWork(
        done=0,
        total=1,
        prefilled=round(read),
        generated=round(written + _ANSWER_TOKENS),
    )


def _passage_tokens(book: float, info: EngineInfo, model: ModelClass) -> float:
    """Tokens that `gistread` sends with the nearest passages. `book`: tokens of the whole book.

    A second look, after nothing was found, is not counted.
    """
    readable = readable_tokens(info, FIRST_WORD_S)
    if book <= min(readable, model.most_tokens):
        return book + _TASK_TOKENS
    usual = min(model.passage_tokens, max(LEAST_TOKENS, readable))
    one_look = min(usual, _room(info))
    return min(book, one_look) + _TASK_TOKENS


def _room(info: EngineInfo) -> float:
    """Tokens of text that fit the window with the task and the answer."""
    window = info.context_tokens
    answer = min(_MOST_ANSWER_TOKENS, _ANSWER_SHARE * window)
    return max(0.0, window - answer - _TASK_TOKENS)
