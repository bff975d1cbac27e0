"""What a word is, when words are counted: pages, gists and the compression rate are measured in them.

Scripts without spaces between words (Han, kana, Thai, Lao, Khmer, Burmese) would count a whole sentence as one
word. There each character counts as one, which is also near to what a model pays in tokens.
"""

import re

# A run of characters from scripts that put no spaces between words.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


def count_words(text: str) -> int:
    """Number of words: runs between white space, and each character of a script without spaces."""
    if text.isascii():
        return len(text.split())
    spaced, unspaced = _UNSPACED.subn(" ", text)
    return len(spaced.split()) + unspaced
