"""Classifies XHTML elements (blocks, notes, verse, figures …) by name, `epub:type`, `role` and common classes."""

import re

from lxml import etree

from gistread.book.formats.elements.markup import local_name, plain_text
from gistread.book.normalise import word_set

# Elements that start and end a paragraph, including those of DTBook (EPUB 2).
BLOCKS = word_set(
    """address article aside blockquote body center dd details dialog dir div dl dt fieldset figcaption figure footer
    form h1 h2 h3 h4 h5 h6 header hgroup html legend li main menu ol p pre section summary table ul caption tr td th
    tbody thead tfoot level1 level2 level3 level4 level5 level6 book frontmatter bodymatter rearmatter linegroup line"""
)

# Elements without text of the book.
SKIPPED = word_set(
    """head script style template title rp nav map area input select textarea button
    datalist progress meter source track param link meta case"""
)

# Form controls among them; their words are counted.
CONTROLS = word_set("textarea select button datalist")

HEADINGS = {f"h{n}": n for n in range(1, 7)}

# `epub:type` and `role` of notes and lists of notes.
NOTES_TYPES = word_set(
    "footnote endnote rearnote note footnotes endnotes rearnotes notes doc-footnote doc-endnote doc-endnotes"
)

# Page breaks of the print edition, and back references of notes.
NON_TEXT_TYPES = word_set("pagebreak doc-pagebreak backlink doc-backlink")

_VERSE_TYPES = word_set("z3998:verse z3998:poem z3998:hymn z3998:song z3998:lyrics verse poem")
_VERSE_CLASSES = word_set("verse poem poetry stanza linegroup lg lyrics strophe")
_NOTE_TYPES = word_set("footnote endnote rearnote note doc-footnote doc-endnote")
_NOTES_CLASSES = word_set("footnotes endnotes _idfootnotes _idendnotes duokan-footnote-content")
_NOTE_CLASSES = word_set(
    "footnote endnote fnote footnotetext footnote-text _idfootnote _idendnote duokan-footnote-item"
)
_REFERENCE_CLASSES = word_set(
    """noteref footnoteref footnote-ref endnoteref endnote-ref fnref fnanchor footnotelink footnote-reference
    _idfootnotelink _idendnotelink duokan-footnote"""
)
_FIGURE_CLASSES = word_set("figure fig figcenter figleft figright image illustration illus illo picture")
_CAPTION_CLASSES = word_set("caption figcaption")
_FURNITURE_CLASSES = word_set("pg-boilerplate pagenum pageno page-number pagenumber lnum linenum linenumber katex-html")
EPUB_TYPE = "{http://www.idpf.org/2007/ops}type"
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_REFERENCE = re.compile(r"[\d*†‡§]{1,4}$")


def types_of(element: etree._Element) -> frozenset[str]:
    """The values of `epub:type` (as in XML or repaired HTML) and `role`."""
    named = element.get(EPUB_TYPE) or element.get("epub:type") or ""
    role = element.get("role") or ""
    return frozenset((*named.split(), role)) if named or role else frozenset()


def is_hidden(element: etree._Element) -> bool:
    """Whether the element is invisible or not book text: page and line numbers, licences, an equation drawn twice."""
    return is_invisible(element) or bool(classes_of(element) & _FURNITURE_CLASSES)


def is_invisible(element: etree._Element) -> bool:
    """Whether the element's own attributes hide it."""
    return element.get("hidden") is not None or bool(_HIDDEN.search(element.get("style") or ""))


def is_verse(element: etree._Element, types: frozenset[str]) -> bool:
    return bool(types & _VERSE_TYPES or classes_of(element) & _VERSE_CLASSES) or local_name(element) == "linegroup"


def is_note(element: etree._Element, types: frozenset[str]) -> bool:
    return bool(types & _NOTE_TYPES) or bool(classes_of(element) & _NOTE_CLASSES)


def holds_notes(element: etree._Element, types: frozenset[str]) -> bool:
    return bool(types & NOTES_TYPES or classes_of(element) & (_NOTE_CLASSES | _NOTES_CLASSES))


def is_figure(element: etree._Element, name: str) -> bool:
    return name == "figure" or (name == "div" and bool(classes_of(element) & _FIGURE_CLASSES))


def is_caption(element: etree._Element, name: str) -> bool:
    """Whether a block is a picture's caption. A table's caption is text."""
    return name == "figcaption" or (name in ("p", "div") and bool(classes_of(element) & _CAPTION_CLASSES))


def is_reference(element: etree._Element, name: str, types: frozenset[str]) -> bool:
    """Whether <a> or <sup> is a note reference, which needs brackets to stand apart from the word before it."""
    if "noteref" in types or "doc-noteref" in types or (name == "a" and classes_of(element) & _REFERENCE_CLASSES):
        # Chinese publishers use a picture.
        return bool(plain_text(element)) or any(local_name(each) == "img" for each in element.iter())
    inner = "sup" if name == "a" else "a"
    if not any(local_name(child) == inner and (child.get("href") or element.get("href")) for child in element):
        return False
    return bool(_REFERENCE.match(plain_text(element)))


def classes_of(element: etree._Element) -> frozenset[str]:
    classes = element.get("class")
    return frozenset(classes.lower().split()) if classes else frozenset()


# Longer cells are prose, to be read cell by cell.
_LONGEST_CELL_CHARACTERS = 300


def is_data_table(table: etree._Element) -> bool:
    """Whether a table has only short cells, some with words, and no nested table."""
    found = False
    for element in table.iter():
        name = local_name(element)
        if name == "table" and element is not table:
            return False
        if name in ("td", "th"):
            words = len(plain_text(element))
            if words > _LONGEST_CELL_CHARACTERS:
                return False
            found = found or words > 0
    return found
