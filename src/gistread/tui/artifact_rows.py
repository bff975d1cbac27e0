"""What a reader needs beside the gists, in words: whether it is there, and how long it takes to make. Pure."""

from gistread.engine.protocol import EngineInfo
from gistread.memory.estimate import RemainingWork
from gistread.units import format_duration


def need_words(name: str, left: RemainingWork | None, info: EngineInfo | None) -> str:
    """`needs facts: about 12 min`, `facts are there`, `facts: 12 of 46 are there, about 8 min more`.

    `left` None: not known yet. Empty where it is not needed.
    """
    if left is not None and left.needless:
        return ""
    if left is None or (not left.total and not left.done):
        return f"needs {name}"
    if left.complete:
        return f"{name} are there"
    seconds = left.seconds(info) if info is not None else None
    time = "" if seconds is None else f"about {format_duration(seconds)}"
    if left.done:
        return f"{name}: {left.done} of {left.total} are there" + (f", {time} more" if time else "")
    return f"needs {name}" + (f": {time}" if time else "")
