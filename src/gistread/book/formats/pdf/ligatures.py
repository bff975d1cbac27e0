"""Puts back the letter that PDFium loses of a ligature: many fonts call the glyph of “fi” `f_i`, and it says “f”.

Such an f is much wider than the others of its font. Whether an i or an l is missing is told by the letters behind it:
fl stands before vowels, fi before nearly everything else. Knows nothing of PDFium.
"""

WIDE = 1.25
"""A glyph of so many times the width of the narrowest f of its font is a ligature."""

_AFTER_FL = frozenset("aouiyäöüáàâóòôúùûæœø")


def lost_letter(behind: str, begins_word: bool) -> str:
    """The letter that belongs between the f and what stands `behind` it in the word: `i` or `l`."""
    letters = behind[:2].casefold()
    if letters[:1] in _AFTER_FL:
        return "l"
    if letters[:1] == "e":
        # reflect, flee, flex; flesh and fled, but modifies and modified.
        return "l" if letters in ("ec", "ee", "ex") or (begins_word and letters in ("ed", "es")) else "i"
    return "i"


def restored(text: str, wide: set[int]) -> str:
    """`text` with the lost letters behind the f at each of the places `wide`."""
    pieces: list[str] = []
    at = 0
    for place in sorted(wide):
        start = place
        while start > 0 and text[start - 1].isalpha():
            start -= 1
        pieces += [text[at : place + 1], lost_letter(text[place + 1 : place + 3], begins_word=start == place)]
        at = place + 1
    pieces.append(text[at:])
    return "".join(pieces)
