"""Removes boilerplate from HTML pages and normalises notes and line breaks. Keeps doubtful content."""

import re
from collections import Counter
from collections.abc import Iterator

from lxml import etree

from gistread.book.formats.elements.markup import local_name, plain_text
from gistread.book.formats.elements.semantics import EPUB_TYPE, classes_of
from gistread.book.normalise import word_set
from gistread.words import count_words

_ROLES = frozenset(("navigation", "search", "dialog", "alertdialog", "menu", "menubar", "toolbar"))
_CONSENT = re.compile(
    r"(?:^|[-_ ])(?:cookies?|gdpr|ccpa|onetrust|didomi|cookiebot|usercentrics|truste|qc-cmp2?|cmp(?=[-_ ]|$))"
    r"|cookie(?:-?(?:bar|banner|consent|notice|law|policy|popup|message|alert|overlay|modal))|consent-?(?:banner|bar|popup)",
    re.IGNORECASE,
)
_NOT_PRINTED = word_set(
    """noprint no-print d-print-none hidden-print print-hidden skip-link skip-to-content skiplink screen-reader-skip
    mw-editsection mw-jump-link navbox catlinks printfooter vector-header-container vector-toc mw-indicators
    sharedaddy addtoany share-buttons social-share breadcrumb breadcrumbs site-footer site-header"""
)
_PERMALINKS = frozenset(("¶", "#", "§", "🔗", "⚓", "∞"))
_PERMALINK_CLASSES = frozenset(("headerlink", "anchor", "permalink", "anchor-link", "anchorjs-link", "header-anchor"))
_BARS = frozenset(("header", "footer", "aside"))
_CANDIDATES = _BARS | {"nav", "noscript", "dialog", "canvas"}
_NEVER = frozenset(("html", "body", "main", "article", "img", "br", "hr", "td", "th", "tr"))
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))

_SHARE_OF_PAGE = 0.3
_MOST_WORDS_OF_CONSENT = 600
_PROSE_WORDS = 40  # A paragraph with this many words outside links is prose
_HIDDEN_WORDS = 30
_SHARE_OF_LINKS = 1 / 3


# Contents of an element: "words", "linked" words, "headings", "main headings", paragraphs of "prose".
_Measure = Counter[str]


def remove_boilerplate(root: etree._Element) -> int:
    """Remove menus, cookie notices and the like. Returns the number of words removed."""
    measured = list(_measured(root))
    page_words = measured[-1][1]["words"] if measured else 0
    for element, measure in measured[:-1]:
        if _is_boilerplate(element, measure, page_words):
            _remove(element)
        elif local_name(element) in ("nav", "noscript", "canvas"):
            # It contains the text, so it is read as a block.
            element.tag = "div"
    return page_words - sum(count_words(str(text)) for text in root.itertext())


def _measured(root: etree._Element) -> Iterator[tuple[etree._Element, _Measure]]:
    open_ones: list[_Measure] = [Counter()]
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if event == "start":
            open_ones.append(Counter(words=count_words(element.text or "")))
            continue
        measure = open_ones.pop()
        name = local_name(element)
        if name == "a":
            measure["linked"] = measure["words"]
        elif name == "p":
            measure["prose"] += measure["words"] - measure["linked"] > _PROSE_WORDS
        elif name in _HEADINGS:
            measure["headings"] += 1
            measure["main headings"] += name == "h1"
        if element is root or (name not in _NEVER and (name in _CANDIDATES or element.attrib)):
            yield element, measure
        open_ones[-1].update(measure)
        open_ones[-1]["words"] += count_words(element.tail or "")


