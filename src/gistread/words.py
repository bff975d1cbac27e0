"""Words in any script: one character of a script without spaces counts as a word."""

import re

# Characters of scripts without spaces between words: Thai, Lao, Burmese, Khmer, kana, Han.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
UNSPACED_CHARACTER = re.compile(f"[{UNSPACED}]")
_RUN = f"(?:(?![{UNSPACED}])\\w)+"

PART = re.compile(f"[{UNSPACED}]|{_RUN}")  # A word, split at apostrophes and hyphens
WORD = re.compile(f"[{UNSPACED}]|{_RUN}(?:['’]{_RUN})*")  # A word with its apostrophes
HYPHENATED = re.compile(
    f"[{UNSPACED}]|{_RUN}(?:['’‑-]{_RUN})*"
)  # A word with its apostrophes and hyphens


def folded_words(text: str) -> list[str]:
    """The words of a text without case, to compare texts by."""
    return WORD.findall(text.casefold())


def count_words(text: str) -> int:
    """Number of words; for scripts without spaces, of characters."""
    if text.isascii():
        return len(text.split())
    spaced, unspaced = UNSPACED_CHARACTER.subn(" ", text)
    return len(spaced.split()) + unspaced
