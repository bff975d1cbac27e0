"""How much memory a model may take on this machine: of its own and of graphics cards, layers being shared out.

Which layers go where is the affair of `fit.py`, when the model is loaded.
"""

from gistread.engine.llama.fit import free_memory
from gistread.engine.llama.library import ask_library
from gistread.engine.llama.machine import available_bytes, gpu_maker
from gistread.errors import EngineError

_SHARES_MEMORY = "Apple"


def free_for_models() -> int:
    """Bytes that are free for a model.

    llama.cpp is asked what it makes of cards only where there is a sign of one with memory of its own: that takes a
    second.
    """
    free = available_bytes()
    if gpu_maker() in ("", _SHARES_MEMORY):
        return free
    try:
        room = free_memory(free, ask_library().gpus)
    except EngineError:
        return free
    return free if room.shared else free + (room.gpu_bytes or 0)