def _is_boilerplate(element: etree._Element, measure: _Measure, words_of_page: int) -> bool:
    name = local_name(element)
    classes = classes_of(element)
    is_large = measure["words"] > words_of_page * _SHARE_OF_PAGE
    if name == "a" and (element.get("href") or "").startswith("#"):
        # The sign beside a heading.
        text = plain_text(element)
        if text in _PERMALINKS or (not text and classes & _PERMALINK_CLASSES):
            return True
    if name == "noscript" or (name == "dialog" and element.get("open") is None):
        return not is_large
    if element.get("aria-hidden") == "true" and name not in ("img", "svg"):
        return measure["words"] <= _HIDDEN_WORDS and not measure["headings"]
    if name == "nav" or classes & _NOT_PRINTED or (element.get("role") or "") in _ROLES:
        return not (is_large or measure["prose"])
    if _CONSENT.search(f"{element.get('id') or ''} {' '.join(classes)}"):
        return not (is_large or measure["main headings"]) and measure["words"] <= _MOST_WORDS_OF_CONSENT
    if name in _BARS:
        is_links = measure["linked"] > measure["words"] * _SHARE_OF_LINKS
        return is_links and not (measure["headings"] or measure["prose"])
    return False


def _remove(element: etree._Element) -> None:
    parent = element.getparent()
    if parent is None:
        return
    left = etree.Element("span")
    for inner in element.iter():
        for key in ("id", "name"):
            if inner.get(key):
                etree.SubElement(left, "span").set("id", inner.get(key) or "")
    tail, element.tail = element.tail, None
    parent.replace(element, left)
    left.tail = tail


_BACK_CLASSES = frozenset(("footnote-back", "footnote-backref", "mw-cite-backlink", "reversefootnote", "backlink"))
_NOTES_CLASSES = frozenset(("footnotes", "endnotes", "footnotes-sep"))
_ARROWS = re.compile(r"\(?[↩↑⤴⏎↵^←▲\ufe0e\ufe0f]+(?:\d+|[a-z])?\)?|\[?(?:back|return|zurück|retour)\]?", re.IGNORECASE)
_AROUND = frozenset(("sup", "span", "small", "b", "i", "em", "strong"))


def mark_backlinks(root: etree._Element) -> None:
    """Mark back references as `backlink` and Markdown's references as `noteref`; remove rules above notes."""
    for element in list(root.iter()):
        name = local_name(element)
        if name == "a" and "#" in (element.get("href") or ""):
            if classes_of(element) & _BACK_CLASSES or _ARROWS.fullmatch(plain_text(element)):
                element.set(EPUB_TYPE, "backlink")
            elif (outer := element.getparent()) is not None and "footnote-ref" in classes_of(outer):
                element.set(EPUB_TYPE, "noteref")  # Its words may be `1:1`: the second reference to note 1
        elif name == "hr" and _is_over_notes(element):
            parent = element.getparent()
            if parent is not None:
                # Its tail is white space between blocks.
                parent.remove(element)
        elif name in _AROUND and "mw-cite-backlink" in classes_of(element):
            element.set(EPUB_TYPE, "backlink")
            item = element.getparent()
            if item is not None and local_name(item) == "li":
                # The reference may be a letter although the list counts in digits.
                item.set(EPUB_TYPE, "footnote")


def _is_over_notes(rule: etree._Element) -> bool:
    around = (rule, rule.getparent(), rule.getnext())
    return any(element is not None and classes_of(element) & _NOTES_CLASSES for element in around)


def split_at_empty_lines(root: etree._Element) -> None:
    """Replace every run of two or more <br> by an empty block, which ends the paragraph."""
    for element in [element for element in root.iter() if local_name(element) == "br"]:
        parent = element.getparent()
        if parent is None:
            continue
        run = [element]
        # Only white space separates them.
        while not (run[-1].tail or "").strip() and (following := run[-1].getnext()) is not None:
            if local_name(following) != "br":
                break
            run.append(following)
        if len(run) < 2 or any(local_name(outer) == "pre" for outer in element.iterancestors()):
            continue
        parting = etree.Element("div")
        parting.tail = run[-1].tail
        parent.replace(element, parting)
        for other in run[1:]:
            other.tail = None
            parent.remove(other)
