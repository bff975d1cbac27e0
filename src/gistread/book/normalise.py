"""Which characters may stand in a book: everything a screen, a search and a model can be given unharmed.

Book text is data (design D10). What could steer a terminal, reorder a line or hide words from the person goes;
what is left of an escape sequence is harmless text. Knows nothing of paragraphs or files.
"""

import re
import unicodedata

_ODD = re.compile(
    # Ends of lines: a vertical tab and a form feed (a page turned in a typescript), Unicode's own.
    "(?P<end>[\x0b\x0c\x1c-\x1e\x85\u2028\u2029])"
    # A space is a space: one that must not break would hide a word from a search and cost a model an odd token.
    "|(?P<space>[\u00a0\u1680\u2000-\u200a\u202f\u205f])"
    "|(?P<surrogate>[\ud800-\udfff])"
    # Dropped: C0 and C1 controls (ESC among them), zero-width space, word joiner and soft hyphen (they split words
    # for a search), byte order marks, bidirectional embeddings, overrides and isolates, interlinear marks, tag
    # characters (text that no person sees), noncharacters. The joiners U+200C and U+200D stay: Persian and Indic
    # words are spelled with them.
    "|[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\u00ad\u200b\u2060-\u2064\u202a-\u202e\u2066-\u206f\ufeff"
    "\ufff9-\ufffb\ufdd0-\ufdef\ufffe\uffff\U000e0000-\U000e007f]"
)
# One plain class is four times as fast to scan for as the groups above, and in nearly every book nothing is found.
_ANY_ODD = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\xa0\u00ad\u1680\u2000-\u200b\u2028-\u202f\u205f-\u206f\ud800-\udfff\ufdd0-\ufdef"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"
)
_ANY_ODD_ASCII = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_INSTEAD = {"end": "\n", "space": " ", "surrogate": "\ufffd", None: ""}
_INNER_SPACE_RUN = re.compile("[ \t]+")


def clean(text: str) -> str:
    """The same text in NFC, its lines ended by "\n", without controls, invisible characters or odd spaces.

    Tabs stay: what they mean (columns, an indent) is for the reader of the format to say.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if (_ANY_ODD_ASCII if text.isascii() else _ANY_ODD).search(text):
        text = _ODD.sub(lambda odd: _INSTEAD[odd.lastgroup], text)
    return text if unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)


def one_line(text: str) -> str:
    """`text` with every run of white space as one space: prose, headings, titles."""
    return " ".join(text.split())


def keep_lines(text: str, *, keep_spacing: bool = False) -> str:
    """`text` with its line ends kept: verse, lists, tables.

    The indent that all lines share goes, and so do empty lines, since a paragraph has none; what one line is
    indented further than another stays. `keep_spacing` keeps the gaps inside lines (columns set with spaces).
    """
    lines = [line.rstrip() for line in text.expandtabs(4).split("\n")]
    lines = [line for line in lines if line.strip()]
    if not lines:
        return ""
    shared = min(len(line) - len(line.lstrip(" ")) for line in lines)
    lines = [line[shared:] for line in lines]
    if keep_spacing:
        return "\n".join(lines)
    return "\n".join(_single_gaps(line) for line in lines)


def _single_gaps(line: str) -> str:
    text = line.lstrip(" ")
    return line[: len(line) - len(text)] + _INNER_SPACE_RUN.sub(" ", text)


# Scripts that put no spaces between words: Han, kana, Thai, Lao, Khmer, Burmese.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


def count_words(text: str) -> int:
    """Number of words: runs between white space, and each character of a script without spaces."""
    if text.isascii():
        return len(text.split())
    spaced, unspaced = _UNSPACED.subn(" ", text)
    return len(spaced.split()) + unspaced
