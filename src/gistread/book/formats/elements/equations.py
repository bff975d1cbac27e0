"""Writes MathML on one line: x² = 1/2, √2, the rows of a matrix.

Falls back to the equation's TeX or description.
"""

import unicodedata

from lxml import etree

from gistread.book.formats.elements.markup import (
    elements_named,
    local_name,
    plain_text,
    text_without,
)
from gistread.book.formats.elements.semantics import has_own_text

_DEEPEST = 60
_RAISED = str.maketrans("0123456789+-−=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ")
_LOWERED = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
_ACCENTS = dict(
    zip(
        "¯‾^ˆ~˜˙¨→⃗",
        "\u0304\u0304\u0302\u0302\u0303\u0303\u0307\u0308\u20d7\u20d7",
        strict=True,
    )
)
_UNDER_ACCENTS = dict.fromkeys("_‗¯‾\u0332", "\u0332")
_BRACES = frozenset("⏞⏟⏜⏝⏠⏡⎴⎵︷︸")
_INVISIBLE = dict.fromkeys(map(ord, "\u2061\u2062\u2063\u2064"), "")
_SIGNS = frozenset("+-−±∓×·∗*÷∘:")  # Spaced between two operands, not before one
_PREFIXES = frozenset("∑∏∫√∂∇|¬")
_CLOSING = tuple(")]}|!′")
_PRIMES = ("′", "″", "‴", "'")
_NO_LINE = ("0", "0pt", "0px")  # Thickness of a fraction's line
_SCRIPTS = frozenset(("script", "style"))
_OTHER_NAMES = frozenset(("semantics", "annotation", "annotation-xml", "none"))
_UNREAD = frozenset(("annotation", "annotation-xml", "mphantom", "none", "mprescripts"))


def equation_text(equation: etree._Element) -> str:
    """The text of a <math> element; empty if it has neither signs nor a description."""
    if _has_stray_text(equation):
        return f" {text_without(equation, _SCRIPTS)} "
    text = " ".join(_text(equation, depth=0).split())
    if text:
        return text
    for annotation in elements_named(equation, "annotation"):
        source = plain_text(annotation)
        if source:
            return source
    return equation.get("alttext") or ""


def _has_stray_text(equation: etree._Element) -> bool:
    """Whether words stand between elements, where MathML has none, or in other elements."""
    if has_own_text(equation):
        return True
    for element in equation.iterdescendants():
        name = local_name(element)
        is_mathml = name[:1] in ("m", "") or name in _OTHER_NAMES
        if not is_mathml:
            return True
        is_read = name not in _UNREAD
        if is_read and len(element) and has_own_text(element):
            return True
    return False


def unread_sources(equation: etree._Element) -> list[etree._Element]:
    """The parts of an equation that repeat it in another notation and are not shown."""
    if _has_stray_text(equation):
        return []
    unread = [part for part in equation.iter() if local_name(part) in _UNREAD]
    nested = {inner for part in unread for inner in part.iterdescendants()}
    outer = [part for part in unread if part not in nested]
    has_signs = bool(_text(equation, depth=0).strip())
    if has_signs:
        return outer
    return outer[1:]  # The first one is shown instead.


def bracket(text: str) -> str:
    """The text in brackets, unless it is one sign, word or number, or has brackets already.

    >>> bracket("a + b"), bracket("12"), bracket("(a + b)")
    ('(a + b)', '12', '(a + b)')
    """
    is_bracketed = text[:1] == "(" and text.find(")") == len(text) - 1
    if len(text) < 2 or text.isalnum() or is_bracketed:
        return text
    return f"({text})"


def superscript(text: str) -> str:
    """An exponent: ², ^x, ^(a + b)."""
    return _script(text, "^", _RAISED)


def subscript(text: str) -> str:
    """An index: ₂, _x, _(a + b)."""
    return _script(text, "_", _LOWERED)


def add_accent(base: str, sign: str, *, under: bool = False) -> str:
    """The base with an accent, bar or brace: x̂, ab‾, (a + b)⏞; empty for another sign."""
    mark = _combining_mark(sign, under=under)
    if mark and len(base) == 1:
        return unicodedata.normalize("NFC", base + mark)
    if mark or sign in _BRACES:
        return f"{bracket(base)}{sign}"
    return ""


