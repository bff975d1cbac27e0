"""Writes an equation of a Word document (OMML) in one line: fractions, powers, roots."""

from lxml import etree

from gistread.book.formats.docx.styles import attribute, child
from gistread.book.formats.elements.equations import grouped, lowered, raised
from gistread.book.formats.elements.markup import local_name

_DEEPEST = 40


def equation_text(element: etree._Element, depth: int = 0) -> str:
    name = local_name(element)
    if depth > _DEEPEST:
        return ""

    def part(*path: str) -> str:
        found = child(element, *path)
        return equation_text(found, depth + 1) if found is not None else ""

    if name == "t":
        return element.text or ""
    if name == "f":
        return f"{grouped(part('num'))}/{grouped(part('den'))}"
    if name in ("ssup", "ssub", "ssubsup"):
        return (
            part("e") + (lowered(part("sub")) if "sub" in name else "") + (raised(part("sup")) if "sup" in name else "")
        )
    if name == "rad":
        return f"{part('deg')}√{grouped(part('e'))}"
    if name == "nary":
        sign = attribute(child(element, "narypr", "chr")) or "∫"
        return f"{sign}{lowered(part('sub'))}{raised(part('sup'))} {part('e')}"
    if name == "d":
        opening, closing = (attribute(child(element, "dpr", f"{end}chr")) for end in ("beg", "end"))
        inside = ", ".join(equation_text(e, depth + 1) for e in element if local_name(e) == "e")
        return f"{'(' if opening is None else opening}{inside}{')' if closing is None else closing}"
    return "".join(equation_text(inner, depth + 1) for inner in element if not local_name(inner).endswith("pr"))
