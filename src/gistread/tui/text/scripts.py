"""Superscripts and subscripts as a terminal can show them: in Unicode's own raised and lowered characters.

What has no such character stays as it is, all of it, since `ⁿd` reads worse than `nd`. Each character becomes one
character of one cell, so rows and offsets do not change. Nothing here knows rows or styles.
"""

_RAISED = str.maketrans("0123456789+-−=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ")
_LOWERED = str.maketrans("0123456789+-−=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")
TABLES = {"superscript": _RAISED, "subscript": _LOWERED}
"""Style to what its characters become."""


def can_shift(text: str, style: str) -> bool:
    """Whether every character of the text can be raised (style `superscript`) or lowered (`subscript`)."""
    table = TABLES.get(style)
    return table is not None and bool(text) and all(ord(character) in table for character in text)