def _combining_mark(sign: str, *, under: bool) -> str:
    """The mark that puts a sign above or under a letter; empty if there is none."""
    if len(sign) == 1 and unicodedata.combining(sign):
        return sign
    accents = _UNDER_ACCENTS if under else _ACCENTS
    return accents.get(sign, "")


def _script(text: str, sign: str, table: dict[int, int]) -> str:
    """A script in the small characters of `table`; after `sign` if it lacks one of them."""
    without_spaces = text.replace(" ", "")
    if all(ord(character) in table for character in without_spaces):
        return without_spaces.translate(table)
    if without_spaces in _PRIMES:
        return without_spaces
    return f"{sign}{bracket(text)}"


def _text(element: etree._Element, depth: int) -> str:
    """The text of an element at this depth of an equation."""
    name = local_name(element)
    if depth > _DEEPEST:
        return " ".join(map(str, element.itertext()))
    if name in _UNREAD:
        return ""
    if name == "mspace" and not len(element):
        return " "
    if not len(element):
        return (element.text or "").strip()
    children = [child for child in element if local_name(child)]
    parts = [_text(child, depth + 1).strip() for child in children]
    scripted = _base_with_scripts(name, parts)
    if scripted is not None:
        return scripted
    return _arranged(element, children, parts)


def _arranged(
    element: etree._Element, children: list[etree._Element], parts: list[str]
) -> str:
    """The parts of a fraction, root, table or row, with the signs between them."""
    match local_name(element), parts:
        case "mfrac", [upper, lower]:
            if element.get("linethickness") in _NO_LINE:
                return f"{upper} choose {lower}"
            return f"{bracket(upper)}/{bracket(lower)}"
        case "mroot", [inner, degree]:
            raised_degree = superscript(degree).lstrip("^")
            return f"{raised_degree}√{bracket(inner)}"
        case "msqrt", _:
            return f"√{bracket(_row(children, parts))}"
        # The rows of a matrix, or of an addition or division by hand
        case (("mtable" | "mstack" | "mlongdiv" | "msgroup"), _):
            return "; ".join(filter(None, parts))
        case (("mtr" | "mlabeledtr"), _):
            return " ".join(parts)
        case "mfenced", _:
            opening = element.get("open", "(")
            closing = element.get("close", ")")
            items = ", ".join(parts)
            return f"{opening}{items}{closing}"
    return _row(children, parts)


def _base_with_scripts(name: str, parts: list[str]) -> str | None:
    """A base with its scripts and accents; None for an element without a base."""
    match name, parts:
        case "msub", [base, low]:
            return base + subscript(low)
        case "munder", [base, low]:
            return add_accent(base, low, under=True) or base + subscript(low)
        case "msup", [base, high]:
            return bracket(base) + superscript(high)
        case "mover", [base, high]:
            return add_accent(base, high) or base + superscript(high)
        case "msubsup" | "munderover", [base, low, high]:
            return base + subscript(low) + superscript(high)
        case "mmultiscripts", [base, *scripts]:
            return base + " ".join(filter(None, scripts))
    return None


def _row(children: list[etree._Element], parts: list[str]) -> str:
    """Join a row: spaces around operators, none between factors."""
    row = ""
    previous = ""  # The last text that is visible
    for child, text in zip(children, parts, strict=True):
        name = local_name(child)
        if name == "mo":
            row += _operator(text, row.rstrip()[-1:])
        elif name == "mtext":
            row += f" {text} "
        elif _would_merge(previous, text):
            row += f" {text}"
        else:
            row += text
        previous = text.translate(_INVISIBLE) or previous
    return row


def _would_merge(previous: str, text: str) -> bool:
    """Whether two factors would read as one word without a space."""
    has_word = len(previous) > 1 or len(text) > 1
    return has_word and previous[-1:].isalpha() and text[:1].isalnum()


def _operator(text: str, before: str) -> str:
    """An operator with the spaces that it needs after the character `before`."""
    sign = text.translate(_INVISIBLE)
    if sign in _SIGNS:
        is_spaced = before.isalnum() or before in _CLOSING
    else:
        is_mathematical = len(sign) == 1 and unicodedata.category(sign) == "Sm"
        is_spaced = is_mathematical and sign not in _PREFIXES
    if is_spaced:
        return f" {sign} "
    if sign in (",", ";"):
        return f"{sign} "
    return sign
