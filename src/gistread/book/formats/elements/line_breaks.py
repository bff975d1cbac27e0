"""Paragraphs that a page parts by two line breaks in a row, as pages were written by hand, become paragraphs.

A single line break stays what it is: the end of a line of verse.
"""

from lxml import etree

from gistread.book.formats.elements.markup import local_name


def part_at_empty_lines(root: etree._Element) -> None:
    """Put an empty block in place of every run of two or more <br>; a block ends the paragraph before it."""
    for element in [element for element in root.iter() if local_name(element) == "br"]:
        parent = element.getparent()
        if parent is None:
            continue
        run = [element]
        following = _next_break(element)
        while following is not None:
            run.append(following)
            following = _next_break(following)
        if len(run) < 2 or any(local_name(outer) == "pre" for outer in element.iterancestors()):
            continue
        parting = etree.Element("div")
        parting.tail = run[-1].tail
        parent.replace(element, parting)
        for other in run[1:]:
            other.tail = None
            parent.remove(other)


def _next_break(element: etree._Element) -> etree._Element | None:
    """The <br> right after this one, if nothing but white space stands between."""
    if element.tail and element.tail.strip():
        return None
    following = element.getnext()
    return following if following is not None and local_name(following) == "br" else None
