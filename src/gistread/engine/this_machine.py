"""What a model may use here, as far as it is known without loading one."""

from gistread.engine.llama.machine import available_bytes, physical_cores
from gistread.engine.recommending import Machine


def this_machine() -> Machine:
    """Free memory and cores now."""
    return Machine(available_bytes(), 0, physical_cores())
