"""Characters of the symbol fonts that Word documents use, as Unicode."""

# The fonts count from U+F000, or from 0.
_PRIVATE = 0xF000
# Where the two halves of the font Symbol begin
_SYMBOL_FIRST, _SYMBOL_SECOND = 0x20, 0xA0
_SYMBOL_HALVES = (
    " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_"
    "‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼",
    "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓"
    "◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪\uf8ff〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭",
)
_SYMBOL = {
    first + index: character
    for first, half in zip((_SYMBOL_FIRST, _SYMBOL_SECOND), _SYMBOL_HALVES, strict=True)
    for index, character in enumerate(half)
}
_WINGDINGS = {
    **{0x4A: "☺", 0x4C: "☹", 0x6C: "●", 0x6E: "■", 0x6F: "□", 0x71: "❑", 0x76: "❖"},
    **{0x9F: "•", 0xA7: "▪", 0xA8: "◻", 0xD8: "➢", 0xDF: "←", 0xE0: "→", 0xE1: "↑"},
    **{0xE2: "↓", 0xE8: "➔", 0xF0: "⇨", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑"},
}
# Of a font that is not named or not known: the commonest characters of both.
_ANY = {
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
_PRIVATE_LAST = 0xF8FF
_FIRST_PRIVATE = 0xE000


def symbol(code: int, font: str) -> str:
    """The character with this code in a font; empty if it is unknown.

    `symbol(0xF061, "Symbol")` is "α".
    """
    table = _FONTS.get(font.strip().lower(), _ANY)
    is_private = _FIRST_PRIVATE <= code <= _PRIVATE_LAST
    if code in table and font:
        return table[code]
    if code - _PRIVATE in table:
        return table[code - _PRIVATE]
    if is_private:
        return ""
    return chr(code)


def in_unicode(text: str, font: str) -> str:
    """Text in a symbol font; its characters without an equivalent stay."""
    if font.strip().lower() not in _FONTS:
        return text
    return "".join(symbol(ord(character), font) or character for character in text)
