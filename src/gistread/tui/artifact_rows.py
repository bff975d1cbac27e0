"""What a reader needs besides gists, in words: whether it exists, and how long building it takes."""

from gistread.engine.protocol import EngineInfo
from gistread.memory.estimate import RemainingWork
from gistread.units import format_duration


def need_words(name: str, left: RemainingWork | None, info: EngineInfo | None) -> str:
    """`needs facts: about 12 min`, `facts are ready`, `facts: 12 of 46 ready, about 8 min more`.

    `left` None: not known yet. Empty where it is not needed.
    """
    if left is not None and left.needless:
        return ""
    if left is None or (not left.total and not left.done):
        return f"needs {name}"
    if left.complete:
        return f"{name} are ready"
    seconds = left.seconds(info) if info is not None else None
    time = "" if seconds is None else f"about {format_duration(seconds)}"
    if left.done:
        return f"{name}: {left.done} of {left.total} ready" + (f", {time} more" if time else "")
    return f"needs {name}" + (f": {time}" if time else "")
