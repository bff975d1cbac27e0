"""What a model may use here, as far as it is known without loading one."""

from gistread.engine.llama.fit import free_memory
from gistread.engine.llama.library import ask_library
from gistread.engine.llama.machine import available_bytes, gpu_maker, physical_cores
from gistread.engine.recommendation import Machine
from gistread.errors import EngineError


def this_machine() -> Machine:
    """What is free now. llama.cpp is asked what it makes of graphics cards only where there is a sign of one: that
    takes a second."""
    free_bytes = available_bytes()
    try:
        gpus = ask_library().gpus if gpu_maker() else ()
    except EngineError:
        gpus = ()
    return Machine(free_bytes, free_memory(free_bytes, gpus).gpu_bytes or 0, physical_cores())
