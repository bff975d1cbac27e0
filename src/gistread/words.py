"""Counts words in any script.

Every book is opened with this module, so what is slow to compile stands in `word_patterns.py`.
"""

import re

# Latin, Greek and Cyrillic letters and most signs are of no script without spaces.
_MAY_BE_UNSPACED = re.compile("[^\0-\u0dff\u2000-\u303f]")


def count_words(text: str) -> int:
    """Number of words; for scripts without spaces, of characters."""
    if text.isascii() or not _MAY_BE_UNSPACED.search(text):
        return len(text.split())
    # imported here: few books need it
    from gistread.word_patterns import UNSPACED_CHARACTER

    spaced, unspaced = UNSPACED_CHARACTER.subn(" ", text)
    return len(spaced.split()) + unspaced
