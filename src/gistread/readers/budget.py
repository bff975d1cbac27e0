"""How much text a question shows to its model: by the window, and by the pace of the model on this machine."""

from gistread.engine.protocol import Engine, EngineInfo
from gistread.memory.model import GistMemory

PASSAGE_TOKENS = 4096  # Most tokens of ranked passages, unless the whole text fits
# For an unreliable model: the starter finds the answer more often in less text (docs/methods.md).
UNRELIABLE_TOKENS = 600
QUICK_S = 20.0  # Time to the first word of an answer
CAREFUL = 3  # Times as long for `auto`
_COMFORTABLE = 0.75  # Share of the window that the text may take
_UNMEASURED_RATE = 60  # Tokens a second of a processor before the model is measured
_UNMEASURED_TOKENS = 16_384  # The same limit for a server or a graphics card, in tokens


def readable_tokens(info: EngineInfo, first_word_s: float) -> int:
    """Tokens of text that the model evaluates in `first_word_s` (0: no limit), within its window."""
    window = int(_COMFORTABLE * info.context_tokens)
    if not first_word_s:
        return window
    if info.rates is not None:
        return min(window, round(first_word_s * info.rates.prefill))
    is_fast = info.is_remote or (info.placement is not None and info.placement.gpu_layers > 0)
    return min(window, _UNMEASURED_TOKENS if is_fast else round(first_word_s * _UNMEASURED_RATE))


async def whole_text_tokens(memory: GistMemory, engine: Engine, most: int) -> int | None:
    """The tokens of the whole text; None if it has more than `most`."""
    if memory.book.words > most:  # No vocabulary needs less than a token for a word.
        return None
    tokens = await engine.count(memory.book.text)
    return tokens if tokens <= most else None
