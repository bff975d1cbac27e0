"""Names the letters that fonts do not name: ligatures, and accents beside their letters."""

import re
import unicodedata

# Width of a ligature's glyph relative to the narrowest f of its font
WIDTH_RATIO = 1.25

_AFTER_FL = frozenset("aouiyäöüáàâóòôúùûæœø")


def lost_letter(text: str, place: int) -> str:
    """The letter that a ligature lost after the f at `place`: "l" or "i".

    >>> lost_letter("afame", 1), lost_letter("fshing", 0)
    ('l', 'i')
    """
    after = place + 1
    following = text[after : after + 2].casefold()
    # fl precedes vowels, fi nearly all other letters.
    if following[:1] in _AFTER_FL:
        return "l"
    # Before e it may be either: reflect, flee, flex; flesh and fled, but modifies and modified.
    begins_word = not text[place - 1 : place].isalpha()
    if following in ("ec", "ee", "ex") or (begins_word and following in ("ed", "es")):
        return "l"
    return "i"


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
    # Control characters that TeX does not use show that another program made the text.
    if text.isprintable() or _OTHER_CONTROLS.search(text):
        return text
    names = _TEX_LIGATURES
    # Only TeX's Cork encoding has ligatures at these codes.
    is_cork = any("\x1b" <= character <= "\x1f" for character in text)
    if is_cork:
        names = _TEX_LIGATURES | _CORK_PUNCTUATION
    # One of these codes is that of the carriage return, which also ends lines.
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
    accented = unicodedata.normalize("NFC", base + _COMBINING[accent])
    if letter.isalpha() and len(accented) == 1:
        return accented
    return ""
