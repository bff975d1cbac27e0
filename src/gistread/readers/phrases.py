"""The phrases of questions and answers that readers recognize (`phrases.toml`)."""

import re
import tomllib
from functools import cache
from pathlib import Path

_PHRASES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def phrases(name: str) -> str:
    """The regular expression with this name. Each `${other}` in it is replaced by that one."""
    on_one_line = re.sub(r"\n\s*", "", _PHRASES[name])
    return re.sub(r"\$\{(\w+)\}", lambda other: phrases(other[1]), on_one_line)


@cache
def pattern(name: str) -> re.Pattern[str]:
    """The compiled regular expression with this name.

    >>> bool(pattern("approximately").search("at least "))
    True
    """
    return re.compile(phrases(name))
