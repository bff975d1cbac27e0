"""Markdown that a model's answer may have: bold words, and the rule below the head of a table."""

import re

# `**Emma**`
STRONG = re.compile(r"\*\*(?=[^\s*])(.+?)(?<=[^\s*])\*\*")
# `|:---|---:|`. Each dash can match in one way only: an answer may have a line of any length.
TABLE_RULE = re.compile(
    r"[ \t]*\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t]*:?-{2,}:?[ \t]*)*\|?[ \t]*"
)
