"""Names the letters that fonts do not: ligatures, and accents beside their letters."""

import re
import unicodedata

# Width of a ligature's glyph relative to the narrowest f of its font
WIDTH_RATIO = 1.25

_AFTER_FL = frozenset("aouiyäöüáàâóòôúùûæœø")


def lost_letter(text: str, place: int) -> str:
    """The letter that a ligature lost after the f at `place`."""
    after = place + 1
    following = text[after : after + 2].casefold()
    begins_word = not text[place - 1 : place].isalpha()
    # fl precedes vowels, fi nearly all else: reflect, flee, flex, flesh, fled, but modifies,
    # modified.
    before_e = following in ("ec", "ee", "ex") or (
        begins_word and following in ("ed", "es")
    )
    return "l" if following[:1] in _AFTER_FL or before_e else "i"


# TeX's fonts have ligatures at the codes of control characters; bitmap fonts do not name them.
_TEX_LIGATURES = {
    start + index: ligature
    for start in (0x0B, 0x1B)
    for index, ligature in enumerate("\ufb00\ufb01\ufb02\ufb03\ufb04")
}
_CORK_PUNCTUATION = dict(enumerate("“”„«»–—", 0x10))
_OTHER_CONTROLS = re.compile("[\x01\x03-\x08]")


def name_tex_ligatures(text: str) -> str:
    """Replace control characters by the ligatures of TeX's fonts, each a single character."""
    if text.isprintable() or _OTHER_CONTROLS.search(text):
        return text
    is_cork = any("\x1b" <= character <= "\x1f" for character in text)
    names = _TEX_LIGATURES | _CORK_PUNCTUATION if is_cork else _TEX_LIGATURES
    # Of these codes one is that of the carriage return, which ends lines.
    return text.translate(names).replace("\ufb02\n", "\r\n")


_COMBINING = dict(
    zip(
        "`´¨ˆ˜¯˘˙ˇ¸˚˝",
        "\u0300\u0301\u0308\u0302\u0303\u0304\u0306\u0307\u030c\u0327\u030a\u030b",
        strict=True,
    )
)


def composed(letter: str, accent: str) -> str:
    """The letter with the accent as one character; empty if Unicode has none."""
    base = {"ı": "i", "ȷ": "j"}.get(letter, letter)
    both = unicodedata.normalize("NFC", base + _COMBINING[accent])
    return both if len(both) == 1 and letter.isalpha() else ""
