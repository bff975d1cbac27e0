"""Characters of the symbol fonts that Word documents use, as Unicode."""

# Documents write a symbol by its code in the font, or by that code plus this.
_PRIVATE_OFFSET = 0xF000
# The first and last private-use character of Unicode.
_FIRST_PRIVATE = 0xE000
_LAST_PRIVATE = 0xF8FF
# The codes at which the two halves of the font Symbol begin.
_SYMBOL_STARTS = (0x20, 0xA0)
_SYMBOL_HALVES = (
    " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_"
    "‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼",
    "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓"
    "◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪\uf8ff〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭",
)
_SYMBOL = {
    code: character
    for start, half in zip(_SYMBOL_STARTS, _SYMBOL_HALVES, strict=True)
    for code, character in enumerate(half, start)
}
_WINGDINGS = {
    **{0x4A: "☺", 0x4C: "☹", 0x6C: "●", 0x6E: "■", 0x6F: "□", 0x71: "❑", 0x76: "❖"},
    **{0x9F: "•", 0xA7: "▪", 0xA8: "◻", 0xD8: "➢", 0xDF: "←", 0xE0: "→", 0xE1: "↑"},
    **{0xE2: "↓", 0xE8: "➔", 0xF0: "⇨", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑"},
}
# For a font that is not named or not known: the commonest characters of both fonts.
_ANY_FONT = {
    0xB7: "•",
    0xA7: "▪",
    0xFC: "✓",
    0xE0: "→",
    0xDF: "←",
    0xB0: "°",
    0xB4: "×",
    0x2D: "−",
}
_FONTS = {"symbol": _SYMBOL, "wingdings": _WINGDINGS}


def symbol(code: int, font: str) -> str:
    """The character with this code in a font; empty if it is unknown.

    >>> symbol(0xF061, "Symbol")
    'α'
    """
    table = _FONTS.get(font.strip().lower(), _ANY_FONT)
    # Without a font, a code below the private ones is already Unicode.
    if code in table and font:
        return table[code]
    if code - _PRIVATE_OFFSET in table:
        return table[code - _PRIVATE_OFFSET]
    is_private = _FIRST_PRIVATE <= code <= _LAST_PRIVATE
    return "" if is_private else chr(code)


def in_unicode(text: str, font: str) -> str:
    """A text in a symbol font as Unicode; characters without an equivalent stay."""
    if font.strip().lower() not in _FONTS:
        return text
    return "".join(symbol(ord(character), font) or character for character in text)
