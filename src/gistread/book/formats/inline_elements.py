"""What an inline element of XHTML says of the words in it: their style, where they lead, which language they are.

By its name, by its style attribute, and by the class names that publishers and converters commonly use. Knows nothing
of paragraphs, and follows no link.
"""

import re
from collections.abc import Mapping

from lxml import etree

from gistread.book.formats.semantics import classes_of
from gistread.book.inline import Mark
from gistread.book.model import Style

_ELEMENTS = {
    Style.EMPHASIS: "em i cite dfn var",
    Style.STRONG: "strong b",
    Style.CODE: "code kbd samp tt",
    Style.UNDERLINE: "u ins",
    Style.STRIKE: "s del strike",
    Style.SUPERSCRIPT: "sup",
    Style.SUBSCRIPT: "sub",
}
BY_NAME: Mapping[str, tuple[Mark, ...]] = {
    name: (Mark(style=style),) for style, names in _ELEMENTS.items() for name in names.split()
}
"""The marks of an element without attributes."""

_CLASSES = {
    Style.EMPHASIS: "italic italics ital it i em emph emphasis",
    Style.STRONG: "bold strong b",
    Style.UNDERLINE: "underline underlined",
    Style.STRIKE: "strike strikethrough line-through",
    Style.SUPERSCRIPT: "super superscript sup",
    Style.SUBSCRIPT: "subscript",
    Style.SMALL_CAPITALS: "smcap smcaps smallcap smallcaps small-cap small-caps small_caps smallcapitals sc",
}
_BY_CLASS = {name: style for style, names in _CLASSES.items() for name in names.split()}
_BY_DECLARATION: tuple[tuple[re.Pattern[str], Style], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), style)
    for pattern, style in (
        (r"font-style\s*:\s*(?:italic|oblique)", Style.EMPHASIS),
        (r"font-weight\s*:\s*(?:bold|[6-9]00)", Style.STRONG),
        (r"text-decoration[a-z-]*\s*:[^;]*underline", Style.UNDERLINE),
        (r"text-decoration[a-z-]*\s*:[^;]*line-through", Style.STRIKE),
        (r"vertical-align\s*:\s*super", Style.SUPERSCRIPT),
        (r"vertical-align\s*:\s*sub\b", Style.SUBSCRIPT),
        (r"font-variant[a-z-]*\s*:[^;]*small-caps", Style.SMALL_CAPITALS),
    )
)
_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})*")
_NO_LANGUAGE = frozenset(("und", "zxx", "mis", "mul"))
# A script has no place to lead to, and data is no address to show.
_NO_ADDRESS = re.compile(r"(?:javascript|data|blob):|#?$", re.IGNORECASE)


def styles_of(element: etree._Element, name: str) -> tuple[Mark, ...]:
    """How the words of an inline element are set."""
    own = BY_NAME.get(name, ())
    classes, style = element.get("class"), element.get("style")
    if not classes and not style:
        return own
    found = [mark.style for mark in own]
    if classes:
        found += [_BY_CLASS[each] for each in classes_of(element) if each in _BY_CLASS]
    if style:
        found += [meaning for pattern, meaning in _BY_DECLARATION if pattern.search(style)]
    return tuple(Mark(style=each) for each in sorted(set(found), key=str))


def address_of(element: etree._Element, name: str) -> str:
    """Where <a> leads, as it is written; empty where it leads nowhere."""
    if name != "a":
        return ""
    href = (element.get("href") or "").strip()
    return "" if _NO_ADDRESS.match(href) else href


def language_of(element: etree._Element) -> str:
    """The language that the element declares for itself, in BCP 47, or nothing."""
    match = _LANGUAGE.fullmatch((element.get(_XML_LANG) or element.get("lang") or "").strip().replace("_", "-"))
    return match[0] if match and match[0].lower() not in _NO_LANGUAGE else ""


def is_same_language(one: str, other: str) -> bool:
    """Whether two tags name one language, spelt and hyphenated alike but for its regions."""
    return one.lower().partition("-")[0] == other.lower().partition("-")[0]
