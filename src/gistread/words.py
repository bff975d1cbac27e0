"""Counts words in any script.

Every book is opened with this module, so what is slow to compile stands in `word_patterns.py`.
"""

import re

# Any character but Latin, Greek and Cyrillic letters and most signs, whose scripts have spaces
_MAY_BE_UNSPACED = re.compile("[^\0-\u0dff\u2000-\u303f]")


def count_words(text: str) -> int:
    """Number of words; in scripts without spaces, number of characters."""
    if text.isascii() or not _MAY_BE_UNSPACED.search(text):
        return len(text.split())
    # Imported here: few books need it.
    from gistread.word_patterns import UNSPACED_CHARACTER

    spaced, unspaced = UNSPACED_CHARACTER.subn(" ", text)
    return len(spaced.split()) + unspaced
