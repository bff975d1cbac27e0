"""What the elements of XHTML mean for reading: blocks, notes, verse, what is shown to nobody.

Says what an element is, by its name, its `epub:type` and `role`, and by the class names that publishers commonly use.
Knows nothing of the paragraphs that come of it.
"""

import re

from lxml import etree

from gistread.book.formats.elements.markup import local_name, plain_text


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BLOCKS = _words(
    """address article aside blockquote body center dd details dialog dir div dl dt fieldset figcaption figure footer
    form h1 h2 h3 h4 h5 h6 header hgroup html legend li main menu ol p pre section summary table ul caption tr td th
    tbody thead tfoot level1 level2 level3 level4 level5 level6 book frontmatter bodymatter rearmatter linegroup line"""
)
"""Elements that begin and end a paragraph; those of DTBook, which EPUB 2 allows, among them."""

SKIPPED = _words(
    """head script style template title rp nav audio video canvas iframe embed map area input select textarea button
    datalist progress meter source track param link meta case"""
)
"""Elements with no text of the book in them. What is inside <audio> or <canvas> is for systems without those."""

HEADINGS = {f"h{n}": n for n in range(1, 7)}

NOTES = _words(
    "footnote endnote rearnote note footnotes endnotes rearnotes notes doc-footnote doc-endnote doc-endnotes"
)
"""`epub:type` and `role` of notes and of lists of them."""

NOT_TEXT = _words("pagebreak doc-pagebreak backlink doc-backlink")
"""Marks of printed pages, and arrows that lead back from a note."""

_VERSE_TYPES = _words("z3998:verse z3998:poem z3998:hymn z3998:song z3998:lyrics verse poem")
_VERSE_CLASSES = _words("verse poem poetry stanza linegroup lg lyrics strophe")
_NOTE_TYPES = _words("footnote endnote rearnote note doc-footnote doc-endnote")
_NOTES_CLASSES = _words("footnotes endnotes _idfootnotes _idendnotes duokan-footnote-content")
_NOTE_CLASSES = _words("footnote endnote fnote footnotetext footnote-text _idfootnote _idendnote duokan-footnote-item")
_REFERENCE_CLASSES = _words(
    """noteref footnoteref footnote-ref endnoteref endnote-ref fnref fnanchor footnotelink footnote-reference
    _idfootnotelink _idendnotelink duokan-footnote"""
)
_FIGURE_CLASSES = _words("figure fig figcenter figleft figright image illustration illus illo picture")
_CAPTION_CLASSES = _words("caption figcaption")
_FURNITURE_CLASSES = _words("pg-boilerplate pagenum pageno page-number pagenumber lnum linenum linenumber")
EPUB_TYPE = "{http://www.idpf.org/2007/ops}type"
"""The attribute `epub:type`, as XML calls it."""
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_REFERENCE = re.compile(r"[\d*†‡§]{1,4}$")


def types_of(element: etree._Element) -> frozenset[str]:
    """What the element says it is: `epub:type` (as it is called in XML and in repaired HTML) and `role`."""
    named = element.get(EPUB_TYPE) or element.get("epub:type") or ""
    role = element.get("role") or ""
    return frozenset((*named.split(), role)) if named or role else frozenset()


def is_hidden(element: etree._Element) -> bool:
    """Whether a reader would not see the element, or not as text of the book: numbers of pages and lines, a licence."""
    if element.get("hidden") is not None:
        return True
    style = element.get("style")
    return bool(style and _HIDDEN.search(style)) or bool(classes_of(element) & _FURNITURE_CLASSES)


def is_verse(element: etree._Element, types: frozenset[str]) -> bool:
    """Whether the element is a poem or a stanza."""
    return bool(types & _VERSE_TYPES or classes_of(element) & _VERSE_CLASSES) or local_name(element) == "linegroup"


def is_note(element: etree._Element, types: frozenset[str]) -> bool:
    """Whether a block is one note, by what it says it is or by its class; a list of notes is none."""
    return bool(types & _NOTE_TYPES) or bool(classes_of(element) & _NOTE_CLASSES)


def is_among_notes(element: etree._Element, types: frozenset[str]) -> bool:
    """Whether a block is a note or holds notes."""
    return bool(types & NOTES or classes_of(element) & (_NOTE_CLASSES | _NOTES_CLASSES))


def is_figure(element: etree._Element, name: str) -> bool:
    """Whether a block is a picture with what belongs to it."""
    return name == "figure" or (name == "div" and bool(classes_of(element) & _FIGURE_CLASSES))


def is_caption(element: etree._Element, name: str) -> bool:
    """Whether a block says what a picture shows. The caption of a table is text."""
    return name == "figcaption" or (name in ("p", "div") and bool(classes_of(element) & _CAPTION_CLASSES))


def is_reference(element: etree._Element, name: str, types: frozenset[str]) -> bool:
    """Whether <a> or <sup> is the mark of a note, which without brackets would grow into the word before it."""
    if "noteref" in types or "doc-noteref" in types or (name == "a" and classes_of(element) & _REFERENCE_CLASSES):
        # Chinese publishers put a picture there.
        return bool(plain_text(element)) or any(local_name(each) == "img" for each in element.iter())
    inner = "sup" if name == "a" else "a"
    if not any(local_name(child) == inner and (child.get("href") or element.get("href")) for child in element):
        return False
    return bool(_REFERENCE.match(plain_text(element)))


def classes_of(element: etree._Element) -> frozenset[str]:
    """The class names, in lower case."""
    classes = element.get("class")
    return frozenset(classes.lower().split()) if classes else frozenset()
