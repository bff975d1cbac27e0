"""Superscripts and subscripts in Unicode's raised and lowered characters.

A text is converted only as a whole, since `ⁿd` reads worse than `nd`. Widths and offsets do not change.
"""

_RAISED = str.maketrans("0123456789+-−=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ")
_LOWERED = str.maketrans("0123456789+-−=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")
TABLES = {"superscript": _RAISED, "subscript": _LOWERED}
"""Translation table by style."""


def can_shift(text: str, style: str) -> bool:
    """Whether every character of the text can be raised (style `superscript`) or lowered (`subscript`)."""
    table = TABLES.get(style)
    return table is not None and bool(text) and all(ord(character) in table for character in text)
