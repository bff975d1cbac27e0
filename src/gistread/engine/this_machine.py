"""Memory and cores that a model may use on this machine."""

from gistread.engine.llama.fit import FreeMemory, free_memory
from gistread.engine.llama.library import ask_library
from gistread.engine.llama.machine import APPLE, available_bytes, gpu_maker, physical_cores
from gistread.engine.recommendation import Machine
from gistread.errors import EngineError


def this_machine() -> Machine:
    """Takes a second on a machine with a graphics card, to ask llama.cpp about it."""
    free = _free_memory(bool(gpu_maker()))
    return Machine(free.memory_bytes, free.gpu_bytes or 0, physical_cores())


def free_for_models() -> int:
    """Free bytes for a model whose layers may be split between memory and cards."""
    free = _free_memory(gpu_maker() not in ("", APPLE))  # Apple's cards share the machine's memory.
    return free.memory_bytes if free.shared else free.memory_bytes + (free.gpu_bytes or 0)


def _free_memory(has_cards: bool) -> FreeMemory:
    try:
        gpus = ask_library().gpus if has_cards else ()
    except EngineError:
        gpus = ()
    return free_memory(available_bytes(), gpus)
