"""The phrases of questions and answers that readers recognize, as regular expressions.

`phrases.toml`.
"""

import re
import tomllib
from functools import cache
from pathlib import Path

_PHRASES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def phrases(name: str) -> str:
    """The expression with this name, on one line, with the expressions for each `${other}`."""
    joined = re.sub(r"\n\s*", "", _PHRASES[name])
    return re.sub(r"\$\{(\w+)\}", lambda other: phrases(other[1]), joined)


@cache
def pattern(name: str) -> re.Pattern[str]:
    return re.compile(phrases(name))
