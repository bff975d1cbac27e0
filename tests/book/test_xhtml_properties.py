"""For any tree, no word is lost, doubled or moved, and marks stay inside their paragraph."""

import re
from html import escape

from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from gistread.book.builder import BookBuilder
from gistread.book.formats.elements.linking import (
    LinkedDocuments,
    anchor_in_document,
    assemble,
)
from gistread.book.formats.elements.xhtml import read_document
from tests.book.promises import assert_keeps_promises

_INLINE = ("em", "b", "span", "a", "code", "sup", "small", "q", "s")
_BLOCKS = (
    "p",
    "div",
    "blockquote",
    "h2",
    "section",
    "pre",
    "figure",
    "figcaption",
    "aside",
)
_ATTRIBUTES = (
    "",
    ' class="verse"',
    ' class="caption"',
    ' class="footnote"',
    ' xml:lang="fr"',
    ' style="font-style: italic"',
    ' id="a"',
    ' href="#a"',
    ' role="doc-noteref" href="#a"',
)


def element(name: str, attributes: str, children: list[str]) -> str:
    return f"<{name}{attributes}>{''.join(children)}</{name}>"


def table(cells: list[str]) -> str:
    return f"<table><tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr></table>"


WORDS = st.text(alphabet="ab \n\té雨<&\U000f0000", max_size=6).map(escape)
TREES = st.recursive(
    st.one_of(WORDS, st.sampled_from(["<br/>", "<hr/>", '<i id="a"/>'])),
    lambda inner: st.one_of(
        st.builds(
            element,
            st.sampled_from(_INLINE + _BLOCKS),
            st.sampled_from(_ATTRIBUTES),
            st.lists(inner, max_size=4),
        ),
        st.lists(inner, min_size=1, max_size=3).map(table),
        st.lists(inner, min_size=1, max_size=3).map(
            lambda items: f"<ul><li>{'</li><li>'.join(items)}</li></ul>"
        ),
    ),
    max_leaves=25,
)


def letters(text: str) -> str:
    return re.sub(r"[^abé雨]", "", text)


@given(st.lists(TREES, max_size=6))
def test_every_letter_is_kept_in_order_with_valid_marks(parts: list[str]) -> None:
    root = etree.fromstring(
        f'<html xmlns="http://www.w3.org/1999/xhtml"><body>{"".join(parts)}</body></html>'
    )
    builder = BookBuilder()
    documents = LinkedDocuments({"": read_document(root, "en")}, anchor_in_document)
    resolve = assemble(builder, documents, {})
    source = letters("".join(map(str, root.itertext())))
    if not builder.characters:
        assert not source
        return
    book = builder.build(title="T", source_format="html", resolve=resolve)
    assert_keeps_promises(book)
    assert letters(book.text) == source
    for marks in (book.spans, book.links, book.language_spans, book.images):
        for mark in marks:
            around = book.paragraphs[book.paragraph_index(mark.start)]
            assert around.start <= mark.start < mark.end <= around.end
    for link in book.links:
        if link.target is not None:
            assert link.target < len(book.text)
            assert link.target_end is None or link.target <= link.target_end <= len(
                book.text
            )
