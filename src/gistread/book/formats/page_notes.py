"""Takes away what stands around the notes of a page and is no text: arrows that lead back, the rule above the notes.

Which blocks are notes shows by the links between them and the text, in every format alike (`elements/linking.py`);
here are only the ways in which Pandoc, Wikipedia and Markdown decorate theirs.
"""

import re

from lxml import etree

from gistread.book.formats.elements.markup import local_name, plain_text
from gistread.book.formats.elements.semantics import EPUB_TYPE, classes_of

_BACK_CLASSES = frozenset(("footnote-back", "footnote-backref", "mw-cite-backlink", "reversefootnote", "backlink"))
_NOTES_CLASSES = frozenset(("footnotes", "endnotes", "footnotes-sep"))
_ARROWS = re.compile(r"\(?[↩↑⤴⏎↵^←▲\ufe0e\ufe0f]+(?:\d+|[a-z])?\)?|\[?(?:back|return|zurück|retour)\]?", re.IGNORECASE)
_AROUND = frozenset(("sup", "span", "small", "b", "i", "em", "strong"))


def undecorate_notes(root: etree._Element) -> None:
    """Mark the ways back as `backlink`, as EPUB does, which keeps what they lead to; drop rules above notes."""
    for element in list(root.iter()):
        name = local_name(element)
        if name == "a" and "#" in (element.get("href") or "") and _leads_back(element):
            element.set(EPUB_TYPE, "backlink")
        elif name == "hr" and _is_over_notes(element):
            parent = element.getparent()
            if parent is not None:
                # Its tail is white space: it stands between blocks.
                parent.remove(element)
        elif name in _AROUND and "mw-cite-backlink" in classes_of(element):
            element.set(EPUB_TYPE, "backlink")
            item = element.getparent()
            if item is not None and local_name(item) == "li":
                # Its sign in the text may be a letter, where the list counts in digits.
                item.set(EPUB_TYPE, "footnote")


def _leads_back(link: etree._Element) -> bool:
    return bool(classes_of(link) & _BACK_CLASSES or _ARROWS.fullmatch(plain_text(link)))


def _is_over_notes(rule: etree._Element) -> bool:
    """Whether a rule parts the notes from the text; it is no scene break."""
    around = (rule, rule.getparent(), rule.getnext())
    return any(element is not None and classes_of(element) & _NOTES_CLASSES for element in around)
