"""Reads Markdown: CommonMark with tables, footnotes, definition lists, embedded HTML and front matter."""

import re

from markdown_it import MarkdownIt
from mdit_py_plugins.anchors import anchors_plugin
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.footnote import footnote_plugin

from gistread.book.formats.elements.markup import parse_page
from gistread.book.formats.elements.single_document import book_from_tree
from gistread.book.formats.encoding import decode
from gistread.book.formats.front_matter import split_front_matter
from gistread.book.formats.html_cleanup import mark_backlinks, split_at_empty_lines
from gistread.book.model import Book
from gistread.book.normalise import clean
from gistread.errors import BookError

_SLUG_DROPPED = re.compile(r"[^\w\- ]")


def read_markdown(data: bytes, name: str) -> Book:
    """The book in `data`; `name` is used in messages. Raises BookError."""
    decoded = decode(data)
    if decoded is None:
        raise BookError(f"{name} is not a book but unknown binary data.")
    text, metadata = split_front_matter(clean(decoded.text))
    root = parse_page(_parser().render(text))
    if root is None:
        raise BookError(f"{name} contains no text, or too much.")
    mark_backlinks(root)
    split_at_empty_lines(root)
    return book_from_tree(root, name, "markdown", metadata)


def _parser() -> MarkdownIt:
    """Allows any link and HTML: links are never followed unasked, and HTML is data."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    parser.use(footnote_plugin).use(deflist_plugin).use(anchors_plugin, max_level=6, slug_func=_slug)
    return parser


def _slug(title: str) -> str:
    """Anchor of a heading as most Markdown viewers build it."""
    return _SLUG_DROPPED.sub("", title.strip().lower()).replace(" ", "-")
