"""Undoes hyphenation at line ends by the book's own spelling, and restores letters lost from ligatures."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

from gistread.book.formats.pdf.pages import HYPHEN
from gistread.book.normalise import word_set

_WORD = re.compile(r"[^\W_]+(?:[-‐‑'’][^\W_]+)*")
_LAST_PART = re.compile(r"[^\W_]+(?:[-‐‑'’][^\W_]+)*$")
_HYPHENS = "-‐‑\u00ad" + HYPHEN
_UNSPACED = re.compile("[\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uffef\u3000-\u30ff]")
_DASHES = "—–―"


# English word parts, for words that occur only at a line end.
_BEGINNINGS = word_set(
    "after any com con counter dis down every fore inter mis out over per pre pro some sub super sur trans under with"
)
_ENDINGS = word_set(
    """able ably age aged ally ance body ded dom ed ence ened ening er ers ess est ever ful fully gence hood ible ing
    ings ion ions ish ism ist ists ity ive land less like ling ly man ment ments men ness red self ship side sion sive
    some son ted teen ter tic ties ting tion tions tive ton tude ty ward wards where wise"""
)
# Words that keep the hyphen before words of at least four letters.
_APART = word_set("all cold cross five four good half high hot ill left long low new old self six three two well")


class WordCounts:
    """Counts a document's words, except those split at line ends."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._counts: Counter[str] = Counter()
        self._halves: Counter[str] = Counter()  # Parts of hyphenated words
        for line in lines:
            found = _WORD.findall(line)
            if line.endswith(tuple(_HYPHENS)):
                found = found[:-1]
            self._counts.update(word.casefold().replace("‐", "-").replace("‑", "-") for word in found[1:])
        for word, count in self._counts.items():
            if "-" in word:
                self._halves.update(dict.fromkeys(word.split("-"), count))

    def junction(self, before: str, after: str) -> tuple[int, str]:
        """How to join two lines: (number of characters to drop from `before`, text to insert)."""
        if not before or not after:
            return 0, ""
        if before[-1] not in _HYPHENS:
            if _UNSPACED.match(before[-1]) and _UNSPACED.match(after[0]):
                return 0, ""
            return 0, "" if before[-1] in _DASHES and before[-2:-1] not in ("", " ") else " "
        stem = before[:-1]
        if not stem or stem[-1] in " -":
            # A dash written with hyphens.
            return (0, "") if before[-2:] == "--" and before[-3:-2] not in ("", " ") else (1, "- ")
        return 1, "" if self._is_one_word(stem, after) else "-"

    def _is_one_word(self, stem: str, after: str) -> bool:
        head, tail = _LAST_PART.search(stem), _WORD.match(after)
        if not head or not tail or head[0][-1].isdigit() or tail[0][0].isdigit():
            return False
        first, second = head[0].casefold(), tail[0].casefold()
        whole, parted = self._counts[first + second], self._counts[f"{first}-{second}"]
        if whole or parted:
            return whole >= parted
        if "-" in tail[0] or "-" in head[0]:
            return not (self._counts[first] and self._counts[second])
        if tail[0][0].isupper() and not head[0].isupper():
            return False
        if len(first) < 3 or len(second) < 3 or first in _BEGINNINGS or second in _ENDINGS:
            return True
        # "multiple-choice", "self-made": both parts are words of the book.
        return not (first in _APART and len(second) > 3) and not (self._is_known(first) and self._is_known(second))

    def _is_known(self, word: str) -> bool:
        return bool(self._counts[word] or self._halves[word])


LIGATURE_WIDTH_RATIO = 1.25  # Width of a ligature glyph relative to the narrowest f of its font

_AFTER_FL = frozenset("aouiyäöüáàâóòôúùûæœø")


def lost_letter(text: str, place: int) -> str:
    """The letter that a ligature lost after the f at `place`."""
    following = text[place + 1 : place + 3].casefold()
    begins_word = not text[place - 1 : place].isalpha()
    # fl precedes vowels, fi nearly all else: reflect, flee, flex, flesh, fled, but modifies, modified.
    before_e = following in ("ec", "ee", "ex") or (begins_word and following in ("ed", "es"))
    return "l" if following[:1] in _AFTER_FL or before_e else "i"


# TeX's fonts have ligatures at the codes of control characters; bitmap fonts do not name them.
_TEX_LIGATURES = {
    start + index: ligature for start in (0x0B, 0x1B) for index, ligature in enumerate("\ufb00\ufb01\ufb02\ufb03\ufb04")
}
_CORK_PUNCTUATION = dict(enumerate("“”„«»–—", 0x10))
_OTHER_CONTROLS = re.compile("[\x01\x03-\x08]")


def name_tex_ligatures(text: str) -> str:
    """Replace control characters by the ligatures of TeX's fonts, each a single character."""
    if text.isprintable() or _OTHER_CONTROLS.search(text):
        return text
    is_cork = any("\x1b" <= character <= "\x1f" for character in text)
    named = text.translate(_TEX_LIGATURES | _CORK_PUNCTUATION if is_cork else _TEX_LIGATURES)
    return named.replace("\ufb02\n", "\r\n")


_COMBINING = dict(
    zip("`´¨ˆ˜¯˘˙ˇ¸˚˝", "\u0300\u0301\u0308\u0302\u0303\u0304\u0306\u0307\u030c\u0327\u030a\u030b", strict=True)
)


def composed(letter: str, accent: str) -> str:
    """The letter with the accent as one character; empty if Unicode has none."""
    base = {"ı": "i", "ȷ": "j"}.get(letter, letter)
    both = unicodedata.normalize("NFC", base + _COMBINING[accent])
    return both if len(both) == 1 and letter.isalpha() else ""
